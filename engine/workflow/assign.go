package workflow

import (
	"context"
	"regexp"
	"strings"

	"restsrv/engine"
	"restsrv/engine/formula"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
)

// assignment is a value that a transition gives a property of the item, or of the
// object that references of the item lead to: plain, a variable, or what a formula
// computes of the item.
type assignment struct {
	path     []*engine.Property // the references, none for the item
	property *engine.Property
	plain    any // as written
	variable string
	formula  engine.Formula
}

// legacy is the text form of a formula, and dotted the path of a part of a struct.
var (
	legacy = regexp.MustCompile(`^\s*[A-Za-z]\w*\(.*\)\s*$`)
	dotted = strings.NewReplacer(".", "$")
)

// variables are those of an account and of the time.
var variables = []string{"$$uid", "$$name", "$$now"}

// target returns the class of the object that the assignment changes, as the class
// of the workflow declares it; nil for the item itself.
func (a *assignment) target() *engine.Class {
	if len(a.path) == 0 {
		return nil
	}
	return a.path[len(a.path)-1].Target
}

// targetOf finds the property that the key of an assignment names, with the
// references that lead to it; nil if there is none.
func targetOf(c *engine.Class, key string) (path []*engine.Property, p *engine.Property) {
	for {
		if p := c.Property(key); p != nil {
			return path, p
		}
		if p := c.Property(dotted.Replace(key)); p != nil {
			return path, p
		}
		name, rest, ok := strings.Cut(key, ".")
		for ; ok; name, rest, ok = longer(name, rest) {
			if p := c.Property(dotted.Replace(name)); p != nil && p.Type == engine.Reference && p.Target != nil {
				path, c, key = append(path, p), p.Target, rest
				break
			}
		}
		if !ok {
			return nil, nil
		}
	}
}

// longer moves the first part of rest to name.
func longer(name, rest string) (string, string, bool) {
	part, rest, ok := strings.Cut(rest, ".")
	return name + "." + part, rest, ok
}

// assignment is nil for one that cannot be made; ok is false if the transition cannot
// be made without it.
func (r reader) assignment() (a *assignment, ok bool) {
	key := r.Text("key")
	path, p := targetOf(r.class, key)
	if p == nil || p.Formula != nil {
		found := ""
		if p != nil {
			found = engine.Quote(key) + ", which is calculated"
		} else if key != "" {
			found = engine.Quote(key) + ", which is no attribute of class " + r.class.FullName
		}
		r.Report(mistake.AssignmentTarget, r.At("key"), found, jsonfile.Choice(key, r.attributes()))
		return nil, true
	}
	a = &assignment{path: path, property: p, plain: r.Value("value")}
	return r.assigned(a), false
}

// assigned reads the value of an assignment; nil for a value that it cannot have.
func (r reader) assigned(a *assignment) *assignment {
	p := a.property
	text, isText := a.plain.(string)
	_, isObject := a.plain.(engine.Fields)
	refuse := func(expected string) *assignment {
		r.Report(mistake.AssignmentValue, r.At("value"), jsonfile.Describe(a.plain), expected)
		return nil
	}
	switch {
	case strings.HasPrefix(text, "$$"):
		if a.variable = text; text != variables[0] && text != variables[1] && text != variables[2] {
			return refuse(jsonfile.Choice(text, variables))
		}
		return a
	case isText && len(text) > 1 && text[0] == '$', isObject && !keepsObjects(p.Type), legacy.MatchString(text):
		f, err := formula.Compile(r.class, a.plain)
		if err == nil {
			err = formula.Check(f, r.defs.find)
		}
		if err != nil {
			return refuse("a formula: " + message(err))
		}
		a.formula = f
		return a
	}
	c := r.class
	if target := a.target(); target != nil {
		c = target
	}
	if _, err := a.bind(c); err != nil {
		return refuse("a value of type " + p.ValueType().String() + ": " + message(err))
	}
	return a
}

// keepsObjects reports whether plain values of the type may be objects.
func keepsObjects(t engine.PropertyType) bool {
	switch t {
	case engine.Custom, engine.Period, engine.Geo, engine.Schedule:
		return true
	}
	return false
}

// bind makes the input of a plain value. It is made anew for each write, which
// may keep and change it.
func (a *assignment) bind(c *engine.Class) (any, error) {
	v, _, err := c.Bind(engine.Fields{{Name: a.property.Name, Value: a.plain}}, engine.Lenient)
	if err != nil {
		return nil, err
	}
	return v[a.property.Index], nil
}

// value is the input that the assignment makes of an item for an object of class c. It
// may be for a property that the account does not know of.
func (a *assignment) value(ctx context.Context, c *engine.Class, it *engine.Item, data engine.FormulaData) (any, error) {
	var v any
	switch {
	case a.formula != nil:
		var err error
		if v, err = a.formula.Eval(ctx, it, data); err != nil {
			return nil, err
		}
	case a.variable == "$$now":
		v = data.Now()
	case a.variable != "":
		if account := engine.AccountFrom(ctx); account != nil {
			v = account.ID
			if a.variable == "$$name" {
				v = account.Name
			}
		}
	default:
		return a.bind(c)
	}
	p := c.Property(a.property.Name)
	switch computed := v.(type) {
	case engine.Instant:
		if p.Type.Textual() {
			v = computed.String()
		}
	case *engine.Item:
		if computed != nil && p.Type != engine.Reference {
			v = computed.ID
		}
	}
	return p.Cast(v)
}
