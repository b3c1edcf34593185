package cryptojs

import (
	"errors"
	"reflect"

	"github.com/dop251/goja"

	"restsrv/engine/script/platform/webcrypto"
)

// Subtle returns the functions for the file subtle.js.
func Subtle(h Host) Natives {
	b := &binding{Host: h}
	return Natives{
		"run": b.runMethod,
		"prototype": func(call goja.FunctionCall) goja.Value {
			b.keyPrototype, _ = call.Argument(0).(*goja.Object)
			return goja.Undefined()
		},
		"type":        b.keyMember(func(k *cryptoKey) goja.Value { return b.JS().ToValue(k.key.Type()) }),
		"extractable": b.keyMember(func(k *cryptoKey) goja.Value { return b.JS().ToValue(k.key.Extractable()) }),
		"usages": b.keyMember(func(k *cryptoKey) goja.Value {
			if k.usages == nil {
				k.usages = b.convert(k.key.Usages())
			}
			return k.usages
		}),
		"algorithm": b.keyMember(func(k *cryptoKey) goja.Value {
			if k.algorithm == nil {
				k.algorithm = b.convert(k.key.Algorithm())
			}
			return k.algorithm
		}),
		"isKey":    func(call goja.FunctionCall) goja.Value { return b.JS().ToValue(findKey(call.Argument(0)) != nil) },
		"material": b.keyMember(func(k *cryptoKey) goja.Value { return b.newHandle(k.key.Material()) }),
	}
}

// cryptoKey is the Go value of a CryptoKey. It has no exported fields, so scripts see no properties of it.
type cryptoKey struct {
	key               *webcrypto.Key
	algorithm, usages goja.Value // cached, because they must be the same objects at each use
}

var cryptoKeyType = reflect.TypeFor[*cryptoKey]()

// findKey returns the Go value of a CryptoKey, or nil for any other value.
func findKey(v goja.Value) *cryptoKey {
	if o, ok := v.(*goja.Object); ok && o.ExportType() == cryptoKeyType {
		k, _ := o.Export().(*cryptoKey)
		return k
	}
	return nil
}

// keyMember returns a function that reads a member of its first argument, a CryptoKey.
func (b *binding) keyMember(read func(*cryptoKey) goja.Value) func(goja.FunctionCall) goja.Value {
	return func(call goja.FunctionCall) goja.Value {
		k := findKey(call.Argument(0))
		if k == nil {
			panic(b.NewError("TypeError", "ERR_INVALID_THIS", "Value of \"this\" must be of type CryptoKey"))
		}
		return read(k)
	}
}

// runMethod implements run(method, arguments). It returns the result of a method of SubtleCrypto, or a promise of it.
func (b *binding) runMethod(call goja.FunctionCall) goja.Value {
	name := call.Argument(0).String()
	list, _ := b.newValue(call.Argument(1)).List()
	job, err := webcrypto.Prepare(name, list)
	if err != nil {
		b.throw(err)
	}
	return b.runJob("crypto.subtle."+name, job)
}

// runJob runs a job and returns its result. If the job is heavy, the result is a promise.
func (b *binding) runJob(what string, job *webcrypto.Job) goja.Value {
	if !job.Heavy || !b.InRequest() {
		result, err := job.Run(&webcrypto.Meter{Expired: b.Expired})
		if err != nil {
			b.EndTurn()
			b.throw(err)
		}
		return b.convert(result)
	}
	return b.Compute(what, job.Bytes, func(expired func() error) func() goja.Value {
		result, err := job.Run(&webcrypto.Meter{Expired: expired})
		return func() goja.Value {
			if err != nil {
				b.throw(err)
			}
			return b.convert(result)
		}
	})
}

// throw throws an error of package webcrypto. Other errors become an OperationError.
func (b *binding) throw(err error) {
	panic(b.newError(err))
}

func (b *binding) newError(err error) *goja.Object {
	var e *webcrypto.Error
	if !errors.As(err, &e) {
		e = &webcrypto.Error{Name: "OperationError", Message: err.Error()}
	}
	return b.NewError(e.Name, e.Code, e.Message)
}

// convert returns a result of package webcrypto as a JavaScript value. It keeps bytes.
func (b *binding) convert(result any) goja.Value {
	switch v := result.(type) {
	case []byte:
		return b.ArrayBuffer(v)
	case []string:
		list := make([]any, len(v))
		for i, s := range v {
			list[i] = s
		}
		return b.JS().NewArray(list...)
	case *webcrypto.Key:
		o := b.JS().ToValue(&cryptoKey{key: v}).(*goja.Object)
		_ = o.SetPrototype(b.keyPrototype)
		return o
	case *webcrypto.KeyPair:
		o := b.JS().NewObject()
		_ = o.Set("publicKey", b.convert(v.Public))
		_ = o.Set("privateKey", b.convert(v.Private))
		return o
	case []webcrypto.Member:
		o := b.JS().NewObject()
		for _, m := range v {
			value := b.convert(m.Value)
			if m.Name == "publicExponent" {
				value = b.newUint8Array(value)
			}
			_ = o.Set(m.Name, value)
		}
		return o
	}
	return b.JS().ToValue(result)
}

// newUint8Array returns a view of an ArrayBuffer.
func (b *binding) newUint8Array(buffer goja.Value) goja.Value {
	o, err := b.JS().New(b.JS().GlobalObject().Get("Uint8Array"), buffer)
	if err != nil {
		panic(err)
	}
	return o
}

// value implements webcrypto.Value.
type value struct {
	b *binding
	v goja.Value
}

var _ webcrypto.Value = value{}

func (b *binding) newValue(v goja.Value) value { return value{b, v} }

// IsUndefined implements webcrypto.Value.
func (v value) IsUndefined() bool { return v.v == nil || goja.IsUndefined(v.v) }

// IsObject implements webcrypto.Value.
func (v value) IsObject() bool {
	_, ok := v.v.(*goja.Object)
	return ok
}

// Get implements webcrypto.Value.
func (v value) Get(name string) webcrypto.Value {
	return value{v.b, v.v.(*goja.Object).Get(name)}
}

// String implements webcrypto.Value.
func (v value) String() string { return v.v.String() }

// Number implements webcrypto.Value.
func (v value) Number() float64 { return v.v.ToFloat() }

// Bool implements webcrypto.Value.
func (v value) Bool() bool { return v.v.ToBoolean() }

// Bytes implements webcrypto.Value.
func (v value) Bytes() ([]byte, bool) { return v.b.Bytes(v.v) }

// Key implements webcrypto.Value.
func (v value) Key() *webcrypto.Key {
	if k := findKey(v.v); k != nil {
		return k.key
	}
	return nil
}

// maxList is the maximum number of elements of a list in the arguments.
const maxList = 64

// List implements webcrypto.Value.
func (v value) List() ([]webcrypto.Value, bool) {
	o, ok := v.v.(*goja.Object)
	if !ok || o.GetSymbol(goja.SymIterator) == nil {
		return nil, false
	}
	var list []webcrypto.Value
	v.b.JS().ForOf(o, func(one goja.Value) bool {
		list = append(list, value{v.b, one})
		return len(list) < maxList
	})
	return list, true
}
