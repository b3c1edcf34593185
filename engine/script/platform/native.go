package platform

import (
	"fmt"

	"github.com/dop251/goja"
)

// newFunction returns a JavaScript function with the given name that calls f. If f returns nil, the result is
// undefined.
func (p *Platform) newFunction(name string, f func(goja.FunctionCall) goja.Value) *goja.Object {
	o := p.js.ToValue(func(call goja.FunctionCall) goja.Value {
		if v := f(call); v != nil {
			return v
		}
		return goja.Undefined()
	}).(*goja.Object)
	_ = o.DefineDataProperty("name", p.js.ToValue(name), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	return o
}

// natives are the Go functions that a built-in module written in JavaScript receives, by name.
type natives map[string]func(goja.FunctionCall) goja.Value

func (p *Platform) newNatives(all natives) *goja.Object {
	o := p.js.NewObject()
	for name, f := range all {
		_ = o.Set(name, p.newFunction(name, f))
	}
	return o
}

// fail throws an error of the built-in class with the given name. If code is not "", it is the property code of the
// error.
func (p *Platform) fail(class, code, format string, args ...any) {
	panic(p.newError(class, code, format, args...))
}

func (p *Platform) newError(class, code, format string, args ...any) *goja.Object {
	o, err := p.js.New(p.js.GlobalObject().Get(class), p.js.ToValue(fmt.Sprintf(format, args...)))
	must(err)
	if code != "" {
		_ = o.Set("code", code)
	}
	return o
}

// exportedGlobal returns the builder of a global whose value is an export of a built-in module.
func exportedGlobal(module, name string) builder {
	return func(p *Platform) goja.Value { return p.Module(module).(*goja.Object).Get(name) }
}

// textArgument returns argument i converted to a string; undefined becomes "".
func textArgument(call goja.FunctionCall, i int) string {
	if v := call.Argument(i); !goja.IsUndefined(v) {
		return v.String()
	}
	return ""
}

// allocate returns n bytes. It throws if one call may not allocate so many; see checkSize.
func (p *Platform) allocate(n int64, what string) []byte {
	p.checkSize(n, what)
	return make([]byte, n)
}

// checkSize throws if n bytes are more than one call of a built-in function may allocate (Settings.Text). The
// parameter what is the beginning of the error message.
func (p *Platform) checkSize(n int64, what string) {
	if limit := p.limit(); n < 0 || n > limit {
		p.fail("RangeError", "ERR_OUT_OF_RANGE", "%s: %d bytes are more than the %d that one call may take", what, n, limit)
	}
}

const defaultText = 64 << 20

func (p *Platform) limit() int64 {
	if n := p.host.Settings().Text; n > 0 {
		return int64(n)
	}
	return defaultText
}

// bytesOf returns the bytes of an ArrayBuffer, a typed array or a DataView. The slice shares its memory with the
// script. It returns false for any other value.
func (p *Platform) bytesOf(v goja.Value) ([]byte, bool) {
	o, ok := v.(*goja.Object)
	if !ok {
		return nil, false
	}
	if o.ExportType() == bufferType {
		b, ok := o.Export().(goja.ArrayBuffer)
		return b.Bytes(), ok
	}
	buffer, ok := o.Get("buffer").(*goja.Object)
	if !ok || buffer.ExportType() != bufferType {
		return nil, false
	}
	b, ok := buffer.Export().(goja.ArrayBuffer)
	all := b.Bytes()
	start, n := o.Get("byteOffset"), o.Get("byteLength")
	if !ok || start == nil || n == nil {
		return nil, false
	}
	from, to := start.ToInteger(), start.ToInteger()+n.ToInteger()
	if from < 0 || to < from || to > int64(len(all)) {
		return nil, false
	}
	return all[from:to], true
}

// needBytes returns the bytes of v like bytesOf. It throws if v has no bytes. The parameter what is the name of the
// function for the error message.
func (p *Platform) needBytes(v goja.Value, what string) []byte {
	b, ok := p.bytesOf(v)
	if !ok {
		p.fail("TypeError", "ERR_INVALID_ARG_TYPE", "%s: expected bytes (a Buffer, a typed array, a DataView or an ArrayBuffer)", what)
	}
	return b
}

// arrayBuffer returns a JavaScript ArrayBuffer with b as its memory. The caller must not use b afterwards. From the
// ArrayBuffer, a script can reach the built-ins ArrayBuffer and typed arrays. So arrayBuffer also installs the
// guards for them (see package sandbox).
func (p *Platform) arrayBuffer(b []byte) goja.Value {
	p.host.Provide("ArrayBuffer")
	return p.js.ToValue(p.js.NewArrayBuffer(b))
}
