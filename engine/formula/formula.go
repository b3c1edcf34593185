// Package formula compiles the formulas of class files to values of type engine.Formula. Class files use formulas for
// calculated attributes, computed defaults, display strings and conditions.
//
// A formula is a call or a value. A call is written as JSON, {"fn": [arguments]}, or as text, fn(arguments). An
// argument is a call, a literal or a path. A path such as "$town.name" leads to an attribute. If it leads through a
// collection, its value is a list. If a path ends with @, such as "$town@", its value is the text that is displayed
// for the attribute.
//
// A formula reads only its item and the data that engine.FormulaData finds, so its value depends only on this input.
// Every formula terminates: it loops only over loaded data, and its depth, size and steps are limited.
package formula

import (
	"context"
	"strings"

	"restsrv/engine"
)

// Limits of a formula. They are far above the sizes of the formulas in existing class files.
const (
	maxDepth  = 32        // nested calls
	maxNodes  = 2000      // calls, paths and literals
	maxSource = 64 << 10  // bytes of a formula that is written as text
	maxNeeds  = 1000      // different paths that must be loaded
	maxPath   = 16        // attributes in a path
	maxSteps  = 5_000_000 // steps of one evaluation
	maxText   = 4 << 20   // bytes of a text that a function returns
)

// Compile compiles a formula for items of class c. source is decoded JSON (see engine.Fields) or text. Compile follows
// references to other classes, so all classes must have been initialized with Init. The error is Invalid. If a
// function or an attribute is unknown, the error contains the nearest known name.
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

// Notes lists the mistakes in a formula that CompileLenient has accepted.
type Notes struct {
	Missing []error  // errors about attributes and paths that do not exist, which count as null
	Skipped []string // texts that were skipped: surplus closing brackets, and text after the end of the formula
}

// CompileLenient compiles and checks a formula, like Compile and Check. It accepts the mistakes that IONDV accepts,
// and returns them as Notes. Do not use it for conditions that grant access: a missing attribute counts as null, and a
// null can make the condition true.
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
	return &program{class: b.class, source: written, node: n, needs: b.needs, lookups: b.lookups, inputs: b.inputs}, skipped, nil
}

// Check returns an error if a class that f names does not exist, or if the class does not have the attributes that f
// uses. It is not a part of Compile, which runs before all classes are known. find is engine.MetaRepository.Class. The
// error is Invalid.
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

// checkAttributes returns an error if class c does not have one of the attributes.
func (l *lookup) checkAttributes(c *engine.Class) error {
	for _, name := range l.attributes {
		if _, err := resolvePath(c, name); err != nil {
			return err
		}
	}
	return nil
}

// program is a compiled formula. It is immutable and can be used concurrently.
type program struct {
	class   *engine.Class
	source  any
	node    node
	needs   [][]*engine.Property
	lookups []*lookup
	inputs  inputSet
}

// lookup records that a formula uses a class by its name, as in get("order", ...), and which attributes of the class
// it uses.
type lookup struct {
	function, class string
	attributes      []string
	missing         bool // an attribute does not exist, so the value of the lookup is null
}

// nullIfMissing returns a node with the value null if an attribute of the lookup is missing, and otherwise the value
// of n.
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

// String returns the name of the class and the formula, as it is written in the class file.
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

// itemList converts a list to []*engine.Item if all its elements are items. If the list is empty, it is converted only
// if the parameter items is true.
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

// env is the state of one evaluation.
type env struct {
	ctx   context.Context
	data  engine.FormulaData
	class *engine.Class // the class to which the formula belongs
	steps int
	check int // number of steps at which countStep will check the context again
}

// countStep counts one step. It returns an error if the evaluation has taken too many steps, or if the context has
// ended.
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

// chargeValue counts the steps for a value that functions will read: one step, and for a text one more for every 16
// bytes.
func (e *env) chargeValue(v any) error {
	if s, ok := v.(string); ok {
		e.steps += len(s) / 16
	}
	return e.countStep()
}

func invalid(format string, args ...any) *engine.Error {
	return engine.Errorf(engine.Invalid, "formula", format, args...)
}

// findClass finds a class by its name, by calling find. If the name has no namespace, findClass first tries the
// namespace of c.
func findClass(c *engine.Class, name string, find func(string) (*engine.Class, error)) (*engine.Class, error) {
	if c != nil && c.Namespace != "" && !strings.Contains(name, "@") {
		if found, err := find(engine.FullName(name, c.Namespace)); err == nil {
			return found, nil
		}
	}
	return find(name)
}
