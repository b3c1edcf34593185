package script

import (
	"reflect"
	"strings"

	"github.com/dop251/goja"

	"restsrv/engine"
)

// jsUser is what methods of ours know an account by.
type jsUser struct {
	handle
	account *engine.Account
}

var jsUserType = reflect.TypeFor[*jsUser]()

// user makes req.user, null when there is no account at all. A service that
// asks for no credentials has the account anonymous.
func (h *host) user(a *engine.Account) goja.Value {
	if a == nil {
		return goja.Null()
	}
	carrier := h.js.NewDynamicObject(&jsUser{account: a})
	o := h.js.NewObject()
	_ = o.DefineDataPropertySymbol(h.secret, carrier, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE)
	text := func(name, value string) {
		v := h.js.ToValue(value)
		h.method(o, name, func(goja.FunctionCall) goja.Value { return v })
	}
	login, kind := a.ID, ""
	if i := strings.LastIndexByte(a.ID, '@'); i >= 0 {
		login, kind = a.ID[:i], a.ID[i+1:]
	}
	text("id", a.ID)
	text("login", login)
	text("type", kind)
	text("name", a.Name)
	text("toString", a.ID)
	h.method(o, "coactors", func(goja.FunctionCall) goja.Value {
		return h.fromDecoded(append(texts(a.Roles), texts(a.Coactors)...))
	})
	h.method(o, "properties", func(goja.FunctionCall) goja.Value {
		return h.fromDecoded(append(engine.Fields{}, a.Properties...))
	})
	h.method(o, "isMe", func(call goja.FunctionCall) goja.Value {
		sid, ok := call.Argument(0).Export().(string)
		return h.js.ToValue(ok && a.Is(sid))
	})
	return o
}

// auth makes the object auth: getUser(req) is the account that the request acts
// for. Signing in is the server's.
func (h *host) auth() goja.Value {
	o := h.js.NewObject()
	h.method(o, "getUser", func(call goja.FunctionCall) goja.Value {
		return h.user(h.requestOf(call.Argument(0)).req.Account)
	})
	return o
}

// accountOf is the account that an object of ours shows, nil for any other
// value.
func (h *host) accountOf(v goja.Value) *engine.Account {
	o, ok := v.(*goja.Object)
	if !ok {
		return nil
	}
	carrier, ok := o.GetSymbol(h.secret).(*goja.Object)
	if !ok || carrier.ExportType() != jsUserType {
		return nil
	}
	return carrier.Export().(*jsUser).account
}
