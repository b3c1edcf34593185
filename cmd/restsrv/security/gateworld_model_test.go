package security

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"restsrv/engine"
)

// gateWorld is a random application with its data, the grants of three accounts
// and the requests of each account. Its class names have no namespace: each
// account gets two copies of the world, in two namespaces.
type gateWorld struct {
	Seed     uint64
	Classes  []*gateClass
	Rows     []*gateRow
	Accounts [gateAccounts]gateRights
	Requests [gateAccounts][]gateRequest
}

const gateAccounts = 3

type gateClass struct {
	Name         string
	Ancestor     *gateClass
	Semantic     any
	Properties   []*gateProperty // without inherited attributes and the key
	Dependencies []string
	Handlers     []string // JavaScript calls of dataRepo.on
	OwnerRole    bool     // OWNER in the role map of the class
}

type gateProperty struct {
	Name   string
	Kind   string // text, number, reference, back, many, file, formula
	Number bool   // of a formula: it is a number
	// Displays is set if a formula contains display strings of objects. Display strings never
	// contain such an attribute, because the attribute would then depend on itself.
	Displays bool
	Target   *gateClass
	Details  map[string]any // further members of the definition
}

// gateRow is an object of a world, with the values that it is created with.
type gateRow struct {
	Class  *gateClass
	ID     string
	Values map[string]any
}

// gateRights are the grants of an account, and the grants of the role OWNER: permissions by
// resource. A resource is written as "c:c0" (class), "i:c0@r1" (object) or "a:c0.s1" (attribute).
type gateRights struct {
	Grants, Owner map[string]engine.Permission
	Secrets       []string // declared attribute resources, "a:c0.s1"
	KeepUsable    bool     // see gateWorld.blanked
}

// all lists the attributes of a class, beginning with the attributes of its ancestors.
func (c *gateClass) all() (all []*gateProperty) {
	if c.Ancestor != nil {
		all = c.Ancestor.all()
	}
	return append(all, c.Properties...)
}

func (c *gateClass) below(other *gateClass) bool {
	for ; c != nil; c = c.Ancestor {
		if c == other {
			return true
		}
	}
	return false
}

func (c *gateClass) kinds(kinds ...string) (found []*gateProperty) {
	for _, p := range c.all() {
		if slices.Contains(kinds, p.Kind) {
			found = append(found, p)
		}
	}
	return found
}

// displays reports whether an attribute contains display strings.
func (c *gateClass) displays(name string) bool {
	return slices.ContainsFunc(c.all(), func(p *gateProperty) bool { return p.Name == name && p.Displays })
}

func (c *gateClass) definition(namespace string) map[string]any {
	d := map[string]any{"name": c.Name, "namespace": namespace, "caption": strings.ToUpper(c.Name), "version": ""}
	properties := []any{}
	if c.Ancestor == nil {
		d["key"] = []string{"id"}
		properties = append(properties, map[string]any{"name": "id", "type": "string"})
	} else {
		d["ancestor"] = c.Ancestor.Name
	}
	if c.Semantic != nil {
		d["semantic"] = c.Semantic
	}
	if len(c.Dependencies) > 0 {
		d["cacheDependencies"] = c.Dependencies
	}
	for _, p := range c.Properties {
		properties = append(properties, p.definition())
	}
	d["properties"] = properties
	return d
}

func (p *gateProperty) definition() map[string]any {
	d := maps.Clone(p.Details)
	if d == nil {
		d = map[string]any{}
	}
	d["name"] = p.Name
	d["nullable"] = true
	switch p.Kind {
	case "text":
		d["type"] = "string"
	case "number":
		d["type"] = "int"
	case "file":
		d["type"] = "file"
	case "formula":
		d["type"] = "string"
		if p.Number {
			d["type"] = "int"
		}
	case "reference":
		d["type"], d["refClass"] = "reference", p.Target.Name
	case "back", "many":
		d["type"], d["itemsClass"] = "collection", p.Target.Name
	}
	return d
}

func (w *gateWorld) row(id string) *gateRow {
	for _, r := range w.Rows {
		if r.ID == id {
			return r
		}
	}
	return nil
}

func accountName(account int) string { return fmt.Sprintf("u%d@local", account) }

// permissions returns the permissions of an account on an object.
func (w *gateWorld) permissions(account int, row *gateRow) engine.Permission {
	rights := w.Accounts[account]
	may := rights.Grants["*"] | rights.Grants["c:"+row.Class.Name] | rights.Grants["i:"+row.Class.Name+"@"+row.ID]
	if w.ownerRole(row.Class) && row.Values["owner"] == accountName(account) {
		may |= rights.Owner["c:"+row.Class.Name]
	}
	return may
}

// ownerRole reports whether the role map gives the owner of an object of the
// class the role OWNER.
func (w *gateWorld) ownerRole(c *gateClass) bool {
	for ; c != nil; c = c.Ancestor {
		if c.OwnerRole {
			return true
		}
	}
	return false
}

// hidden reports whether an account may not read an attribute of a class.
func (w *gateWorld) hidden(account int, c *gateClass, p *gateProperty) bool {
	rights := w.Accounts[account]
	for ; c != nil; c = c.Ancestor {
		if resource := "a:" + c.Name + "." + p.Name; slices.Contains(rights.Secrets, resource) {
			return !(rights.Grants["*"] | rights.Grants[resource]).Has(engine.MayRead)
		}
	}
	return false
}

// gateRequest is one request. Its texts have placeholders: § is the namespace,
// {file:class/id/attribute} the id of a file, {etag:class/id} the entity tag of an
// object, and {next} the query of the link to the next page.
type gateRequest struct {
	Method, Target, Body string
	Header               []string
	// Claims reports whether the request can give an object a key or a unique value that another
	// object already has.
	Claims bool
}

