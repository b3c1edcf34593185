package js

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/script/limits"
)

// Realm is the JavaScript side of one VM: the goja runtime, the built-in JavaScript functions that Go code calls, and
// the limits for values. It may be used only inside a turn of the VM (see package vm).
type Realm struct {
	JS     *goja.Runtime
	Limits *limits.Limits
	Items  Items // converts items; set by package data
	owner  Owner

	Secret   *goja.Symbol // symbol under which Go values are attached to objects; scripts cannot obtain it
	errorNew goja.Constructor
	DateNew  goja.Constructor
	ThenFn   goja.Callable // Promise.prototype.then
	Resolve  goja.Callable // Promise.resolve
	Promise  goja.Value
	indexes  []string // array indexes as strings
}

// Owner is the part of the VM that its Realm uses.
type Owner interface {
	// Expired returns the reason why the current turn must end, or nil.
	Expired() error
	// Compile compiles JavaScript source text that is part of restsrv. It should cache the program.
	Compile(text string) (*goja.Program, error)
}

// Items converts items of repositories to JavaScript.
type Items interface {
	// ItemObject returns the object of an item.
	ItemObject(*engine.Item) goja.Value
	// ListObject returns the array of items.
	ListObject([]*engine.Item) goja.Value
}

// New returns a realm with a new goja runtime.
func New(limits *limits.Limits, owner Owner) *Realm {
	return &Realm{JS: goja.New(), Limits: limits, owner: owner, Secret: goja.NewSymbol("restsrv")}
}

// FindBuiltins stores the built-in Error, Date and Promise of the runtime. It must be called in the first turn,
// before scripts can replace them.
func (h *Realm) FindBuiltins() {
	h.errorNew, _ = goja.AssertConstructor(h.JS.Get("Error"))
	h.DateNew, _ = goja.AssertConstructor(h.JS.Get("Date"))
	h.Promise = h.JS.Get("Promise")
	promise := h.Promise.(*goja.Object)
	h.Resolve, _ = goja.AssertFunction(promise.Get("resolve"))
	h.ThenFn, _ = goja.AssertFunction(promise.Get("prototype").(*goja.Object).Get("then"))
}

// Program compiles JavaScript source text that is part of restsrv, such as a helper function. The owner caches the
// program.
func (h *Realm) Program(text string) *goja.Program {
	program, err := h.owner.Compile(text)
	Must(err)
	return program
}

// RunPrelude runs JavaScript source text that is part of restsrv and returns its value.
func (h *Realm) RunPrelude(text string) goja.Value {
	v, err := h.JS.RunProgram(h.Program(text))
	Must(err)
	return v
}

// Settled returns a promise that is resolved with v.
func (h *Realm) Settled(v goja.Value) goja.Value {
	p, resolve, _ := h.JS.NewPromise()
	Must(resolve(v))
	return h.JS.ToValue(p)
}

