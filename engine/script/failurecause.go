package script

import (
	"github.com/dop251/goja"

	"restsrv/engine"
)

// Limits of the causes in the log.
const (
	maxCauses = 4 // in a chain, and in an AggregateError
	maxThrown = 500
)

// addCauses adds the cause of an Error and the errors of an AggregateError, with their positions.
func (f *Failure) addCauses(v *vm, o *goja.Object, left int) {
	if left == 0 || len(f.Stack) > 2*maxFrames {
		return
	}
	if cause := o.Get("cause"); cause != nil && !goja.IsUndefined(cause) && o.ClassName() == "Error" {
		f.addCause(v, "caused by: ", cause, left)
	}
	list, _ := o.Get("errors").(*goja.Object)
	if list == nil || list.ClassName() != "Array" || o.ClassName() != "Error" {
		return
	}
	for i := range min(maxCauses, int(list.Get("length").ToInteger())) {
		f.addCause(v, "one of its errors: ", list.Get(v.indexText(i)), left)
	}
}

func (f *Failure) addCause(v *vm, what string, thrown goja.Value, left int) {
	inner := &Failure{Message: engine.Cut(thrown.String(), maxThrown)}
	o, ok := thrown.(*goja.Object)
	if ok {
		inner.Message = engine.Cut(v.thrownText(o), maxThrown)
		if stack := o.Get("stack"); stack != nil && goja.IsString(stack) {
			inner.locateText(v, stack.String())
		}
	}
	f.Stack = append(append(f.Stack, what+inner.Message), inner.Stack...)
	if f.File == "" {
		f.File, f.Line, f.Column = inner.File, inner.Line, inner.Column
	}
	if ok {
		f.addCauses(v, o, left-1)
	}
}

// thrownText returns the text of a thrown object for the log.
func (v *vm) thrownText(o *goja.Object) string {
	text := o.String()
	if text != "[object Object]" {
		return text
	}
	if message := o.Get("message"); message != nil && goja.IsString(message) && message.String() != "" {
		return message.String()
	}
	return engine.Cut(v.callModule("util", "inspect", o).String(), maxThrown)
}
