package workflow

import (
	"context"
	"regexp"
	"strings"

	"restsrv/engine"
	"restsrv/engine/formula"
	"restsrv/engine/jsonfile"
)

// assignment is a value that a transition gives a property: plain, a variable,
// or what a formula computes of the item.
type assignment struct {
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

// assignment is nil for one that cannot be made.
func (r reader) assignment() *assignment {
	p := r.property("key")
	if p == nil {
		return nil
	}
	a := &assignment{property: p, plain: r.Value("value")}
	text, isText := a.plain.(string)
	_, isObject := a.plain.(engine.Fields)
	refuse := func(expected string) *assignment {
		r.Warn(r.At("value"), jsonfile.Describe(a.plain), expected)
		return nil
	}
	switch {
	case p.Formula != nil:
		r.Warn(r.At("key"), engine.Quote(p.Name)+", which is calculated", "an attribute that can be given a value")
		return nil
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
	if _, err := a.bind(r.class); err != nil {
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

// value is the input that the assignment makes for an item. It may be for a
// property that the account does not know of.
func (a *assignment) value(ctx context.Context, it *engine.Item, data engine.FormulaData) (any, error) {
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
		return a.bind(it.Class.Base())
	}
	p := it.Class.Base().Property(a.property.Name)
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