// NewFunction returns a JavaScript function with the given name.
func (h *Realm) NewFunction(name string, f func(goja.FunctionCall) goja.Value) *goja.Object {
	o := h.JS.ToValue(f).(*goja.Object)
	_ = o.DefineDataProperty("name", h.JS.ToValue(name), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	return o
}

// Method adds a function as a property that is not enumerable.
func (h *Realm) Method(o *goja.Object, name string, f func(goja.FunctionCall) goja.Value) {
	_ = o.DefineDataProperty(name, h.NewFunction(name, f), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
}

// Handle is a Go value that is attached to a JavaScript object. Scripts cannot read it.
type Handle struct{ value any }

// Get implements goja.DynamicObject. It returns nil, because a Handle has no properties.
func (Handle) Get(string) goja.Value { return nil }

// Set implements goja.DynamicObject.
func (Handle) Set(string, goja.Value) bool { return false }

// Has implements goja.DynamicObject.
func (Handle) Has(string) bool { return false }

// Delete implements goja.DynamicObject.
func (Handle) Delete(string) bool { return true }

// Keys implements goja.DynamicObject.
func (Handle) Keys() []string { return nil }

// AttachError attaches a Go error to the JavaScript object o, so that AttachedError finds the error after a script
// has thrown o.
func (h *Realm) AttachError(o *goja.Object, err error) {
	carrier := h.JS.NewDynamicObject(&Handle{err})
	_ = o.DefineDataPropertySymbol(h.Secret, carrier, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE)
}

// AttachedError returns the Go error that is attached to an object, or nil.
func (h *Realm) AttachedError(o *goja.Object) error {
	carrier, ok := o.GetSymbol(h.Secret).(*goja.Object)
	if !ok {
		return nil
	}
	if c, ok := carrier.Export().(*Handle); ok {
		err, _ := c.value.(error)
		return err
	}
	return nil
}

// NewError returns a JavaScript Error. If code is not nil, it is set as the property code.
func (h *Realm) NewError(message string, code any) *goja.Object {
	o, err := h.errorNew(nil, h.JS.ToValue(message))
	if err != nil {
		return h.JS.NewTypeError(message)
	}
	if code != nil {
		_ = o.Set("code", code)
	}
	return o
}

var promiseType = reflect.TypeFor[*goja.Promise]()

// PromiseOf returns v as a promise. It returns false if v is not a promise.
func PromiseOf(v goja.Value) (*goja.Promise, bool) {
	o, ok := v.(*goja.Object)
	if !ok || o.ExportType() != promiseType {
		return nil, false
	}
	p, ok := o.Export().(*goja.Promise)
	return p, ok
}

// AdoptThenable converts a thenable (an object with a method named then) to a promise. It returns false if v is not a
// thenable.
func (h *Realm) AdoptThenable(v goja.Value) (*goja.Promise, bool, error) {
	o, ok := v.(*goja.Object)
	if !ok {
		return nil, false, nil
	}
	then, err := h.GetProperty(o, "then")
	if err != nil {
		return nil, false, err
	}
	if _, callable := goja.AssertFunction(then); !callable {
		return nil, false, nil
	}
	ret, err := h.Resolve(h.Promise, o)
	if err != nil {
		return nil, false, err
	}
	p, ok := PromiseOf(ret)
	return p, ok, nil
}

// Then calls fulfilled or rejected when p settles. It returns only errors that scripts cannot catch.
func (h *Realm) Then(p *goja.Promise, fulfilled, rejected func(goja.Value)) error {
	callback := func(f func(goja.Value)) goja.Value {
		return h.JS.ToValue(func(call goja.FunctionCall) goja.Value {
			f(call.Argument(0))
			return goja.Undefined()
		})
	}
	_, err := h.ThenFn(h.JS.ToValue(p), callback(fulfilled), callback(rejected))
	return err
}

// TextArgument returns argument i if it is a string. Otherwise it returns "".
func TextArgument(call goja.FunctionCall, i int) string {
	s, _ := call.Argument(i).Export().(string)
	return s
}

// Must panics if err is not nil. It is used in functions that goja calls, for errors that scripts cannot catch.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}

// Rethrow returns a panic value for a Go function that got err from goja. If the function panics with it, the calling
// script sees the original exception.
func Rethrow(err error) any {
	var ex *goja.Exception
	if errors.As(err, &ex) {
		return ex
	}
	return err
}

// GetProperty reads a property. If its getter throws, GetProperty returns the exception as an error instead of a
// panic.
func (h *Realm) GetProperty(o *goja.Object, name string) (v goja.Value, err error) {
	if ex := h.JS.Try(func() { v = o.Get(name) }); ex != nil {
		return nil, ex
	}
	if v == nil {
		v = goja.Undefined()
	}
	return v, nil
}

// RangeError returns a JavaScript RangeError with a formatted message.
func (h *Realm) RangeError(format string, args ...any) *goja.Object {
	o, err := h.JS.New(h.JS.Get("RangeError"), h.JS.ToValue(fmt.Sprintf(format, args...)))
	Must(err)
	return o
}

// PrototypeOf returns the prototype of a built-in class.
func (h *Realm) PrototypeOf(name string) *goja.Object {
	return h.JS.Get(name).(*goja.Object).Get("prototype").(*goja.Object)
}

// TooMuch throws a RangeError if n exceeds the limit. The parameter what is the beginning of the message.
func (h *Realm) TooMuch(n float64, limit int, what string) {
	if n > float64(limit) {
		panic(h.RangeError("%s: more than %d at once", what, limit))
	}
}

// TextLength returns the length of a string in UTF-16 units. For other values it returns an estimate.
func TextLength(v goja.Value) int {
	if s, ok := v.(goja.String); ok {
		return s.Length()
	}
	return 64 // the text of any other value is short, or a loop of the script makes it long
}

// TooLong throws if v, an array or string, has more elements than a built-in function may process. The parameter what
// is the beginning of the message. Holes count as elements.
func (h *Realm) TooLong(v goja.Value, what string) {
	switch v := v.(type) {
	case *goja.Object:
		if n := v.Get("length"); n != nil {
			h.TooMuch(n.ToFloat(), h.Limits.Elements, what)
		}
	case goja.String:
		h.TooMuch(float64(v.Length()), h.Limits.Elements, what)
	}
}

// ThrownValue returns the value that a script threw if err is a JavaScript exception. Otherwise it returns a new
// Error with the text of err.
func (h *Realm) ThrownValue(err error) goja.Value {
	var ex *goja.Exception
	if errors.As(err, &ex) {
		return ex.Value()
	}
	return h.NewError(err.Error(), nil)
}

// IndexText returns the array index i as a string. It caches the strings of indexes below 1024.
func (h *Realm) IndexText(i int) string {
	if i >= 1024 {
		return strconv.Itoa(i)
	}
	for n := len(h.indexes); n <= i; n++ {
		h.indexes = append(h.indexes, strconv.Itoa(n))
	}
	return h.indexes[i]
}

// Put sets a property of the object o itself. If the name is "__proto__", an assignment would change the prototype
// instead.
func (h *Realm) Put(o *goja.Object, name string, v goja.Value) {
	if name == "__proto__" {
		_ = o.DefineDataProperty(name, v, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE)
		return
	}
	_ = o.Set(name, v)
}

// ArrayBufferType is the ExportType of an ArrayBuffer.
var ArrayBufferType = reflect.TypeFor[goja.ArrayBuffer]()

// BytesOf returns the bytes of an ArrayBuffer or a typed array. The slice shares its memory with the script. It
// returns false if o is neither.
func BytesOf(o *goja.Object) ([]byte, bool) {
	t := o.ExportType()
	if t == ArrayBufferType {
		b, ok := o.Export().(goja.ArrayBuffer)
		return b.Bytes(), ok
	}
	if t == nil || t.Kind() != reflect.Slice || t.Elem().Kind() == reflect.Interface {
		return nil, false
	}
	buffer, ok := o.Get("buffer").(*goja.Object)
	if !ok || buffer.ExportType() != ArrayBufferType {
		return nil, false
	}
	b, ok := buffer.Export().(goja.ArrayBuffer)
	start, n := o.Get("byteOffset").ToInteger(), o.Get("byteLength").ToInteger()
	if !ok || start < 0 || n < 0 || start+n > int64(len(b.Bytes())) {
		return nil, false
	}
	return b.Bytes()[start : start+n], true
}

// Overlay contains the properties that a script has added to an object. The object is backed by a Go value, which has
// the other properties.
type Overlay struct {
	Names  []string
	Values map[string]goja.Value
}

// Set adds or replaces a property.
func (o *Overlay) Set(name string, v goja.Value) {
	if v == nil {
		v = goja.Undefined()
	}
	if o.Values == nil {
		o.Values = map[string]goja.Value{}
	}
	if _, ok := o.Values[name]; !ok {
		o.Names = append(o.Names, name)
	}
	o.Values[name] = v
}

// Remove removes a property if it exists.
func (o *Overlay) Remove(name string) {
	if _, ok := o.Values[name]; !ok {
		return
	}
	delete(o.Values, name)
	for i, n := range o.Names {
		if n == name {
			o.Names = append(o.Names[:i:i], o.Names[i+1:]...)
			return
		}
	}
}

// ObjectOf returns v as an object, or nil if v is not an object. It is used for optional arguments with options.
func ObjectOf(v goja.Value) *goja.Object {
	o, _ := v.(*goja.Object)
	return o
}

// OptionOf returns the member of o with the given name, or nil if it is undefined or null. o may be nil.
func OptionOf(o *goja.Object, name string) goja.Value {
	if o == nil {
		return nil
	}
	v := o.Get(name)
	if v == nil || goja.IsUndefined(v) || goja.IsNull(v) {
		return nil
	}
	return v
}

// nativeOf returns the Go value that backs o, or nil if o is an ordinary JavaScript object.
func nativeOf(o *goja.Object) any {
	if t := o.ExportType(); t == nil || t.Kind() != reflect.Pointer {
		return nil
	}
	return o.Export()
}

// decodable is implemented by Go values behind objects that are converted as a whole. An item is converted to its id,
// for example.
type decodable interface {
	Decoded() any // returns nil if the object must be converted like any other
}

// storedObject is implemented by the Go values behind items and arrays of items, which have the same JSON as in
// responses.
type storedObject interface{ Stored() }

// IsStored reports whether an object is an item or an array of items.
func IsStored(o *goja.Object) bool {
	_, ok := nativeOf(o).(storedObject)
	return ok
}
