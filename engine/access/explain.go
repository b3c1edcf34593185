package access

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"restsrv/engine"
)

// Explanation lists the permissions of an account on a resource, with their
// reasons.
type Explanation struct {
	Account  string
	Resource string
	About    string            // description of the resource
	May      engine.Permission // permissions without a condition
	Limit    engine.Permission // permissions that the scope of the token leaves; MayAll without a scope
	Has      []string          // all roles and coactors of the account, including those that give no permission here
	Reasons  []Reason
	Roles    []GivenRole // roles that the items may give
	Missing  []Missing
	Notes    []string
}

// Reason is one grant that gives the account permissions.
type Reason struct {
	Subject    string
	Kind       SubjectKind
	Resource   string
	Permission engine.Permission
}

// SubjectKind is the relation of a subject to an account.
type SubjectKind string

// Kinds of subjects.
const (
	Own       SubjectKind = "account"
	OfRole    SubjectKind = "role"
	OfCoactor SubjectKind = "coactor" // found in the data
	OfAll     SubjectKind = "everyone"
)

// GivenRole is a role that an item may give (RoleMap), or a stage of a workflow.
type GivenRole struct {
	Role       string
	Resource   string // the role's permissions on this resource count
	Permission engine.Permission
	When       string // "" means always
	Never      bool   // set if this account cannot have the role
}

// Missing are permissions that the account lacks, or has only on some items.
type Missing struct {
	Permission engine.Permission
	Some       bool   // set if the account may have the permission on some items
	Command    string // the command line that grants the permission
}

// Explain returns the permissions of an account on a resource, with their
// reasons. The account should have no scope, unless the limits of a token are to
// be explained.
func (c *Checker) Explain(ctx context.Context, a *engine.Account, resource string) (*Explanation, error) {
	if c.gate.cfg.Unrestricted {
		return &Explanation{Account: a.ID, Resource: resource, About: "nobody is restricted", May: engine.MayAll, Limit: engine.MayAll}, nil
	}
	grants, err := c.gate.cfg.Policy.Grants(ctx)
	if err != nil {
		return nil, err
	}
	x := &explaining{checker: c, grants: grants, account: a,
		Explanation: &Explanation{Account: a.ID, Resource: resource, Limit: limitOf(a)}}
	for _, r := range a.Roles {
		x.Has = append(x.Has, string(OfRole)+" "+r)
	}
	for _, s := range a.Coactors {
		x.Has = append(x.Has, string(OfCoactor)+" "+s)
	}
	x.explainResource(resource)
	x.addMissing()
	return x.Explanation, nil
}

type explaining struct {
	*Explanation
	checker *Checker
	grants  *engine.Grants
	account *engine.Account
	secured bool              // set if the resource is an item, a class or an attribute
	some    engine.Permission // permissions on some items
}

// explainResource describes the resource and collects the grants that count for it.
func (x *explaining) explainResource(resource string) {
	g := x.checker.gate
	switch {
	case resource == engine.Everything:
		x.About = "everything"
	case strings.HasPrefix(resource, engine.ClassResource):
		name := strings.TrimPrefix(resource, engine.ClassResource)
		x.secured = true
		x.explainClass(name, resource)
		return
	case strings.HasPrefix(resource, engine.ItemResource):
		x.secured = true
		class, id := g.splitItem(strings.TrimPrefix(resource, engine.ItemResource))
		if class == "" {
			x.About = "no object: no class has that name"
			break
		}
		x.addReasons(resource)
		x.explainClass(class, engine.ClassResource+class)
		x.About = "object " + engine.Quote(id) + " of class " + class
		return
	case strings.HasPrefix(resource, engine.AttributeResource):
		x.secured = true
		x.explainAttribute(resource)
		return
	case resource == engine.TokenResource:
		x.About = "tokens of one's own"
	default:
		x.About = "a resource"
		if !x.grants.Known(resource) {
			x.Notes = append(x.Notes, "nothing declares or grants this resource")
		}
	}
	if resource != engine.Everything {
		x.addReasons(resource)
	}
	x.addReasons(engine.Everything)
}

