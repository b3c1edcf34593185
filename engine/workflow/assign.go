package workflow

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/formula"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
)

// assignment sets a property when an item passes a transition. The property belongs to the item, or to an object to
// which the item refers. The value is a constant, a variable such as $$now, or a formula over the item.
type assignment struct {
	path     []*engine.Property // references from the item to the object to change; empty for the item itself
	property *engine.Property
	plain    any // the value as written
	variable string
	formula  engine.Formula
}

// legacy matches a formula in text form, such as add($a, 1). dotted converts the path of a part of a structure, such
// as passport.number, to the name of the property, passport$number.
var (
	legacy = regexp.MustCompile(`^\s*[A-Za-z]\w*\(.*\)\s*$`)
	dotted = strings.NewReplacer(".", "$")
)

// variables are the names of the variables for the account and the time.
var variables = []string{"$$uid", "$$name", "$$now"}

// targetClass returns the declared class of the object that the assignment changes. It returns nil if the assignment
// changes the item itself.
func (a *assignment) targetClass() *engine.Class {
	if len(a.path) == 0 {
		return nil
	}
	return a.path[len(a.path)-1].Target
}

// targetOf resolves the key of an assignment, a dotted path that starts at class c. p is the property to set. path
// contains the references from the item to the object with property p. p is nil if the path does not exist.
func targetOf(c *engine.Class, key string) (path []*engine.Property, p *engine.Property) {
	for {
		if p := c.Property(key); p != nil {
			return path, p
		}
		if p := c.Property(dotted.Replace(key)); p != nil {
			return path, p
		}
		name, rest, ok := strings.Cut(key, ".")
		for ; ok; name, rest, ok = extendName(name, rest) {
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

// extendName moves the first segment of rest to the end of name.
func extendName(name, rest string) (string, string, bool) {
	part, rest, ok := strings.Cut(rest, ".")
	return name + "." + part, rest, ok
}

// readAssignment reads an assignment. If the assignment has a mistake, a is nil, and ok reports whether the transition
// can be used without the assignment.
func (r reader) readAssignment() (a *assignment, ok bool) {
	key := r.Text("key")
	path, p := targetOf(r.class, key)
	if p == nil || p.Formula != nil {
		found := ""
		if p != nil {
			found = engine.Quote(key) + ", which is calculated"
		} else if key != "" {
			found = engine.Quote(key) + ", which is no attribute of class " + r.class.FullName
		}
		r.Report(mistake.AssignmentTarget, r.At("key"), found, jsonfile.Choice(key, r.attributeNames()))
		return nil, true
	}
	a = &assignment{path: path, property: p, plain: r.Value("value")}
	return r.readAssigned(a), false
}

// readAssigned checks and compiles the value of an assignment. It returns nil if the property cannot have the value.
func (r reader) readAssigned(a *assignment) *assignment {
	p := a.property
	text, isText := a.plain.(string)
	_, isObject := a.plain.(engine.Fields)
	refuse := func(expected string) *assignment {
		r.Report(mistake.AssignmentValue, r.At("value"), jsonfile.Describe(a.plain), expected)
		return nil
	}
	switch {
	case r.isAccountProperty(text):
		a.variable = text
		return a
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
			return refuse("a formula: " + messageOf(err))
		}
		a.formula = f
		return a
	}
	c := r.class
	if target := a.targetClass(); target != nil {
		c = target
	}
	if _, err := a.bindConstant(c); err != nil {
		return refuse("a value of type " + p.ValueType().String() + ": " + messageOf(err))
	}
	return a
}

// isAccountProperty reports whether a value names a property of the account that customProfile adds. Such a value is
// written $$name. If the class has no attribute with this name, it can also be written $name.
func (r reader) isAccountProperty(text string) bool {
	name, ok := strings.CutPrefix(text, "$")
	if name, double := strings.CutPrefix(name, "$"); double {
		return ok && !slices.Contains(variables, text) && slices.Contains(r.defs.properties, name)
	}
	return ok && r.class.Property(name) == nil && slices.Contains(r.defs.properties, name)
}

// keepsObjects reports whether a constant of the type can be a JSON object. For other types, an object is a formula.
func keepsObjects(t engine.PropertyType) bool {
	switch t {
	case engine.Custom, engine.Period, engine.Geo, engine.Schedule:
		return true
	}
	return false
}

// bindConstant converts the constant to an input value for class c. It must be called for each write, because a write
// may modify the value.
func (a *assignment) bindConstant(c *engine.Class) (any, error) {
	v, _, err := c.Bind(engine.Fields{{Name: a.property.Name, Value: a.plain}}, engine.Lenient)
	if err != nil {
		return nil, err
	}
	return v[a.property.Index], nil
}

// computeValue returns the value that the assignment sets in an object of class c. A formula uses the values of the
// item it. The changed property may be hidden from the account.
func (a *assignment) computeValue(ctx context.Context, c *engine.Class, it *engine.Item, data engine.FormulaData) (any, error) {
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
			v, _ = account.Variable(strings.TrimLeft(a.variable, "$"))
		}
	default:
		return a.bindConstant(c)
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
