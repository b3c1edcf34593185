package script

import (
	"math/big"
	"reflect"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
)

// rewriteExpressions calls replace for every expression in v, starting with the
// innermost, and stores its result in place of the expression. If replace
// returns nil, the expression stays.
func rewriteExpressions(v reflect.Value, replace func(ast.Expression) ast.Expression) {
	r := rewriter{replace, map[any]bool{}}
	r.walk(v)
}

type rewriter struct {
	replace func(ast.Expression) ast.Expression
	seen    map[any]bool
}

func (w *rewriter) walk(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			return
		}
		w.walk(v.Elem())
		if e, ok := v.Interface().(ast.Expression); ok && v.CanSet() {
			if changed := w.replace(e); changed != nil {
				v.Set(reflect.ValueOf(changed))
			}
		}
	case reflect.Pointer:
		if v.IsNil() || v.Type() == reflect.TypeFor[*file.File]() || v.Type() == reflect.TypeFor[*big.Int]() || w.seen[v.Interface()] {
			return
		}
		w.seen[v.Interface()] = true
		w.walk(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			w.walk(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			w.walk(v.Index(i))
		}
	}
}