func (r gateRequest) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s %s", r.Method, r.Target, strings.Join(r.Header, " | "), r.Body))
}

// gateRemoval is the body of a request to gateSetup.
type gateRemoval struct {
	Remove []gateTarget `json:"remove"` // objects to delete
	Edit   []gateTarget `json:"edit"`   // objects with cleared hidden values
	All    []gateTarget `json:"all"`    // objects that remain
}

// gateTarget is an object and the values to set.
type gateTarget struct {
	Class  string         `json:"class"`
	ID     string         `json:"id"`
	Values map[string]any `json:"values,omitempty"`
	Cached bool           `json:"cached,omitempty"` // it has cached attributes
}

// removal returns the changes that remove all data that an account may not read.
func (w *gateWorld) removal(account int, namespace string) (all gateRemoval) {
	for _, row := range w.Rows {
		target := gateTarget{Class: row.Class.Name + "@" + namespace, ID: row.ID}
		readable := w.permissions(account, row).Has(engine.MayRead)
		if !readable && !w.blanked(account, row) {
			all.Remove = append(all.Remove, target)
			continue
		}
		target.Values = map[string]any{}
		for _, p := range row.Class.all() {
			if p.Name == "owner" || row.Class.depends(p.Name) || readable && !w.hidden(account, row.Class, p) {
				continue
			}
			switch p.Kind {
			case "text", "number", "reference", "file":
				target.Values[p.Name] = nil
			case "many":
				target.Values[p.Name] = []any{}
			}
		}
		if len(target.Values) > 0 {
			all.Edit = append(all.Edit, target)
		}
	}
	return all
}

// depends reports whether the cacheDependencies of a class or of its ancestors
// name a reference.
func (c *gateClass) depends(reference string) bool {
	for ; c != nil; c = c.Ancestor {
		if slices.Contains(c.Dependencies, reference) {
			return true
		}
	}
	return false
}

// blanked reports whether an object that the account may not read stays in the second copy,
// without its values. It stays in two cases:
//
//   - The account may change or delete the object, and can thereby learn that it exists.
//   - The account may only use the object, and KeepUsable is set. If KeepUsable is not set, no
//     request refers to it.
func (w *gateWorld) blanked(account int, row *gateRow) bool {
	may := w.permissions(account, row)
	return may&(engine.MayWrite|engine.MayDelete) != 0 || may.Has(engine.MayUse) && w.Accounts[account].KeepUsable
}

// values returns the values with which an object is created in the copies of an account.
func (w *gateWorld) values(account int, row *gateRow) map[string]any {
	values := maps.Clone(row.Values)
	if !w.permissions(account, row).Has(engine.MayRead) && w.between(row) {
		maps.DeleteFunc(values, func(name string, _ any) bool { return row.Class.depends(name) })
	}
	return values
}

// between reports whether an object connects two other objects: a change of one of them makes the
// server compute the cached attributes of the other. The server follows the cacheDependencies of
// this object and of an object that refers to it.
func (w *gateWorld) between(row *gateRow) bool {
	leads := func(from *gateRow, to func(id any) bool) bool {
		return slices.ContainsFunc(from.Class.kinds("reference"), func(p *gateProperty) bool {
			return from.Values[p.Name] != nil && from.Class.depends(p.Name) && to(from.Values[p.Name])
		})
	}
	return leads(row, func(any) bool { return true }) &&
		slices.ContainsFunc(w.Rows, func(r *gateRow) bool { return leads(r, func(id any) bool { return id == row.ID }) })
}

// gone reports whether an object is missing from the account's second copy.
func (w *gateWorld) gone(account int, row *gateRow) bool {
	return !w.permissions(account, row).Has(engine.MayRead) && !w.blanked(account, row)
}

// records returns all objects as a batch for the acceptor.
func (w *gateWorld) records(account int, namespace string) string {
	all := []map[string]any{}
	for _, row := range w.Rows {
		r := map[string]any{"_class": row.Class.Name + "@" + namespace, "_id": row.ID, "id": row.ID}
		maps.Copy(r, w.values(account, row))
		all = append(all, r)
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// describe prints a world as the account sees it.
func (w *gateWorld) describe(account int) string {
	var b strings.Builder
	for _, c := range w.Classes {
		text, _ := json.Marshal(c.definition("§"))
		fmt.Fprintf(&b, "class %s\n", text)
		for _, h := range c.Handlers {
			fmt.Fprintf(&b, "  handler %s\n", h)
		}
		if c.OwnerRole {
			fmt.Fprintf(&b, "  role map: OWNER by attribute owner\n")
		}
	}
	rights := w.Accounts[account]
	for _, resource := range slices.Sorted(maps.Keys(rights.Grants)) {
		fmt.Fprintf(&b, "grant %s %v\n", resource, rights.Grants[resource])
	}
	for _, resource := range slices.Sorted(maps.Keys(rights.Owner)) {
		fmt.Fprintf(&b, "grant to OWNER %s %v\n", resource, rights.Owner[resource])
	}
	fmt.Fprintf(&b, "declared %v\n", rights.Secrets)
	for _, row := range w.Rows {
		text, _ := json.Marshal(w.values(account, row))
		state := ""
		switch {
		case w.gone(account, row):
			state = "removed"
		case !w.permissions(account, row).Has(engine.MayRead):
			state = "blank"
		}
		fmt.Fprintf(&b, "object %s %s %s %s\n", row.Class.Name, row.ID, text, state)
	}
	return b.String()
}
