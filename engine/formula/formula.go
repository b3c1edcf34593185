// Package formula compiles the formulas of class files into engine.Formula:
// calculated attributes, computed defaults, display strings and conditions.
//
// A formula is a call, {"fn":[arguments]} or fn(arguments), or a value. An
// argument is a call, a literal or a path. A path such as "$town.name" leads to
// an attribute; it gives a list if it passes through a collection. A path that
// ends in @, such as "$town@", gives the value as it is displayed.
//
// A formula reads only its item and the data that engine.FormulaData finds, so
// the same input gives the same value. Every formula ends: it loops only over
// loaded data, and its depth, size and steps are limited.
package formula

import (
	"context"
	"strings"

	"restsrv/engine"
)

// Limits of a formula. The formulas of class files stay far below them.
const (
	maxDepth  = 32        // nested calls
	maxNodes  = 2000      // calls, paths and literals
	maxSource = 64 << 10  // bytes of the text form
	maxNeeds  = 1000      // different paths
	maxPath   = 16        // attributes in a path
	maxSteps  = 5_000_000 // steps of one evaluation
	maxText   = 4 << 20   // bytes of a text that a function returns
)

// Compile compiles a formula for items of c. source is decoded JSON (see
// engine.Fields) or the text form. Call it when all classes have been through
// Init, because it follows references to other classes. The error is Invalid. It
// names the unknown function or attribute, and the nearest known name.
func Compile(c *engine.Class, source any) (engine.Formula, error) {
	f, skipped, err := (&compiler{class: c}).compileFormula(source)
	if err == nil && len(skipped) > 0 {
		err = invalid("the formula goes on with %s where it should end", engine.Quote(skipped[0]))
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Notes lists the mistakes that CompileLenient accepted.
type Notes struct {
	Missing []error  // attributes and paths that do not exist; the formula reads null for them
	Skipped []string // of the text form: surplus closing brackets, and text after the end
}

// CompileLenient does the work of Compile and Check, and accepts the mistakes that IONDV
// accepts. Do not use it for conditions that grant access: a missing attribute is null,
// and null may satisfy the condition.
func CompileLenient(c *engine.Class, source any, find func(string) (*engine.Class, error)) (engine.Formula, Notes, error) {
	b := &compiler{class: c, missing: &[]error{}}
	f, skipped, err := b.compileFormula(source)
	if err != nil {
		return nil, Notes{}, err
	}
	for _, l := range f.lookups {
		at, err := l.resolveClass(c, find)
		if err != nil {
			return nil, Notes{}, err
		}
		if err := l.checkAttributes(at); err != nil {
			b.addMissing(err)
			l.missing = true
		}
	}
	return f, Notes{*b.missing, skipped}, nil
}

func (b *compiler) compileFormula(source any) (*program, []string, error) {
	written := source
	var skipped []string
	if s, ok := source.(string); ok {
		var err error
		if source, skipped, err = parseText(s); err != nil {
			return nil, nil, err
		}
	}
	b.next = use{top: true}
	n, err := b.compileExpression(source, scope{class: b.class, prefixes: [][]*engine.Property{nil}}, 0)
	if err != nil {
		return nil, nil, err
	}
	return &program{class: b.class, source: written, node: n, needs: b.needs, lookups: b.lookups, mention: b.mention}, skipped, nil
}

// Check resolves the classes that f looks up by name and the attributes that it uses
// of them. Compile cannot do this, because not all classes are known when it runs.
// find is engine.MetaRepository.Class. The error is Invalid.
func Check(f engine.Formula, find func(string) (*engine.Class, error)) error {
	p, ok := f.(*program)
	if !ok {
		return nil
	}
	for _, l := range p.lookups {
		c, err := l.resolveClass(p.class, find)
		if err != nil {
			return err
		}
		if err := l.checkAttributes(c); err != nil {
			return err
		}
	}
	return nil
}

func (l *lookup) resolveClass(of *engine.Class, find func(string) (*engine.Class, error)) (*engine.Class, error) {
	c, err := findClass(of, l.class, find)
	if err != nil {
		return nil, invalid("%s: there is no class %s", l.function, engine.Quote(l.class))
	}
	return c, nil
}

// checkAttributes returns an error if class c lacks one of the attributes.
func (l *lookup) checkAttributes(c *engine.Class) error {
	for _, name := range l.attributes {
		if _, err := resolvePath(c, name); err != nil {
			return err
		}
	}
	return nil
}

// program is a compiled formula. It is immutable, so goroutines may share it.
type program struct {
	class   *engine.Class
	source  any
	node    node
	needs   [][]*engine.Property
	lookups []*lookup
	mention mention
}

// lookup is a class that a formula names, with the attributes of that class that the formula uses.
type lookup struct {
	function, class string
	attributes      []string
	missing         bool // one of the attributes does not exist, so the result of the lookup is null
}

// nullIfMissing returns a node that evaluates n, or gives null if an attribute of the lookup is missing.
func (l *lookup) nullIfMissing(n node) node {
	eval := n.eval
	n.eval = func(e *env, it *engine.Item) (any, error) {
		if l.missing {
			return nil, nil
		}
		return eval(e, it)
	}
	return n
}

// String returns the name of the class and the formula as written in the class file.
func (p *program) String() string {
	return string(engine.AppendValue([]byte(p.class.FullName+":"), p.source))
}

func (p *program) Needs() [][]*engine.Property { return p.needs }

func (p *program) Eval(ctx context.Context, it *engine.Item, data engine.FormulaData) (any, error) {
	e := &env{ctx: ctx, data: data, class: p.class}
	v, err := p.node.eval(e, it)
	if err != nil {
		return nil, err
	}
	if list, ok := v.([]any); ok {
		return itemList(list, p.node.items != nil), nil
	}
	return v, nil
}

// itemList converts a list to []*engine.Item if it contains only items. items reports
// whether an empty list is one of items.
func itemList(list []any, items bool) any {
	if len(list) == 0 && !items {
		return list
	}
	result := make([]*engine.Item, len(list))
	for i, v := range list {
		it, ok := v.(*engine.Item)
		if !ok {
			return list
		}
		result[i] = it
	}
	return result
}

// env is one evaluation.
type env struct {
	ctx   context.Context
	data  engine.FormulaData
	class *engine.Class // the class that the formula belongs to
	steps int
	check int // number of steps at which the context is checked again
}

// countStep counts one step. It returns an error if the evaluation has taken too many
// steps, or if its context has ended.
func (e *env) countStep() error {
	if e.steps++; e.steps > maxSteps {
		return invalid("the formula takes more than %d steps: what it reads is too much", maxSteps)
	}
	if e.steps >= e.check {
		if e.check = e.steps + 1024; e.ctx.Err() == nil {
			return nil
		}
		return engine.Errorf(engine.Timeout, "timeout", "the formula took too long")
	}
	return nil
}

// chargeValue counts one step, and for a text one more for every 16 bytes, because functions read it.
func (e *env) chargeValue(v any) error {
	if s, ok := v.(string); ok {
		e.steps += len(s) / 16
	}
	return e.countStep()
}

func invalid(format string, args ...any) *engine.Error {
	return engine.Errorf(engine.Invalid, "formula", format, args...)
}

// findClass finds a class by its name. It searches the namespace of c first.
func findClass(c *engine.Class, name string, find func(string) (*engine.Class, error)) (*engine.Class, error) {
	if c != nil && c.Namespace != "" && !strings.Contains(name, "@") {
		if found, err := find(engine.FullName(name, c.Namespace)); err == nil {
			return found, nil
		}
	}
	return find(name)
}
