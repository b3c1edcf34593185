package meta

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/formula"
	"restsrv/engine/jsonfile"
)

// legacy is the old text form of a formula, next(counter).
var legacy = regexp.MustCompile(`^\s*[A-Za-z]\w*\(.*\)\s*$`)

// compileAll compiles what the classes say in formulas, each class for itself,
// since what an attribute is called may mean another one in a descendant.
func (l *linker) compileAll(usable []*draft) {
	for _, d := range usable {
		if d.label != nil {
			d.class.Label = l.formula(d, &attribute{Object: d.labelled.Object}, d.labelled.At("semantic"), d.label)
		}
		for _, p := range d.class.Properties {
			a := l.attribute(p)
			if v := a.Value("formula"); !empty(v) {
				p.Formula = l.formula(d, a, a.At("formula"), v)
			}
			l.selection(d, a, p)
			l.initial(d, a, p)
		}
	}
}

// formula compiles one formula; nil, and a fault, when it cannot be.
func (l *linker) formula(d *draft, a *attribute, path string, source any) engine.Formula {
	f, err := formula.Compile(d.class, a.within(d.class, source))
	if err != nil {
		l.fault(a, path, jsonfile.Describe(source), "a formula: "+message(err))
		return nil
	}
	if err := formula.Check(f, l.find); err != nil {
		l.fault(a, path, jsonfile.Describe(source), "a formula: "+message(err))
		return nil
	}
	return f
}

// find is engine.MetaRepository.Class while there is no repository yet.
func (l *linker) find(name string) (*engine.Class, error) {
	if d := l.byName[name]; d != nil {
		return d.class, nil
	}
	return nil, engine.NoClass(name)
}

// within lets the formula of a part of a structure speak of the other parts:
// "$number" becomes "$passport$number" where the class has such an attribute.
func (a *attribute) within(c *engine.Class, v any) any {
	if a.prefix == "" {
		return v
	}
	switch v := v.(type) {
	case string:
		if name, ok := strings.CutPrefix(v, "$"); ok {
			first := strings.FieldsFunc(name, func(r rune) bool { return r == '.' || r == '@' })
			if len(first) > 0 && c.Property(a.prefix+first[0]) != nil {
				return "$" + a.prefix + name
			}
		}
	case []any:
		inner := make([]any, len(v))
		for i := range v {
			inner[i] = a.within(c, v[i])
		}
		return inner
	case engine.Fields:
		inner := make(engine.Fields, len(v))
		for i, f := range v {
			inner[i] = engine.Field{Name: f.Name, Value: a.within(c, f.Value)}
		}
		return inner
	}
	return v
}

// initial reads defaultValue: a plain value, a variable or a formula.
func (l *linker) initial(d *draft, a *attribute, p *engine.Property) {
	v, path := a.Value("defaultValue"), a.At("defaultValue")
	if empty(v) {
		return
	}
	s, text := v.(string)
	_, object := v.(engine.Fields)
	switch {
	case p.Type == engine.Collection || p.Back != nil || p.Formula != nil:
		l.warn(a, path, jsonfile.Describe(v), "nothing: the server makes the values of this attribute")
	case text && strings.HasPrefix(s, "$$"):
		p.Computed = l.variable(a, p, s)
	case s == "now" && p.Type == engine.DateTime:
		p.Computed = variable("$$now")
	case object && !structured(p.Type), text && legacy.MatchString(s):
		p.Computed = l.formula(d, a, path, v)
	default:
		if fits(a, p, p.ValueType()) {
			p.Default = v
		} else {
			l.fault(a, path, jsonfile.Describe(v), "a value of type "+p.ValueType().String())
		}
	}
}

// checkLiteral refuses a plain default that is no value of the attribute's
// type, where nothing need be known of other classes.
func checkLiteral(a *attribute) {
	v := a.Value("defaultValue")
	s, text := v.(string)
	_, object := v.(engine.Fields)
	p := a.property
	plain := !object && !(text && (strings.HasPrefix(s, "$$") || legacy.MatchString(s) || s == "now" && p.Type == engine.DateTime))
	if p.Type.Scalar() && !empty(v) && plain && !fits(a, p, p.Type) {
		a.Fault(a.At("defaultValue"), jsonfile.Describe(v), "a value of type "+p.Type.String())
	}
}

func fits(a *attribute, p *engine.Property, t engine.PropertyType) bool {
	typed := *p
	typed.Type = t
	_, err := typed.Cast(a.Value("defaultValue"))
	return err == nil
}

// structured reports whether plain values of the type may be objects.
func structured(t engine.PropertyType) bool {
	switch t {
	case engine.Custom, engine.Period, engine.Geo, engine.Schedule:
		return true
	}
	return false
}

// ofAccount are the variables that name a property of the account.
var ofAccount = regexp.MustCompile(`^\$\$[A-Za-z_]\w*$`)

func (l *linker) variable(a *attribute, p *engine.Property, name string) engine.Formula {
	known := []string{"$$uid", "$$name", "$$now"}
	if !slices.Contains(known, name) {
		near := jsonfile.Nearest(name, known)
		switch {
		case !ofAccount.MatchString(name):
			l.warn(a, a.At("defaultValue"), engine.Quote(name), "$$uid, $$name, $$now or $$ and a property of accounts: the attribute is left empty")
			return nil
		case near != "":
			l.warn(a, a.At("defaultValue"), engine.Quote(name), near+": it is taken for a property of accounts")
		}
		return accountProperty{strings.TrimPrefix(name, "$$"), p}
	}
	if now := name == "$$now"; now != (p.Type == engine.DateTime) || !now && !p.ValueType().Textual() {
		l.fault(a, a.At("defaultValue"), engine.Quote(name)+" for type "+p.Type.String(), "$$now for a datetime, $$uid or $$name for text")
		return nil
	}
	return variable(name)
}

// accountProperty is a default that is a property of the account that makes the
// item: one that is stored of it, or that customProfile finds in the data.
type accountProperty struct {
	name string
	of   *engine.Property // whose default it is
}

// Needs is nothing.
func (accountProperty) Needs() [][]*engine.Property { return nil }

// String is how class files write it.
func (v accountProperty) String() string { return "$$" + v.name }

// Eval returns the property's value; null when nobody asks, for an account that
// has none, and for a value that the attribute cannot have: who makes the item
// could not mend that.
func (v accountProperty) Eval(ctx context.Context, _ *engine.Item, _ engine.FormulaData) (any, error) {
	account := engine.AccountFrom(ctx)
	if account == nil {
		return nil, nil
	}
	value, _ := account.Properties.Get(v.name)
	value, err := v.of.Cast(value)
	if err != nil {
		return nil, nil
	}
	return value, nil
}

// variable is a default that is known when an item is made: $$now, or $$uid and
// $$name of the account that makes it.
type variable string

// Needs is nothing.
func (variable) Needs() [][]*engine.Property { return nil }

// Eval returns the variable's value, null when nobody asks.
func (v variable) Eval(ctx context.Context, _ *engine.Item, data engine.FormulaData) (any, error) {
	if v == "$$now" {
		return data.Now(), nil
	}
	account := engine.AccountFrom(ctx)
	switch {
	case account == nil:
		return nil, nil
	case v == "$$name":
		return account.Name, nil
	}
	return account.ID, nil
}
