package access

import (
	"context"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/script/js"
	"restsrv/engine/script/vm"
)

// AclProvider returns the JavaScript object AclProvider, with which a service checks permissions on resources that it
// defines itself. It has the method checkAccess. If access implements engine.Policy, it also has getPermissions. It
// cannot grant permissions.
func (h *Binding) AclProvider(access engine.Access) goja.Value {
	o := h.JS.NewObject()
	p := &jsAccess{h: h, access: access}
	h.Method(o, "checkAccess", h.AsyncFunction("aclProvider.checkAccess", p.checkAccess))
	if policy, ok := access.(engine.Policy); ok {
		p.policy = policy
		h.Method(o, "getPermissions", h.AsyncFunction("aclProvider.getPermissions", p.getPermissions))
	}
	return o
}

// jsAccess implements the methods of AclProvider.
type jsAccess struct {
	h      *Binding
	access engine.Access
	policy engine.Policy // nil if access does not implement engine.Policy
}

// checkAccess implements checkAccess(user, resource, permissions). The result is true if the user has one of the
// permissions on the resource or on all resources. user must be an object such as req.user: the roles of an account
// cannot be derived from its id alone.
func (p *jsAccess) checkAccess(call goja.FunctionCall) (vm.Operation, error) {
	account := accountOf(p.h.Realm, call.Argument(0))
	if account == nil {
		return vm.Operation{}, engine.Errorf(engine.Invalid, "argument", "checkAccess takes the user of a request such as req.user, found %s", js.DescribeValue(call.Argument(0)))
	}
	resource, ok := call.Argument(1).Export().(string)
	if !ok || resource == "" {
		return vm.Operation{}, engine.Errorf(engine.Invalid, "argument", "checkAccess takes the name of a resource such as c:::class@namespace, found %s", js.DescribeValue(call.Argument(1)))
	}
	names, err := p.h.textList("checkAccess", call.Argument(2))
	if err != nil {
		return vm.Operation{}, err
	}
	var wanted []engine.Permission
	for _, name := range names {
		one, known := engine.ParsePermission(name)
		if !known {
			return vm.Operation{}, engine.Errorf(engine.Invalid, "permission", "there is no permission %s", engine.Quote(name))
		}
		wanted = append(wanted, one)
	}
	return vm.Operation{Do: func(ctx context.Context) (func() goja.Value, error) {
		may := false
		for _, one := range wanted {
			var err error
			if may, err = p.access.Check(ctx, account, resource, one); err != nil || may {
				return func() goja.Value { return p.h.JS.ToValue(may) }, err
			}
		}
		return func() goja.Value { return p.h.JS.ToValue(may) }, nil
	}}, nil
}

// textList converts a string or an array of strings. The parameter what is the name of the method for error messages.
func (h *Binding) textList(what string, v goja.Value) ([]string, error) {
	decoded, err := h.ToDecoded(v)
	if err != nil {
		return nil, err
	}
	list, ok := decoded.([]any)
	if !ok {
		list = []any{decoded}
	}
	names := make([]string, len(list))
	for i, e := range list {
		if names[i], ok = e.(string); !ok {
			return nil, engine.Errorf(engine.Invalid, "argument", "%s takes text or an array of texts, found %s", what, js.DescribeValue(v))
		}
	}
	return names, nil
}

// getPermissions implements getPermissions(subjects, resources, skipGlobals). It returns an object that maps each
// resource to the permissions that any of the subjects has on it. A subject is the name of an account or role, or a
// user object, which stands for its account and its roles. Unless skipGlobals is true, the result includes
// permissions on all resources and permissions that everyone has.
func (p *jsAccess) getPermissions(call goja.FunctionCall) (vm.Operation, error) {
	subjects, err := p.readSubjects(call.Argument(0))
	if err != nil {
		return vm.Operation{}, err
	}
	resources, err := p.h.textList("getPermissions", call.Argument(1))
	if err != nil {
		return vm.Operation{}, err
	}
	skip := call.Argument(2).ToBoolean()
	return vm.Operation{Do: func(ctx context.Context) (func() goja.Value, error) {
		grants, err := p.policy.Grants(ctx)
		if err != nil {
			return nil, err
		}
		if !skip {
			subjects = append(subjects, engine.Everyone)
		}
		all := engine.Fields{}
		for _, resource := range resources {
			held := grants.On(resource, subjects...)
			if !skip {
				held |= grants.On(engine.Everything, subjects...)
			}
			if held != 0 {
				all = append(all, engine.Field{Name: resource, Value: held.Fields()})
			}
		}
		return func() goja.Value { return p.h.FromDecoded(all) }, nil
	}}, nil
}

// readSubjects converts a subject or an array of subjects to names; see getPermissions.
func (p *jsAccess) readSubjects(v goja.Value) ([]string, error) {
	var list []goja.Value
	if o, ok := v.(*goja.Object); ok && o.ClassName() == "Array" {
		for i := range int(o.Get("length").ToInteger()) {
			list = append(list, o.Get(p.h.IndexText(i)))
		}
	} else {
		list = []goja.Value{v}
	}
	var all []string
	for _, e := range list {
		if a := accountOf(p.h.Realm, e); a != nil {
			subjects := a.Subjects()
			all = append(all, subjects[:len(subjects)-1]...) // the last one is engine.Everyone
			continue
		}
		names, err := p.h.textList("getPermissions", e)
		if err != nil {
			return nil, err
		}
		all = append(all, names...)
	}
	return all, nil
}
