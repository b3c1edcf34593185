package meta

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/formula"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
	"restsrv/engine/suggest"
)

// legacy matches a default value that is a formula in the old text syntax, such as next(counter).
var legacy = regexp.MustCompile(`^\s*[A-Za-z]\w*\(.*\)\s*$`)

// compileAll compiles the formulas of all classes. It compiles an inherited formula again for each descendant, because
// a name in it may mean another attribute there.
func (l *linker) compileAll(usable []*draft) {
	for _, d := range usable {
		if d.label != nil {
			d.class.Label = l.compileFormula(d, &attribute{Object: d.labelled.Object}, mistake.SemanticFormula, "semantic", d.label)
		}
		for _, p := range d.class.Properties {
			a := l.attributeOf(p)
			if v := a.Value("formula"); !isEmpty(v) {
				if p.Formula = l.compileFormula(d, a, mistake.FormulaInvalid, "formula", v); p.Formula == nil {
					p.Formula = engine.KeepValue{Cached: p.Cached}
				}
			}
			selections{l}.readSelection(d, a, p)
			l.readDefault(d, a, p)
		}
	}
	for _, drop := range l.dropped {
		drop()
	}
}

// dropField removes a field from the description of a property in the service meta. The field is removed only at the
// end of compileAll, because descendants of the class still have to read it.
func (l *linker) dropField(p *engine.Property, field string) {
	l.dropped = append(l.dropped, func() {
		if v, _ := p.Source.Get(field); v != nil {
			p.Source.With(field, nil)
		}
	})
}

// compileFormula compiles the formula in a field of an attribute. If a part of the formula cannot be compiled, it
// reports rule as a mistake and returns nil, because the remaining parts alone could mean the opposite. Two mistakes
// are only reported: an unknown attribute counts as null, and text after the last bracket is ignored.
func (l *linker) compileFormula(d *draft, a *attribute, rule *mistake.Rule, field string, source any) engine.Formula {
	path := a.At(field)
	f, notes, err := formula.CompileLenient(d.class, a.resolveParts(d.class, source), l.findClass)
	if err != nil {
		l.report(a.Object, rule, path, jsonfile.Describe(source), "a formula: "+errorText(err))
		return nil
	}
	for _, err := range notes.Missing {
		found, expected, near := strings.Cut(errorText(err), ", expected ")
		if !near {
			expected = "an attribute"
		}
		l.report(a.Object, mistake.FormulaAttribute, path, jsonfile.Describe(source)+", where "+a.nameDefinition(d, found), expected)
	}
	for _, text := range notes.Skipped {
		l.report(a.Object, mistake.FormulaSkipped, path, engine.Quote(text)+" in the formula", "as many closing brackets as opening ones, and nothing behind the last one")
	}
	return f
}

// nameDefinition returns an error message about a missing attribute in the formula of a. The given message names class
// d, which may have inherited the formula. The result names the class that declares the formula instead, so that all
// descendants have the same message, and report shows it only once.
func (a *attribute) nameDefinition(d *draft, text string) string {
	return strings.Replace(text, "class "+d.class.FullName+" has no ", "class "+a.property.Definition+" has no ", 1)
}

// findClass does the work of engine.MetaRepository.Class as long as the repository does not exist.
func (l *linker) findClass(name string) (*engine.Class, error) {
	if d := l.byName[name]; d != nil {
		return d.class, nil
	}
	return nil, engine.NoClass(name)
}

// resolveParts changes the formula v of a part of a structure so that its names can mean other parts of the same
// structure: "$number" becomes "$passport$number" if the class has this attribute.
func (a *attribute) resolveParts(c *engine.Class, v any) any {
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
			inner[i] = a.resolveParts(c, v[i])
		}
		return inner
	case engine.Fields:
		inner := make(engine.Fields, len(v))
		for i, f := range v {
			inner[i] = engine.Field{Name: f.Name, Value: a.resolveParts(c, f.Value)}
		}
		return inner
	}
	return v
}