// explainClass collects the grants, roles and stages that count for items of a class.
func (x *explaining) explainClass(name, resource string) {
	g := x.checker.gate
	x.addReasons(resource)
	x.addReasons(engine.Everything)
	c, err := g.cfg.Meta.Class(name)
	if err != nil {
		x.About = "no class has that name"
		return
	}
	x.About = "class " + c.FullName
	if len(c.Descendants) > 0 {
		x.Notes = append(x.Notes, "it counts for objects of exactly this class; those of its descendants need grants of their own")
	}
	subjects := x.account.Names()
	for _, r := range g.cfg.RoleMap.rolesOf(c) {
		f := r.holderFilter(subjects)
		given := GivenRole{Role: r.name, Resource: r.grantResource(c), Permission: r.permissionsOn(x.grants, c), When: r.String(), Never: f.Never()}
		x.Roles = append(x.Roles, given)
		x.addGiven(given, f)
	}
	x.explainStages(c)
}

// addGiven adds the permissions that a role or a stage gives on the items that match f.
func (x *explaining) addGiven(r GivenRole, f *engine.Filter) {
	switch {
	case f.Always():
		x.May |= r.Permission & x.Limit
	case !r.Never:
		x.some |= r.Permission & x.Limit
	}
}

func (x *explaining) explainStages(c *engine.Class) {
	stages := x.checker.gate.cfg.Stages
	if stages == nil {
		return
	}
	given := GivenRole{Role: "stage of the workflow", Resource: engine.ClassResource + c.FullName, When: "the stage of the object gives it"}
	for _, p := range permissions {
		if f := stages.Rows(p, c, x.account); f != nil && !f.Never() {
			given.Permission |= p
		}
	}
	if given.Permission != 0 {
		x.Roles = append(x.Roles, given)
		x.some |= given.Permission & x.Limit
	}
}

// explainAttribute collects the grants that count for an attribute.
func (x *explaining) explainAttribute(resource string) {
	s := x.checker.gate.schema()
	c, found := s.findAttributes(resource)
	x.addReasons(engine.Everything)
	if len(found) == 0 {
		x.About = "no attribute has that name"
		return
	}
	a := found[0]
	x.About = "attribute " + engine.Quote(a.name) + " of class " + a.owner.FullName
	if len(found) > 1 {
		x.About = fmt.Sprintf("%d attributes of class %s", len(found), c.FullName)
	}
	resources := s.protectedAttributes(x.grants, func(string, string) {})[a]
	switch {
	case a.key:
		x.Notes = append(x.Notes, "it is of a key, which cannot be protected: the id shows it")
		x.May = engine.MayAll & x.Limit
		return
	case len(resources) == 0:
		x.Notes = append(x.Notes, "it is not protected: an account that may read or write an object may also read or write this attribute. It becomes protected when its resource is declared or granted")
		x.May = engine.MayAll & x.Limit
		return
	}
	slices.Sort(resources)
	x.Notes = append(x.Notes, "it is protected by "+strings.Join(resources, ", ")+": it is hidden from accounts without a grant")
	if a.owner != c {
		x.Notes = append(x.Notes, "class "+a.owner.FullName+" declares it: it is protected there and in all classes that inherit it")
	}
	for _, r := range resources {
		x.addReasons(r)
	}
}

// addReasons adds the grants that the account has on a resource.
func (x *explaining) addReasons(resource string) {
	add := func(subject string, kind SubjectKind) {
		may := x.grants.On(resource, subject)
		if may == 0 {
			return
		}
		x.Reasons = append(x.Reasons, Reason{subject, kind, resource, may})
		if kind != OfAll || !x.secured {
			x.May |= may & x.Limit
		}
	}
	add(x.account.ID, Own)
	for _, r := range x.account.Roles {
		add(r, OfRole)
	}
	for _, s := range x.account.Coactors {
		add(s, OfCoactor)
	}
	add(engine.Everyone, OfAll)
}

