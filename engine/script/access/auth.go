package access

import (
	"context"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/script/js"
	"restsrv/engine/script/vm"
	"restsrv/engine/service"
)

// Binding provides the components for accounts and permissions: auth, wsAuth and AclProvider.
type Binding struct{ *vm.VM }

// New returns the binding of a VM.
func New(v *vm.VM) *Binding { return &Binding{v} }

// requestOf returns the call that a req object belongs to. It throws if v is not a req object.
func (h *Binding) requestOf(v goja.Value) *vm.Call {
	c := vm.CallOf(v)
	if c == nil {
		panic(h.JS.NewTypeError("this method must be called on the request"))
	}
	return c
}

// NewAuth returns the JavaScript object auth. Its methods return the account of a request, register accounts, check
// passwords and return profiles. Other methods that IONDV has throw an error, because accounts are managed with
// commands of restsrv.
func (h *Binding) NewAuth(accounts service.Accounts) goja.Value {
	o := h.JS.NewObject()
	a := &jsAccounts{h, accounts}
	h.Method(o, "getUser", func(call goja.FunctionCall) goja.Value {
		return UserObject(h.Realm, h.requestOf(call.Argument(0)).Req.Account)
	})
	h.withCallback(o, "auth", "register", 1, a.register)
	h.Method(o, "signIn", h.AsyncFunction("auth.signIn", a.signIn))
	profile := h.AsyncFunction("auth.userProfile", a.profile)
	h.Method(o, "userProfile", func(call goja.FunctionCall) goja.Value {
		p := profile(call)
		f, ok := goja.AssertFunction(call.Argument(1))
		if !ok {
			return p
		}
		tell := func(v goja.Value) { h.callBack(f, v) }
		js.Must(h.Then(p.Export().(*goja.Promise), tell, func(goja.Value) { tell(goja.Null()) }))
		return goja.Undefined()
	})
	h.Refuse(h.MethodsOf(o), "auth", "accounts are managed by restsrv user", "forceUser", "userSearch", "disableUser", "enableUser", "exclude", "on")
	return o
}

// withCallback adds a method to o. The method returns a promise. Node style is supported too: if argument n of a call
// is a function, the method returns undefined, and calls the function with (error) or (null, value) later. In error
// messages, the method is called object.name.
func (h *Binding) withCallback(o *goja.Object, object, name string, n int, prepare func(goja.FunctionCall) (vm.Operation, error)) {
	run := h.AsyncFunction(object+"."+name, prepare)
	h.Method(o, name, func(call goja.FunctionCall) goja.Value {
		p := run(call)
		f, ok := goja.AssertFunction(call.Argument(n))
		if !ok {
			return p
		}
		js.Must(h.Then(p.Export().(*goja.Promise),
			func(v goja.Value) { h.callBack(f, goja.Null(), v) },
			func(reason goja.Value) { h.callBack(f, reason) }))
		return goja.Undefined()
	})
}

// callBack calls a function of the script. If the function throws, the error is logged as an unhandled rejection.
func (h *Binding) callBack(f goja.Callable, args ...goja.Value) {
	if _, err := f(goja.Undefined(), args...); err != nil {
		panic(js.Rethrow(err))
	}
}

// jsAccounts implements the methods of auth and wsAuth.
type jsAccounts struct {
	h        *Binding
	accounts service.Accounts
}

// register implements register({name, pwd, id, type, email, properties}). It creates an account <id>@<type> without
// roles. If id is missing, it is the name or the email; if type is missing, it is local. register never replaces an
// existing account.
func (a *jsAccounts) register(call goja.FunctionCall) (vm.Operation, error) {
	decoded, err := a.h.ToDecoded(call.Argument(0))
	if err != nil {
		return vm.Operation{}, err
	}
	data, ok := decoded.(engine.Fields)
	if !ok {
		return vm.Operation{}, engine.Errorf(engine.Invalid, "argument", "auth.register takes an object such as {name, pwd}, found %s", js.DescribeValue(call.Argument(0)))
	}
	text := func(name string) string {
		v, _ := data.Get(name)
		s, isText := v.(string)
		if v != nil && !isText && err == nil {
			err = engine.Errorf(engine.Invalid, "argument", "auth.register: %s is text", name)
		}
		return s
	}
	id := firstText(text("id"), text("name"), text("email"))
	r := service.Registration{ID: id + "@" + firstText(text("type"), "local"), Name: firstText(text("name"), id), Password: text("pwd")}
	if properties, _ := data.Get("properties"); properties != nil {
		if r.Properties, ok = properties.(engine.Fields); !ok {
			return vm.Operation{}, engine.Errorf(engine.Invalid, "argument", "auth.register: properties is an object")
		}
	}
	for _, name := range []string{"email", "language"} {
		if t := text(name); t != "" {
			r.Properties = append(r.Properties, engine.Field{Name: name, Value: t})
		}
	}
	return vm.Operation{Writes: true, Do: func(ctx context.Context) (func() goja.Value, error) {
		made, err := a.accounts.Register(ctx, r)
		return func() goja.Value { return UserObject(a.h.Realm, made) }, err
	}}, err
}

