package script

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"github.com/dop251/goja"

	"restsrv/engine"
)

// realm is the JavaScript side of one VM: the goja runtime, the built-in functions that Go code calls, and the limits
// for values. It may be used only inside a turn of the VM.
type realm struct {
	js         *goja.Runtime
	limits     *Limits
	expired    func() error                             // returns why the current turn must end, or nil
	compile    func(text string) (*goja.Program, error) // compiles source text of restsrv, with a cache
	itemObject func(*engine.Item) goja.Value            // returns the object of an item
	listObject func([]*engine.Item) goja.Value          // returns the array of items

	secret   *goja.Symbol // key of the Go values that are attached to objects
	errorNew goja.Constructor
	dateNew  goja.Constructor
	thenFn   goja.Callable // Promise.prototype.then
	resolve  goja.Callable // Promise.resolve
	promise  goja.Value
	indexes  []string // array indexes as strings
}

// newRealm returns a realm for a new runtime.
func newRealm(limits *Limits, expired func() error, compile func(text string) (*goja.Program, error)) *realm {
	return &realm{js: goja.New(), limits: limits, expired: expired, compile: compile, secret: goja.NewSymbol("restsrv")}
}

// findBuiltins looks the built-in functions up. It must be called in the first turn, before any script runs.
func (h *realm) findBuiltins() {
	h.errorNew, _ = goja.AssertConstructor(h.js.Get("Error"))
	h.dateNew, _ = goja.AssertConstructor(h.js.Get("Date"))
	h.promise = h.js.Get("Promise")
	promise := h.promise.(*goja.Object)
	h.resolve, _ = goja.AssertFunction(promise.Get("resolve"))
	h.thenFn, _ = goja.AssertFunction(promise.Get("prototype").(*goja.Object).Get("then"))
}

// program compiles source text of restsrv.
func (h *realm) program(text string) *goja.Program {
	program, err := h.compile(text)
	must(err)
	return program
}

// runPrelude runs source text of restsrv and returns its value.
func (h *realm) runPrelude(text string) goja.Value {
	v, err := h.js.RunProgram(h.program(text))
	must(err)
	return v
}

// settled returns a promise that is resolved with v.
func (h *realm) settled(v goja.Value) goja.Value {
	p, resolve, _ := h.js.NewPromise()
	must(resolve(v))
	return h.js.ToValue(p)
}

