package script

import (
	"strings"

	"github.com/dop251/goja"
)

// How much of what is behind an error the log shows.
const (
	maxCauses = 4 // in a chain, and of an AggregateError
	maxThrown = 500
)

// causes adds what an Error gives as its cause, and what is in an
// AggregateError, with their places.
func (f *Failure) causes(v *vm, o *goja.Object, left int) {
	if left == 0 {
		return
	}
	if cause := o.Get("cause"); cause != nil && !goja.IsUndefined(cause) && o.ClassName() == "Error" {
		f.behind(v, "caused by: ", cause, left)
	}
	list, _ := o.Get("errors").(*goja.Object)
	if list == nil || list.ClassName() != "Array" || o.ClassName() != "Error" {
		return
	}
	for i := range min(maxCauses, int(list.Get("length").ToInteger())) {
		f.behind(v, "one of its errors: ", list.Get(v.host.index(i)), left)
	}
}

func (f *Failure) behind(v *vm, what string, thrown goja.Value, left int) {
	inner := &Failure{Message: thrown.String()}
	o, ok := thrown.(*goja.Object)
	if ok {
		inner.Message = v.thrownText(o)
		if stack := o.Get("stack"); stack != nil && goja.IsString(stack) {
			inner.locateText(v, stack.String())
		}
	}
	f.Stack = append(append(f.Stack, what+inner.Message), inner.Stack...)
	if f.File == "" {
		f.File, f.Line, f.Column = inner.File, inner.Line, inner.Column
	}
	if ok {
		f.causes(v, o, left-1)
	}
}

// thrownText is what the log shows of a thrown object.
func (v *vm) thrownText(o *goja.Object) string {
	text := o.String()
	if text != "[object Object]" {
		return text
	}
	if message := o.Get("message"); message != nil && goja.IsString(message) && message.String() != "" {
		return message.String()
	}
	text = strings.ToValidUTF8(v.host.helper("util", "inspect", o).String(), "\ufffd")
	if r := []rune(text); len(r) > maxThrown {
		text = string(r[:maxThrown]) + "…"
	}
	return text
}