// addMissing collects the permissions that the account lacks.
func (x *explaining) addMissing() {
	if x.Limit != engine.MayAll {
		x.Notes = append(x.Notes, "the scope of the token leaves "+permissionText(x.Limit))
	}
	of := engine.MayRead | engine.MayWrite | engine.MayDelete | engine.MayUse
	if strings.HasPrefix(x.Resource, engine.AttributeResource) {
		of = engine.MayRead | engine.MayWrite
	}
	lacks := of &^ x.May
	for _, group := range []engine.Permission{lacks & x.some, lacks &^ x.some} {
		x.addMissingGroup(group & x.Limit)
		x.addMissingGroup(group &^ x.Limit)
	}
}

// addMissingGroup adds one entry for the permissions p, unless p is empty.
func (x *explaining) addMissingGroup(p engine.Permission) {
	if p == 0 {
		return
	}
	m := Missing{Permission: p, Some: x.some.Has(p)}
	if x.Limit.Has(p) {
		m.Command = grantCommand(x.Account, x.Resource, p)
	}
	x.Missing = append(x.Missing, m)
}

// grantCommand returns the command line that grants a permission.
func grantCommand(subject, resource string, p engine.Permission) string {
	return "restsrv acl grant " + shellWord(subject) + " " + shellWord(resource) + " " + strings.ReplaceAll(p.String(), ",", " ")
}

// shellWord returns a text as one word of a shell. It adds quotes if the shell needs them.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r)) || strings.ContainsRune("@:._-/", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func permissionText(p engine.Permission) string {
	if p == 0 {
		return "nothing"
	}
	return p.String()
}

// Lines returns the explanation as text for people.
func (x *Explanation) Lines() []string {
	lines := []string{fmt.Sprintf("%s on %s (%s): %s", x.Account, x.Resource, x.About, permissionText(x.May))}
	if len(x.Has) > 0 {
		lines = append(lines, "  the account has: "+strings.Join(x.Has, ", "))
	}
	for _, r := range x.Reasons {
		line := fmt.Sprintf("  granted: %s on %s to %s %s", permissionText(r.Permission), r.Resource, r.Kind, r.Subject)
		if r.Kind == OfAll {
			line = fmt.Sprintf("  granted: %s on %s to everyone", permissionText(r.Permission), r.Resource)
			if x.ofData() {
				line += ", which does not count for data"
			}
		}
		lines = append(lines, line)
	}
	for _, r := range x.Roles {
		when := r.When
		switch {
		case r.Never:
			when += " (never this account)"
		case when == "":
			when = "always"
		}
		lines = append(lines, fmt.Sprintf("  given by objects: %s on %s to %s, when %s", permissionText(r.Permission), r.Resource, r.Role, when))
	}
	for _, m := range x.Missing {
		line := "  missing: " + m.Permission.String()
		if m.Some {
			line += ", but for some objects"
		}
		if m.Command != "" {
			line += "; to grant that: " + m.Command
		}
		lines = append(lines, line)
	}
	for _, n := range x.Notes {
		lines = append(lines, "  note: "+n)
	}
	return lines
}

func (x *Explanation) ofData() bool {
	for _, prefix := range []string{engine.ClassResource, engine.ItemResource, engine.AttributeResource} {
		if strings.HasPrefix(x.Resource, prefix) {
			return true
		}
	}
	return false
}

// String joins Lines.
func (x *Explanation) String() string { return strings.Join(x.Lines(), "\n") }

// String describes which accounts have the role, and for which items.
func (r *role) String() string {
	text := r.who.String()
	if r.when != nil {
		text += " and the conditions of the role map hold"
	}
	return text
}

// String describes the accounts for which the term holds.
func (t term) String() string {
	switch t.op {
	case engine.OpEq:
		return "the account is " + t.text
	case engine.OpPath:
		return "$" + t.text + " names the account"
	}
	texts := make([]string, len(t.terms))
	for i, inner := range t.terms {
		if texts[i] = inner.String(); len(inner.terms) > 1 {
			texts[i] = "(" + texts[i] + ")"
		}
	}
	return strings.Join(texts, " "+string(t.op)+" ")
}
