// Package formula compiles the formulas of class files into engine.Formula:
// calculated attributes, computed defaults, display strings and conditions.
//
// A formula is a call, {"fn":[arguments]} or fn(arguments), or a value. An
// argument is a call, a path to an attribute of the item ("$town.name", which
// through a collection gives a list), such a path with @ behind it for the
// value as people read it ("$town@"), or a literal.
//
// A formula reads its item and what engine.FormulaData finds, and nothing else:
// the same input gives the same value. It has no loops but over what was
// loaded, and its depth, size and steps are limited, so that it ends.
package formula

import (
	"context"
	"strings"

	"restsrv/engine"
)

// Limits of a formula. What a class file needs is far below them.
const (
	maxDepth  = 32        // of calls in calls
	maxNodes  = 2000      // calls, paths and literals
	maxSource = 64 << 10  // bytes of the text form
	maxNeeds  = 1000      // different paths
	maxPath   = 16        // attributes in a path
	maxSteps  = 5_000_000 // of one evaluation
	maxText   = 4 << 20   // bytes of a text that a function makes
)

// Compile reads a formula for items of c: decoded JSON (see engine.Fields), or
// the text form. It may look at the classes that c's attributes point at, so
// that all classes must have been through Init. The error is Invalid and names
// the function or the attribute that does not suit, and the nearest known one.
func Compile(c *engine.Class, source any) (engine.Formula, error) {
	f, skipped, err := (&compiler{class: c}).compile(source)
	if err == nil && len(skipped) > 0 {
		err = invalid("the formula goes on with %s where it should end", engine.Quote(skipped[0]))
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Notes are what CompileLenient passed over.
type Notes struct {
	Missing []error  // attributes that do not exist, and paths that lead nowhere: they are null
	Skipped []string // of the text form: brackets that close nothing, and what stands behind the end
}

// CompileLenient is Compile and Check for formulas as IONDV takes them. The formula of
// a condition that grants something must not be compiled so, since null may satisfy it.
func CompileLenient(c *engine.Class, source any, find func(string) (*engine.Class, error)) (engine.Formula, Notes, error) {
	b := &compiler{class: c, missing: &[]error{}}
	f, skipped, err := b.compile(source)
	if err != nil {
		return nil, Notes{}, err
	}
	for _, l := range f.lookups {
		at, err := l.find(c, find)
		if err != nil {
			return nil, Notes{}, err
		}
		if err := l.check(at); err != nil {
			b.lacks(err)
			l.missing = true
		}
	}
	return f, Notes{*b.missing, skipped}, nil
}

func (b *compiler) compile(source any) (*program, []string, error) {
	written := source
	var skipped []string
	if s, ok := source.(string); ok {
		var err error
		if source, skipped, err = parseText(s); err != nil {
			return nil, nil, err
		}
	}
	b.next = use{top: true}
	n, err := b.expression(source, scope{class: b.class, prefixes: [][]*engine.Property{nil}}, 0)
	if err != nil {
		return nil, nil, err
	}
	return &program{class: b.class, source: written, node: n, needs: b.needs, lookups: b.lookups, counts: b.counts, mention: b.mention}, skipped, nil
}

// Check resolves the classes that f looks up by name, and the attributes that
// it uses of them, which Compile cannot: not all classes are known by then.
// find is engine.MetaRepository.Class. The error is Invalid.
func Check(f engine.Formula, find func(string) (*engine.Class, error)) error {
	p, ok := f.(*program)
	if !ok {
		return nil
	}
	for _, l := range p.lookups {
		c, err := l.find(p.class, find)
		if err != nil {
			return err
		}
		if err := l.check(c); err != nil {
			return err
		}
	}
	return nil
}

func (l *lookup) find(of *engine.Class, find func(string) (*engine.Class, error)) (*engine.Class, error) {
	c, err := findClass(of, l.class, find)
	if err != nil {
		return nil, invalid("%s: there is no class %s", l.function, engine.Quote(l.class))
	}
	return c, nil
}

// check returns an error if class c does not have the attributes.
func (l *lookup) check(c *engine.Class) error {
	for _, name := range l.attributes {
		if _, err := resolve(c, name); err != nil {
			return err
		}
	}
	return nil
}

// Counts reports whether f takes numbers from counters. Only what is computed
// when an item is written may: defaults, and attributes that are cached.
func Counts(f engine.Formula) bool {
	p, ok := f.(*program)
	return ok && p.counts
}

// program is a compiled formula. It is never written after Compile.
type program struct {
	class   *engine.Class
	source  any
	node    node
	needs   [][]*engine.Property
	lookups []*lookup
	counts  bool
	mention mention
}

// lookup is a class that a formula names, with attributes that it names of it.
type lookup struct {
	function, class string
	attributes      []string
	missing         bool // one of the attributes does not exist: what is looked up is null
}

// unless makes n null if an attribute of the lookup is missing.
func (l *lookup) unless(n node) node {
	eval := n.eval
	n.eval = func(e *env, it *engine.Item) (any, error) {
		if l.missing {
			return nil, nil
		}
		return eval(e, it)
	}
	return n
}

// String is the formula as the class file has it, behind the name of its class.
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

// itemList turns a list into []*engine.Item when that is what it is made of.
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
	class *engine.Class // whose formula it is
	steps int
	check int // steps at which the context is looked at again
}

// step counts the work, and ends it when there is too much of it or nobody
// waits any more.
func (e *env) step() error {
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

// charge counts a text as the work that it makes for whoever takes it.
func (e *env) charge(v any) error {
	if s, ok := v.(string); ok {
		e.steps += len(s) / 16
	}
	return e.step()
}

func invalid(format string, args ...any) *engine.Error {
	return engine.Errorf(engine.Invalid, "formula", format, args...)
}

// findClass finds a class by its name, first in the namespace of c.
func findClass(c *engine.Class, name string, find func(string) (*engine.Class, error)) (*engine.Class, error) {
	if c != nil && c.Namespace != "" && !strings.Contains(name, "@") {
		if found, err := find(engine.FullName(name, c.Namespace)); err == nil {
			return found, nil
		}
	}
	return find(name)
}
