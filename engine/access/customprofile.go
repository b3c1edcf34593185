package access

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
	"restsrv/engine/query"
)

// ProfilesConfig holds the dependencies of Profiles.
type ProfilesConfig struct {
	Data engine.Repository // unguarded
	Meta engine.MetaRepository
}

// Profiles reads properties of accounts from the data (customProfile of IONDV). It begins with
// the first item of a class that names the account, and reads properties from this item. If the
// class has a recursion, it then follows from item to item, for example from a department to the
// department above it, and reads the properties of these items too.
type Profiles struct {
	cfg     ProfilesConfig
	classes []*profileClass
}

// profileClass defines which properties are read from items of one class.
type profileClass struct {
	class      *engine.Class
	filter     string
	properties []profileProperty
	recursion  []profileProperty // conditions on the next items: the attribute called name must equal the value at path in this item
	load       []*engine.Load
}

type profileProperty struct {
	name string
	path []*engine.Property
}

// NewProfiles reads the options of customProfile, {propertyMap: {class: {filter,
// properties: {name: path}, recursion: {attribute: path}}}}. Mistakes are added
// to the faults of o.
func NewProfiles(cfg ProfilesConfig, o jsonfile.Object) *Profiles {
	f := &Profiles{cfg: cfg}
	o.WarnRepeated()
	o.WarnUnknown([]string{"propertyMap", "fields", "metaRepo", "dataRepo", "auth", "log"})
	classes, _ := o.Child("propertyMap")
	classes.WarnRepeated()
	for _, field := range classes.Fields {
		c, err := cfg.Meta.Class(field.Name)
		if err != nil {
			classes.Report(mistake.ProfileClass, classes.At(field.Name), "class "+engine.Quote(field.Name)+", which does not exist", jsonfile.Choice(field.Name, classNames(cfg.Meta)))
			continue
		}
		if child, ok := classes.Child(field.Name); ok {
			if of := parseProfile(c, child); of != nil {
				f.classes = append(f.classes, of)
			}
		}
	}
	return f
}

// Names returns the names of the properties.
func (f *Profiles) Names() (names []string) {
	for _, of := range f.classes {
		for _, p := range of.properties {
			names = append(names, p.name)
		}
	}
	return names
}

func parseProfile(c *engine.Class, o jsonfile.Object) *profileClass {
	o.WarnRepeated()
	o.WarnUnknown([]string{"filter", "properties", "recursion"})
	of := &profileClass{class: c}
	of.filter, _ = o.Value("filter").(string)
	if _, err := query.NamesOneOf(c, of.filter, nil); of.filter == "" || err != nil {
		o.Report(mistake.ProfileFilter, o.At("filter"), jsonfile.Describe(o.Value("filter")), "an attribute of class "+c.FullName+" that names an account")
		return nil
	}
	of.properties, _ = of.parsePaths(o, "properties", mistake.ProfileProperty)
	of.properties = slices.DeleteFunc(of.properties, func(p profileProperty) bool {
		if p.name == "oauth" { // it would make the account a client of OAuth2, which write access to an item must not allow
			o.Report(mistake.ProfileOAuth, jsonfile.Member(o.At("properties"), p.name), "the property oauth", "another name: this one is stored with the account only")
		}
		return p.name == "oauth"
	})
	// A recursion with a missing attribute would match more items, so it is
	// dropped.
	recursion, complete := of.parsePaths(o, "recursion", mistake.ProfileRecursion)
	for _, r := range recursion {
		if _, err := query.NamesOneOf(c, r.name, nil); err != nil {
			o.Report(mistake.ProfileRecursion, jsonfile.Member(o.At("recursion"), r.name), engine.Quote(r.name), "an attribute of class "+c.FullName)
			complete = false
		}
	}
	if complete {
		of.recursion = recursion
	}
	return of
}

// parsePaths reads the member of o with the given name, an object that maps names to paths. It
// leaves out invalid paths and reports them as mistakes of the given rule; complete is then
// false.
func (of *profileClass) parsePaths(o jsonfile.Object, name string, rule *mistake.Rule) (all []profileProperty, complete bool) {
	child, _ := o.Child(name)
	child.WarnRepeated()
	complete = true
	for _, f := range child.Fields {
		if f.Value == nil {
			continue
		}
		dotted, _ := f.Value.(string)
		path := pathOf(of.class, dotted)
		if path == nil {
			child.Report(rule, child.At(f.Name), jsonfile.Describe(f.Value), "a path to an attribute from class "+of.class.FullName)
			complete = false
			continue
		}
		all = append(all, profileProperty{f.Name, path})
		of.load = loadPath(of.load, path)
	}
	return all, complete
}

// pathOf resolves a dotted path through references and collections. It returns
// nil if the path does not exist or contains a password.
func pathOf(c *engine.Class, dotted string) (path []*engine.Property) {
	for name := range strings.SplitSeq(dotted, ".") {
		if c == nil {
			return nil
		}
		p := c.Property(name)
		if p == nil || p.Type == engine.Password {
			return nil
		}
		path, c = append(path, p), p.Target
	}
	return path
}

