package module

import (
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"
)

// In development mode (-watch), each module gets a probe: code at its end that gives restsrv access to the variables
// of the module. If a request changes one of the variables, restsrv logs a warning, because each VM has its own
// variables and a reload loses them. Otherwise modules have no probe.

// Declared is a variable that a module declares at its top level.
type Declared struct {
	Name         string
	Line, Column int
}

// maxDeclared is the maximum number of variables per file that a probe covers.
const maxDeclared = 200

// addProbe appends a probe to the module. The probe passes a function to the sixth argument of the module wrapper;
// the function returns the current values of the variables. If the module returns before its end, its variables are
// not watched. addProbe skips names that begin with two underscores, because these belong to restsrv or to the
// compiler.
func (s *Source) addProbe(prg *ast.Program) error {
	if !s.probed || strings.Contains("/"+s.File, "/node_modules/") {
		return nil
	}
	body := wrapperBody(prg)
	if body == nil {
		return nil
	}
	var all []Declared
	for _, d := range moduleVariables(body.List) {
		if len(all) == maxDeclared {
			break
		}
		if name := string(d.Name); !strings.HasPrefix(name, "__") {
			p := prg.File.Position(int(d.Idx) - 1)
			line, column := s.convertPosition(p.Line, p.Column)
			all = append(all, Declared{name, line, column})
		}
	}
	var names strings.Builder
	for _, d := range all {
		names.WriteString(d.Name + ",")
	}
	probe, err := parser.ParseFile(nil, preludeFile, "(function(){arguments[5](()=>["+names.String()+"module.exports])})", 0, parser.WithDisableSourceMaps)
	if err != nil {
		return err
	}
	s.Declared = append(all, Declared{Name: "module.exports", Line: 1})
	body.List = append(body.List, wrapperBody(probe).List...)
	return nil
}

// wrapperFunction returns the module wrapper: the single function expression in a program. It returns nil if the program
// has another form.
func wrapperFunction(prg *ast.Program) *ast.FunctionLiteral {
	if len(prg.Body) != 1 {
		return nil
	}
	statement, _ := prg.Body[0].(*ast.ExpressionStatement)
	if statement == nil {
		return nil
	}
	f, _ := statement.Expression.(*ast.FunctionLiteral)
	return f
}

// wrapperBody returns the body of the module wrapper, or nil if there is none.
func wrapperBody(prg *ast.Program) *ast.BlockStatement {
	if f := wrapperFunction(prg); f != nil {
		return f.Body
	}
	return nil
}

// moduleVariables returns the names that the statements declare. It leaves out variables that hold a required module.
func moduleVariables(list []ast.Statement) (names []*ast.Identifier) {
	bindings := func(list []*ast.Binding) {
		for _, b := range list {
			if !isRequireCall(b.Initializer) {
				names = append(names, boundNames(b.Target)...)
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

// boundNames returns the names that a declaration introduces. target is a name or a pattern such as {a, b}.
func boundNames(target ast.Expression) (names []*ast.Identifier) {
	switch t := target.(type) {
	case *ast.Identifier:
		return []*ast.Identifier{t}
	case *ast.AssignExpression: // a default value
		return boundNames(t.Left)
	case *ast.ArrayPattern:
		for _, e := range append(t.Elements[:len(t.Elements):len(t.Elements)], t.Rest) {
			names = append(names, boundNames(e)...)
		}
	case *ast.ObjectPattern:
		for _, p := range t.Properties {
			switch p := p.(type) {
			case *ast.PropertyShort:
				names = append(names, &p.Name)
			case *ast.PropertyKeyed:
				names = append(names, boundNames(p.Value)...)
			}
		}
		names = append(names, boundNames(t.Rest)...)
	}
	return names
}

// isRequireCall reports whether e is a required module: require("x"), possibly as the argument of a helper function
// of the compiler.
func isRequireCall(e ast.Expression) bool {
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
	return strings.HasPrefix(string(name.Name), "__") && len(call.ArgumentList) > 0 && isRequireCall(call.ArgumentList[0])
}
