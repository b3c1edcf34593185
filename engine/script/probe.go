package script

import (
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"
)

// While developing, a module tells its variables to a probe when it has run, and
// what a request changes of them is reported: each VM has variables of its own,
// and a reload loses them. Without -watch nothing of this is compiled.

// declared is a variable of a module.
type declared struct {
	name         string
	line, column int
}

// maxDeclared is how many variables of a file are looked at.
const maxDeclared = 200

// addProbe has the module hand the values of its variables to its sixth
// argument, as its last statement: one that returns before is not watched. Our
// names begin with two underscores, as those of the compiler do.
func (s *source) addProbe(prg *ast.Program) error {
	if !s.probed || strings.Contains("/"+s.file, "/node_modules/") {
		return nil
	}
	body := wrapperBody(prg)
	if body == nil {
		return nil
	}
	var all []declared
	for _, d := range moduleVariables(body.List) {
		if len(all) == maxDeclared {
			break
		}
		if name := string(d.Name); !strings.HasPrefix(name, "__") {
			p := prg.File.Position(int(d.Idx) - 1)
			line, column := s.place(p.Line, p.Column)
			all = append(all, declared{name, line, column})
		}
	}
	var names strings.Builder
	for _, d := range all {
		names.WriteString(d.name + ",")
	}
	probe, err := parser.ParseFile(nil, preludeFile, "(function(){arguments[5](()=>["+names.String()+"module.exports])})", 0, parser.WithDisableSourceMaps)
	if err != nil {
		return err
	}
	s.declared = append(all, declared{name: "module.exports", line: 1})
	body.List = append(body.List, wrapperBody(probe).List...)
	return nil
}

// wrapperBody is the body of the function that a program is.
func wrapperBody(prg *ast.Program) *ast.BlockStatement {
	if len(prg.Body) != 1 {
		return nil
	}
	statement, _ := prg.Body[0].(*ast.ExpressionStatement)
	if statement == nil {
		return nil
	}
	if f, ok := statement.Expression.(*ast.FunctionLiteral); ok {
		return f.Body
	}
	return nil
}

// moduleVariables are the names that statements declare, but for those of what
// is required.
func moduleVariables(list []ast.Statement) (names []*ast.Identifier) {
	bindings := func(list []*ast.Binding) {
		for _, b := range list {
			if !requires(b.Initializer) {
				names = append(names, bound(b.Target)...)
			}
		}
	}
	for _, statement := range list {
		switch d := statement.(type) {
		case *ast.VariableStatement:
			bindings(d.List)
		case *ast.LexicalDeclaration:
			bindings(d.List)
		case *ast.FunctionDeclaration:
			names = append(names, d.Function.Name)
		case *ast.ClassDeclaration:
			names = append(names, d.Class.Name)
		}
	}
	return names
}

// bound are the names of a target, also of a pattern.
func bound(target ast.Expression) (names []*ast.Identifier) {
	switch t := target.(type) {
	case *ast.Identifier:
		return []*ast.Identifier{t}
	case *ast.AssignExpression: // a default
		return bound(t.Left)
	case *ast.ArrayPattern:
		for _, e := range append(t.Elements[:len(t.Elements):len(t.Elements)], t.Rest) {
			names = append(names, bound(e)...)
		}
	case *ast.ObjectPattern:
		for _, p := range t.Properties {
			switch p := p.(type) {
			case *ast.PropertyShort:
				names = append(names, &p.Name)
			case *ast.PropertyKeyed:
				names = append(names, bound(p.Value)...)
			}
		}
		names = append(names, bound(t.Rest)...)
	}
	return names
}

// requires reports whether a value is another module: require("x"), also within
// the helpers of the compiler.
func requires(e ast.Expression) bool {
	call, ok := e.(*ast.CallExpression)
	if !ok {
		return false
	}
	name, ok := call.Callee.(*ast.Identifier)
	if !ok {
		return false
	}
	if name.Name == "require" {
		return true
	}
	return strings.HasPrefix(string(name.Name), "__") && len(call.ArgumentList) > 0 && requires(call.ArgumentList[0])
}

// probe is what a module hands its variables to; nothing while it is not
// watched, or a file of tests.
func (h *host) probe(src *source) goja.Value {
	g := h.v.gen
	if src.declared == nil || g.tests != nil || g.options["isolation"] == exclusive {
		return h.native("probe", func(goja.FunctionCall) goja.Value { return goja.Undefined() })
	}
	return h.native("probe", func(call goja.FunctionCall) goja.Value {
		if h.watched == nil {
			h.watched = h.newWatcher()
		}
		index := h.js.ToValue(len(h.probed))
		h.probed = append(h.probed, src)
		add, _ := goja.AssertFunction(h.watched.Get("add"))
		_, err := add(goja.Undefined(), index, call.Argument(0))
		must(err)
		return goja.Undefined()
	})
}