// loadPath adds the references and collections of a path to loads, so that the items on the path
// are read. A reference at the end of the path is not added: its value is the id of the item.
func loadPath(loads []*engine.Load, path []*engine.Property) []*engine.Load {
	if len(path) == 0 || path[0].Target == nil || len(path) == 1 && path[0].Type == engine.Reference && path[0].Back == nil {
		return loads
	}
	for _, l := range loads {
		if l.Property == path[0] {
			l.Next = loadPath(l.Next, path[1:])
			return loads
		}
	}
	return append(loads, &engine.Load{Property: path[0], Next: loadPath(nil, path[1:])})
}

// Load returns the properties of an account.
func (f *Profiles) Load(ctx context.Context, account string) (engine.Fields, error) {
	var all engine.Fields
	if f == nil {
		return nil, nil
	}
	for _, of := range f.classes {
		r := &profileReading{of: of, data: f.cfg.Data, seen: map[string]bool{}, values: map[string]any{}}
		if err := r.read(engine.WithGuard(ctx, nil), account); err != nil {
			return nil, err
		}
		for _, p := range of.properties {
			if v, ok := r.values[p.name]; ok {
				all = setField(all, p.name, v)
			}
		}
	}
	return all, nil
}

// setField replaces or appends a field.
func setField(all engine.Fields, name string, v any) engine.Fields {
	for i := range all {
		if all[i].Name == name {
			all[i].Value = v
			return all
		}
	}
	return append(all, engine.Field{Name: name, Value: v})
}

// profileReading is the state of reading the properties of one account from one
// class.
type profileReading struct {
	of     *profileClass
	data   engine.Repository
	seen   map[string]bool
	values map[string]any
	next   []*engine.Filter // conditions of the next items
}

func (r *profileReading) read(ctx context.Context, account string) error {
	is, err := query.NamesOneOf(r.of.class, r.of.filter, []any{account})
	if err != nil {
		return nil // the account id is not a value of that type
	}
	if err := r.readItems(ctx, is, 1); err != nil {
		return err
	}
	for level := 0; len(r.next) > 0 && level < maxJumps; level++ {
		next := engine.Either(r.next...)
		r.next = nil
		if err := r.readItems(ctx, next, maxAsked); err != nil {
			return err
		}
	}
	return nil
}

func (r *profileReading) readItems(ctx context.Context, which *engine.Filter, most int) error {
	q := &engine.Query{Class: r.of.class, Filter: which, Load: r.of.load, Count: most}
	return r.data.List(ctx, q, func(it *engine.Item) error {
		if r.seen[it.ID] || len(r.seen) >= maxVisited {
			return nil
		}
		first := len(r.seen) == 0
		r.seen[it.ID] = true
		for _, p := range r.of.properties {
			r.takeValue(p.name, valueAt(it, p.path), first)
		}
		r.followRecursion(it)
		return nil
	})
}

// takeValue stores a value of a property. If first is set, the value comes from the first item. A
// value from a later item is appended if the stored value is a list. It replaces a stored value
// that is null or false.
func (r *profileReading) takeValue(name string, v any, first bool) {
	old, ok := r.values[name]
	list, isList := old.([]any)
	switch more, many := v.([]any); {
	case first || !ok || !isList && !engine.Truthy(old):
		r.values[name] = v
	case isList && many:
		r.values[name] = append(slices.Clone(list), more...)
	case isList && v != nil:
		r.values[name] = append(slices.Clone(list), v)
	}
}

// followRecursion adds the condition of the items that come next: each attribute of the
// recursion must equal the value at the end of its path in this item.
func (r *profileReading) followRecursion(it *engine.Item) {
	if len(r.of.recursion) == 0 || len(r.next) >= query.MaxNames {
		return
	}
	var all []*engine.Filter
	for _, by := range r.of.recursion {
		v := valueAt(it, by.path)
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		list = slices.DeleteFunc(slices.Clone(list), func(v any) bool { return v == nil })
		f, err := query.NamesOneOf(r.of.class, by.name, list)
		if err != nil || len(list) == 0 || len(list) > query.MaxNames {
			return // no items follow
		}
		all = append(all, f)
	}
	r.next = append(r.next, engine.Both(all...))
}

// valueAt returns the value at the end of a path as decoded JSON: a list if the
// path goes through a collection. Items are represented by their ids.
func valueAt(it *engine.Item, path []*engine.Property) any {
	p := it.Class.Property(path[0].Name)
	if p == nil {
		return nil
	}
	link := it.Link(p)
	switch {
	case p.Type == engine.Collection:
		list := []any{}
		for _, member := range link.Items {
			var v any = member.ID
			if len(path) > 1 {
				v = valueAt(member, path[1:])
			}
			if inner, ok := v.([]any); ok {
				list = append(list, inner...)
			} else if v != nil {
				list = append(list, v)
			}
		}
		return list
	case len(path) == 1 && p.Type == engine.Reference:
		if link.Item != nil {
			return link.Item.ID
		}
		if v := it.Values[p.Index]; v != nil {
			return engine.ValueText(v)
		}
		return nil
	case len(path) == 1:
		return decodeStored(it.Values[p.Index])
	case link.Item != nil:
		return valueAt(link.Item, path[1:])
	}
	return nil
}

// decodeStored converts a stored value to decoded JSON.
func decodeStored(v any) any {
	switch v := v.(type) {
	case nil, bool, string:
		return v
	case engine.JSONText:
		return v.Decode()
	case engine.Instant:
		return v.String()
	case int64, float64, engine.Decimal:
		return json.Number(engine.ValueText(v))
	}
	return nil
}
