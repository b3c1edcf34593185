package access

import (
	"reflect"
	"strings"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/script/js"
)

// jsUser is the Go value behind a user object of a script.
type jsUser struct {
	js.Handle
	account *engine.Account
}

var jsUserType = reflect.TypeFor[*jsUser]()

// UserObject returns the value of req.user for the account a: an object, or null if a is nil. In services without
// authentication, a is the account anonymous.
func UserObject(h *js.Realm, a *engine.Account) goja.Value {
	if a == nil {
		return goja.Null()
	}
	carrier := h.JS.NewDynamicObject(&jsUser{account: a})
	o := h.JS.NewObject()
	methods := h.MethodsOf(o)
	_ = o.DefineDataPropertySymbol(h.Secret, carrier, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE)
	text := func(name, value string) {
		v := h.JS.ToValue(value)
		methods.Add(name, func(goja.FunctionCall) goja.Value { return v })
	}
	login, kind := a.ID, ""
	if i := strings.LastIndexByte(a.ID, '@'); i >= 0 {
		login, kind = a.ID[:i], a.ID[i+1:]
	}
	text("id", a.ID)
	text("login", login)
	text("type", kind)
	text("name", firstText(a.Name, a.ID))
	text("email", propertyText(a, "email"))
	text("language", propertyText(a, "language"))
	text("toString", a.ID)
	methods.Add("isDisabled", func(goja.FunctionCall) goja.Value { return h.JS.ToValue(false) })
	methods.Add("coactors", func(goja.FunctionCall) goja.Value {
		return h.FromDecoded(append(engine.Texts(a.Roles), engine.Texts(a.Coactors)...))
	})
	var properties goja.Value
	known := func() *goja.Object {
		if properties == nil {
			properties = h.FromDecoded(append(engine.Fields{}, a.Properties...))
		}
		return properties.(*goja.Object)
	}
	methods.Add("properties", func(goja.FunctionCall) goja.Value { return known() })
	methods.Add("setProperties", func(call goja.FunctionCall) goja.Value {
		if more, ok := call.Argument(0).(*goja.Object); ok {
			for _, name := range more.Keys() {
				h.Put(known(), name, more.Get(name))
			}
		}
		return goja.Undefined()
	})
	methods.Add("isMe", func(call goja.FunctionCall) goja.Value {
		sid, ok := call.Argument(0).Export().(string)
		return h.JS.ToValue(ok && a.Is(sid))
	})
	return o
}

// firstText returns the first text that is not empty.
func firstText(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// propertyText returns the property with the given name of an account. It returns "" if the value is not a string.
func propertyText(a *engine.Account, name string) string {
	v, _ := a.Properties.Get(name)
	text, _ := v.(string)
	return text
}

// accountOf returns the account of a user object such as req.user. It returns nil for any other value.
func accountOf(h *js.Realm, v goja.Value) *engine.Account {
	o, ok := v.(*goja.Object)
	if !ok {
		return nil
	}
	carrier, ok := o.GetSymbol(h.Secret).(*goja.Object)
	if !ok || carrier.ExportType() != jsUserType {
		return nil
	}
	return carrier.Export().(*jsUser).account
}