// readDefault reads defaultValue: a plain value, a variable such as $$now, or a formula. If the default cannot be
// used, the attribute becomes optional, so that items can still be created.
func (l *linker) readDefault(d *draft, a *attribute, p *engine.Property) {
	v, path := a.Value("defaultValue"), a.At("defaultValue")
	if isEmpty(v) {
		return
	}
	without := func(rule *mistake.Rule, found, expected string) {
		l.report(a.Object, rule, path, found, expected)
		p.Optional = true
		l.dropField(p, "defaultValue")
	}
	s, text := v.(string)
	_, object := v.(engine.Fields)
	switch {
	case p.Type == engine.Collection || p.Back != nil || p.Formula != nil:
		l.warn(a, path, jsonfile.Describe(v), "nothing: the server makes the values of this attribute")
	case text && strings.HasPrefix(s, "$$") && len(s) > 2:
		if p.Computed = l.variableDefault(a, p, s); p.Computed == nil {
			without(mistake.DefaultVariableType, engine.Quote(s)+" for type "+p.Type.String(), "$$now for a datetime, $$uid or $$name for text")
		}
	case text && len(s) > 1 && s[0] == '$':
		without(mistake.DefaultVariable, engine.Quote(s), "a value, or a variable: $$uid, $$name, $$now or $$ and a property of accounts")
	case s == "now" && p.Type == engine.DateTime:
		p.Computed = variable("$$now")
	case object && !isStructured(p.Type), text && legacy.MatchString(s):
		if p.Computed = l.compileFormula(d, a, mistake.DefaultFormula, "defaultValue", v); p.Computed == nil {
			p.Optional = true
			l.dropField(p, "defaultValue")
		}
	default:
		if defaultFits(a, p, p.ValueType()) {
			p.Default = v
		} else {
			without(mistake.DefaultValue, jsonfile.Describe(v), "a value of type "+p.ValueType().String())
		}
	}
}

func defaultFits(a *attribute, p *engine.Property, t engine.PropertyType) bool {
	typed := *p
	typed.Type = t
	_, err := typed.Cast(a.Value("defaultValue"))
	return err == nil
}

// isStructured reports whether plain values of the type can be objects.
func isStructured(t engine.PropertyType) bool {
	switch t {
	case engine.Custom, engine.Period, engine.Geo, engine.Schedule:
		return true
	}
	return false
}

// ofAccount matches a variable that is the name of an account property, such as $$department.
var ofAccount = regexp.MustCompile(`^\$\$[A-Za-z_]\w*$`)

// variableDefault returns the default for a variable such as $$now, or nil if the attribute cannot hold the value of
// the variable. An unknown name means a property of the account. If the account does not have this property, the
// attribute stays empty.
func (l *linker) variableDefault(a *attribute, p *engine.Property, name string) engine.Formula {
	known := []string{"$$uid", "$$name", "$$now"}
	if !slices.Contains(known, name) {
		p.Optional = true
		switch near := suggest.Nearest(name, known); {
		case !ofAccount.MatchString(name):
			l.warn(a, a.At("defaultValue"), engine.Quote(name), "$$uid, $$name, $$now or $$ and a property of accounts: the attribute is left empty")
		case near != "":
			l.warn(a, a.At("defaultValue"), engine.Quote(name), near+": it is taken for a property of accounts")
		}
		return accountProperty{strings.TrimPrefix(name, "$$"), p}
	}
	if now := name == "$$now"; now != (p.Type == engine.DateTime) || !now && !p.ValueType().Textual() {
		return nil
	}
	return variable(name)
}

// accountProperty is a default value: a property of the account that creates the item. The property is stored with the
// account, or read from the data as the setting customProfile determines.
type accountProperty struct {
	name string
	of   *engine.Property // the attribute that has this default
}

// Needs implements engine.Formula.
func (accountProperty) Needs() [][]*engine.Property { return nil }

// String returns the variable as it is written in class files.
func (v accountProperty) String() string { return "$$" + v.name }

// Eval returns the property of the account. It returns null in these cases:
//   - The request has no account.
//   - The account does not have the property.
//   - The attribute cannot hold the value. An error would not help here, because the caller cannot change the
//     property.
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

// variable is a default that is known when an item is created: $$now, or $$uid or $$name of the account that creates
// the item.
type variable string

// Needs implements engine.Formula.
func (variable) Needs() [][]*engine.Property { return nil }

// Eval returns the value of the variable. If the request has no account, $$uid and
// $$name are null.
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