// signIn implements signIn(user, password, type). It returns the account if the password is correct, otherwise null.
// It does not start a session, and the account of the request does not change.
func (a *jsAccounts) signIn(call goja.FunctionCall) (vm.Operation, error) {
	c := engine.Credentials{User: js.TextArgument(call, 0), Password: js.TextArgument(call, 1), Type: firstText(js.TextArgument(call, 2), "local")}
	return a.checkCredentials(engine.AuthPwd, c), nil
}

// checkCredentials returns an operation that authenticates the credentials. The result of the operation is the
// account, or null if the credentials are not valid.
func (a *jsAccounts) checkCredentials(mode engine.AuthMode, c engine.Credentials) vm.Operation {
	return vm.Operation{Do: func(ctx context.Context) (func() goja.Value, error) {
		proven, err := a.accounts.Authenticate(ctx, mode, c)
		if code := engine.CodeOf(err); err != nil && (code == engine.Unauthenticated || code == engine.Forbidden) {
			return goja.Null, nil
		}
		return func() goja.Value { return UserObject(a.h.Realm, proven) }, err
	}}
}

// profile implements userProfile(name). It returns the account with this name, or null if it does not exist.
func (a *jsAccounts) profile(call goja.FunctionCall) (vm.Operation, error) {
	id := call.Argument(0).String()
	return vm.Operation{Do: func(ctx context.Context) (func() goja.Value, error) {
		found, err := a.accounts.Profile(ctx, id)
		if err != nil && engine.CodeOf(err) == engine.NotFound {
			return goja.Null, nil
		}
		return func() goja.Value { return UserObject(a.h.Realm, found) }, err
	}}, nil
}

// ServiceAuth returns the JavaScript object wsAuth with the methods authenticate, generateToken and
// checkToken.
func (h *Binding) ServiceAuth(accounts service.Accounts) goja.Value {
	o := h.JS.NewObject()
	a := &jsAccounts{h, accounts}
	h.Method(o, "authenticate", h.AsyncFunction("wsAuth.authenticate", a.authenticate))
	h.Method(o, "generateToken", h.AsyncFunction("wsAuth.generateToken", a.generateToken))
	h.Method(o, "checkToken", h.AsyncFunction("wsAuth.checkToken", func(call goja.FunctionCall) (vm.Operation, error) {
		return a.checkCredentials(engine.AuthToken, engine.Credentials{Token: js.TextArgument(call, 0)}), nil
	}))
	return o
}

// authenticate implements authenticate({user, pwd, type}) and authenticate({token}). It returns the authenticated
// account, or null. If the type is missing and the user name has no @type, the type is system.
func (a *jsAccounts) authenticate(call goja.FunctionCall) (vm.Operation, error) {
	o, ok := call.Argument(0).(*goja.Object)
	if !ok {
		return vm.Operation{}, engine.Errorf(engine.Invalid, "argument", "wsAuth.authenticate takes {user, pwd, type} or {token}, found %s", js.DescribeValue(call.Argument(0)))
	}
	text := func(name string) string {
		v := o.Get(name)
		if v == nil || !goja.IsString(v) {
			return ""
		}
		return v.String()
	}
	if token := text("token"); token != "" {
		return a.checkCredentials(engine.AuthToken, engine.Credentials{Token: token}), nil
	}
	return a.checkCredentials(engine.AuthPwd, engine.Credentials{User: text("user"), Password: text("pwd"), Type: firstText(text("type"), "system")}), nil
}

// generateToken implements generateToken(login, type). It issues a token for the account <login>@<type>. If type is
// missing, it is local.
func (a *jsAccounts) generateToken(call goja.FunctionCall) (vm.Operation, error) {
	id := js.TextArgument(call, 0) + "@" + firstText(js.TextArgument(call, 1), "local")
	c, audit := a.h.Call, a.h.Service.Env.Audit
	return vm.Operation{Writes: true, Do: func(ctx context.Context) (func() goja.Value, error) {
		secret, t, err := a.accounts.Issue(ctx, id, "", 0)
		if err != nil {
			return nil, err
		}
		if audit != nil {
			audit.Audit(ctx, engine.Event{Kind: engine.TokenIssued, Account: accountName(ctx), Caller: engine.CallerFrom(ctx), Service: c.Req.Service,
				Details: engine.Fields{{Name: "token", Value: t.ID}, {Name: "account", Value: id}, {Name: "expires", Value: engine.InstantOf(t.Expires)}}})
		}
		return func() goja.Value { return a.h.JS.ToValue(secret) }, nil
	}}, nil
}

// accountName returns the name of the account in ctx, or "" if ctx has no account.
func accountName(ctx context.Context) string {
	if a := engine.AccountFrom(ctx); a != nil {
		return a.ID
	}
	return ""
}