// newFunction returns a JavaScript function with the given name.
func (h *realm) newFunction(name string, f func(goja.FunctionCall) goja.Value) *goja.Object {
	o := h.js.ToValue(f).(*goja.Object)
	_ = o.DefineDataProperty("name", h.js.ToValue(name), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	return o
}

// method adds a function as a property that is not enumerable.
func (h *realm) method(o *goja.Object, name string, f func(goja.FunctionCall) goja.Value) {
	_ = o.DefineDataProperty(name, h.newFunction(name, f), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
}

// handle attaches a Go value to an object. Scripts cannot read the value.
type handle struct{ value any }

// Get returns nil, because a handle has no properties. The other methods behave accordingly.
func (handle) Get(string) goja.Value       { return nil }
func (handle) Set(string, goja.Value) bool { return false }
func (handle) Has(string) bool             { return false }
func (handle) Delete(string) bool          { return true }
func (handle) Keys() []string              { return nil }

// attachError attaches a Go error to an object.
func (h *realm) attachError(o *goja.Object, err error) {
	carrier := h.js.NewDynamicObject(&handle{err})
	_ = o.DefineDataPropertySymbol(h.secret, carrier, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE)
}

// attachedError returns the Go error that is attached to an object, or nil.
func (h *realm) attachedError(o *goja.Object) error {
	carrier, ok := o.GetSymbol(h.secret).(*goja.Object)
	if !ok {
		return nil
	}
	if c, ok := carrier.Export().(*handle); ok {
		err, _ := c.value.(error)
		return err
	}
	return nil
}

// newError returns a JavaScript Error. If code is not nil, it is set as the property code.
func (h *realm) newError(message string, code any) *goja.Object {
	o, err := h.errorNew(nil, h.js.ToValue(message))
	if err != nil {
		return h.js.NewTypeError(message)
	}
	if code != nil {
		_ = o.Set("code", code)
	}
	return o
}

var promiseType = reflect.TypeFor[*goja.Promise]()

// promiseOf returns v as a promise. It returns false if v is not a promise.
func promiseOf(v goja.Value) (*goja.Promise, bool) {
	o, ok := v.(*goja.Object)
	if !ok || o.ExportType() != promiseType {
		return nil, false
	}
	p, ok := o.Export().(*goja.Promise)
	return p, ok
}

// adoptThenable converts an object with a method named then to a promise. It returns false if v is not such an
// object.
func (h *realm) adoptThenable(v goja.Value) (*goja.Promise, bool, error) {
	o, ok := v.(*goja.Object)
	if !ok {
		return nil, false, nil
	}
	then, err := h.getProperty(o, "then")
	if err != nil {
		return nil, false, err
	}
	if _, callable := goja.AssertFunction(then); !callable {
		return nil, false, nil
	}
	ret, err := h.resolve(h.promise, o)
	if err != nil {
		return nil, false, err
	}
	p, ok := promiseOf(ret)
	return p, ok, nil
}

// then calls one of the functions when p settles. It returns only errors that scripts cannot catch.
func (h *realm) then(p *goja.Promise, fulfilled, rejected func(goja.Value)) error {
	callback := func(f func(goja.Value)) goja.Value {
		return h.js.ToValue(func(call goja.FunctionCall) goja.Value {
			f(call.Argument(0))
			return goja.Undefined()
		})
	}
	_, err := h.thenFn(h.js.ToValue(p), callback(fulfilled), callback(rejected))
	return err
}

func textArgument(call goja.FunctionCall, i int) string {
	s, _ := call.Argument(i).Export().(string)
	return s
}

// must panics with an error that scripts cannot catch. It is used in callbacks of the engine.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// rethrow returns the value for panic with which goja throws err again.
func rethrow(err error) any {
	var ex *goja.Exception
	if errors.As(err, &ex) {
		return ex
	}
	return err
}

// getProperty reads a property that may have a getter.
func (h *realm) getProperty(o *goja.Object, name string) (v goja.Value, err error) {
	if ex := h.js.Try(func() { v = o.Get(name) }); ex != nil {
		return nil, ex
	}
	if v == nil {
		v = goja.Undefined()
	}
	return v, nil
}

// rangeError returns the RangeError that guards throw.
func (h *realm) rangeError(format string, args ...any) *goja.Object {
	o, err := h.js.New(h.js.Get("RangeError"), h.js.ToValue(fmt.Sprintf(format, args...)))
	must(err)
	return o
}

func (h *realm) prototypeOf(name string) *goja.Object {
	return h.js.Get(name).(*goja.Object).Get("prototype").(*goja.Object)
}

// tooMuch throws if n exceeds the limit.
func (h *realm) tooMuch(n float64, limit int, what string) {
	if n > float64(limit) {
		panic(h.rangeError("%s: more than %d at once", what, limit))
	}
}

func textLength(v goja.Value) int {
	if s, ok := v.(goja.String); ok {
		return s.Length()
	}
	return 64 // the text of any other value is short or is built by a loop
}

// tooLong throws if an array-like value has more elements than a built-in may process. Holes count as elements.
func (h *realm) tooLong(v goja.Value, what string) {
	switch v := v.(type) {
	case *goja.Object:
		if n := v.Get("length"); n != nil {
			h.tooMuch(n.ToFloat(), h.limits.Elements, what)
		}
	case goja.String:
		h.tooMuch(float64(v.Length()), h.limits.Elements, what)
	}
}

// thrownValue returns the value that a script threw, or an Error with the text of
// err.
func (h *realm) thrownValue(err error) goja.Value {
	var ex *goja.Exception
	if errors.As(err, &ex) {
		return ex.Value()
	}
	return h.newError(err.Error(), nil)
}

// indexText returns an array index as a string. It keeps the strings of small indexes.
func (h *realm) indexText(i int) string {
	if i >= 1024 {
		return strconv.Itoa(i)
	}
	for n := len(h.indexes); n <= i; n++ {
		h.indexes = append(h.indexes, strconv.Itoa(n))
	}
	return h.indexes[i]
}

// put sets an own property, even if the name is "__proto__".
func (h *realm) put(o *goja.Object, name string, v goja.Value) {
	if name == "__proto__" {
		_ = o.DefineDataProperty(name, v, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE)
		return
	}
	_ = o.Set(name, v)
}

var arrayBufferType = reflect.TypeFor[goja.ArrayBuffer]()

// bytesOf returns the bytes of an ArrayBuffer or a typed array. They are shared
// with the script.
func bytesOf(o *goja.Object) ([]byte, bool) {
	t := o.ExportType()
	if t == arrayBufferType {
		b, ok := o.Export().(goja.ArrayBuffer)
		return b.Bytes(), ok
	}
	if t == nil || t.Kind() != reflect.Slice || t.Elem().Kind() == reflect.Interface {
		return nil, false
	}
	buffer, ok := o.Get("buffer").(*goja.Object)
	if !ok || buffer.ExportType() != arrayBufferType {
		return nil, false
	}
	b, ok := buffer.Export().(goja.ArrayBuffer)
	start, n := o.Get("byteOffset").ToInteger(), o.Get("byteLength").ToInteger()
	if !ok || start < 0 || n < 0 || start+n > int64(len(b.Bytes())) {
		return nil, false
	}
	return b.Bytes()[start : start+n], true
}

// overlay contains the properties that a script adds to an object of the
// server.
type overlay struct {
	names  []string
	values map[string]goja.Value
}

func (o *overlay) set(name string, v goja.Value) {
	if v == nil {
		v = goja.Undefined()
	}
	if o.values == nil {
		o.values = map[string]goja.Value{}
	}
	if _, ok := o.values[name]; !ok {
		o.names = append(o.names, name)
	}
	o.values[name] = v
}

func (o *overlay) remove(name string) {
	if _, ok := o.values[name]; !ok {
		return
	}
	delete(o.values, name)
	for i, n := range o.names {
		if n == name {
			o.names = append(o.names[:i:i], o.names[i+1:]...)
			return
		}
	}
}

// objectOf returns an options argument, or nil if it is not an object.
func objectOf(v goja.Value) *goja.Object {
	o, _ := v.(*goja.Object)
	return o
}

// optionOf returns a member of options, or nil if it is undefined or null.
func optionOf(o *goja.Object, name string) goja.Value {
	if o == nil {
		return nil
	}
	v := o.Get(name)
	if v == nil || goja.IsUndefined(v) || goja.IsNull(v) {
		return nil
	}
	return v
}

// nativeOf returns the Go value behind an object, or nil if the object is one of JavaScript.
func nativeOf(o *goja.Object) any {
	if t := o.ExportType(); t == nil || t.Kind() != reflect.Pointer {
		return nil
	}
	return o.Export()
}

// decodable is implemented by Go values behind objects that stand for other values: the id of an item, or a file.
type decodable interface {
	Decoded() any // returns nil if the object must be converted like any other
}

// storedObject is implemented by the Go values behind items and arrays of items. Their JSON is that of responses.
type storedObject interface{ Stored() }

// isStored reports whether an object is an item or an array of items.
func isStored(o *goja.Object) bool {
	_, ok := nativeOf(o).(storedObject)
	return ok
}
