package suite

import (
	"context"
	_ "embed" // for testing.js
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/script/js"
	"restsrv/engine/script/platform"
	"restsrv/engine/script/vm"
	"restsrv/engine/wire"
)

//go:embed testing.js
var testingSource string

// testGlobals are the additional globals of test files.
var testGlobals = []string{"test", "it", "describe", "before", "after", "beforeEach", "afterEach", "request", "asAccount", "addAccount"}

// Binding adds the globals of test files, such as test and request, to a VM.
type Binding struct {
	*vm.VM
	suite   *Suite
	exports *goja.Object // exports of testing.js
	cases   []*TestCase  // in the order of VM.Routes
}

// NewBinding returns the binding for a VM that runs the tests of s.
func NewBinding(v *vm.VM, s *Suite) *Binding { return &Binding{VM: v, suite: s} }

// AddGlobals adds the globals of test files to own. This map holds a function for the name of each global; the function
// returns its value.
func (h *Binding) AddGlobals(own map[string]func() goja.Value) {
	h.exports = h.newExports()
	for _, name := range testGlobals {
		own[name] = func() goja.Value { return h.exports.Get(name) }
	}
	if platform.HasModule("assert") {
		own["assert"] = func() goja.Value { return h.EnsurePlatform().Module("assert") }
	}
}

func (h *Binding) newExports() *goja.Object {
	make, _ := goja.AssertFunction(h.RunPrelude(testingSource))
	exports, err := make(goja.Undefined(), h.NewFunction("register", h.registerTest),
		h.NewFunction("request", h.AsyncFunction("request", h.testRequest)), h.NewFunction("addAccount", h.AsyncFunction("addAccount", h.testAccount)),
		h.NewFunction("differ", func(call goja.FunctionCall) goja.Value {
			h.suite.diff = [2]string{call.Argument(0).String(), call.Argument(1).String()}
			return goja.Undefined()
		}))
	js.Must(err)
	return exports.(*goja.Object)
}

// registerTest implements register(names, mode, timeout, groups, run), which testing.js calls for each test and hook.
func (h *Binding) registerTest(call goja.FunctionCall) goja.Value {
	if h.Load == nil {
		panic(h.NewError("tests are registered while the file is loaded, not later", nil))
	}
	t := &TestCase{Mode: call.Argument(1).String(), Timeout: time.Duration(call.Argument(2).ToFloat() * float64(time.Millisecond))}
	js.Must(h.JS.ExportTo(call.Argument(0), &t.Names))
	js.Must(h.JS.ExportTo(call.Argument(3), &t.groups))
	run, _ := goja.AssertFunction(call.Argument(4))
	h.cases = append(h.cases, t)
	key := fmt.Sprintf("/%d", len(h.Routes))
	h.Routes = append(h.Routes, vm.Route{Method: testFunction, Path: key, Key: key, Handler: run, This: goja.Undefined()})
	return goja.Undefined()
}

// RegisterTests is called when a VM has run the file of tests. The tests of the first VM become the tests of the
// suite. Later VMs run the same content, so they register the same tests.
func (h *Binding) RegisterTests() error {
	end, _ := goja.AssertFunction(h.exports.Get("end"))
	if _, err := end(goja.Undefined()); err != nil {
		return err
	}
	if len(h.cases) == 0 {
		return errors.New("the file has no test: write test('name', async () => { ... })")
	}
	if h.suite.tests == nil {
		h.suite.tests = h.cases
	}
	return nil
}

// testRequest implements send(method, path, headers, body, account, auth), with which testing.js sends a request.
func (h *Binding) testRequest(call goja.FunctionCall) (vm.Operation, error) {
	r := Request{Method: call.Argument(0).String(), Path: call.Argument(1).String(), Header: http.Header{}}
	headers := call.Argument(2).(*goja.Object)
	for _, name := range headers.Keys() {
		r.Header.Set(name, headers.Get(name).String())
	}
	switch body := call.Argument(3).(type) {
	case *goja.Object:
		b, ok := js.BytesOf(body)
		if !ok {
			return vm.Operation{}, engine.Errorf(engine.Invalid, "argument", "body is text or bytes; objects are sent by json or form")
		}
		r.Body = append([]byte{}, b...)
	default:
		if !goja.IsUndefined(body) && !goja.IsNull(body) {
			r.Body = []byte(body.String())
		}
	}
	if v := call.Argument(4); !goja.IsUndefined(v) && !goja.IsNull(v) {
		r.Account = v.String()
	}
	if v := call.Argument(5); !goja.IsUndefined(v) && !goja.IsNull(v) {
		r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(v.String())))
	}
	server := h.suite.host
	return vm.Operation{Do: func(ctx context.Context) (func() goja.Value, error) {
		answer, err := server.Request(ctx, r)
		if err != nil {
			return nil, err
		}
		return func() goja.Value { return h.testResponse(answer) }, nil
	}}, nil
}

func (h *Binding) testResponse(r *Response) goja.Value {
	o := h.JS.NewObject()
	headers := h.JS.NewObject()
	for _, name := range js.SortedNames(r.Header) {
		h.Put(headers, strings.ToLower(name), h.JS.ToValue(strings.Join(r.Header[name], ", ")))
	}
	h.Put(o, "status", h.JS.ToValue(r.Status))
	h.Put(o, "headers", headers)
	h.Put(o, "text", h.JS.ToValue(strings.ToValidUTF8(string(r.Body), "\ufffd")))
	json := goja.Undefined()
	if v, err := wire.Decode(r.Body); err == nil {
		json = h.FromJSON(v)
	}
	h.Put(o, "json", json)
	h.Put(o, "bytes", h.NewBytes(r.Body))
	return o
}

// testAccount implements addAccount(id, {roles, grant}), which creates an account for tests.
func (h *Binding) testAccount(call goja.FunctionCall) (vm.Operation, error) {
	id, ok := call.Argument(0).Export().(string)
	if !ok {
		return vm.Operation{}, engine.Errorf(engine.Invalid, "argument", "addAccount takes the name of an account, such as \"ann@local\"")
	}
	var roles []string
	grants := map[string]string{}
	o := js.ObjectOf(call.Argument(1))
	if v := js.OptionOf(o, "roles"); v != nil {
		if err := h.JS.ExportTo(v, &roles); err != nil {
			return vm.Operation{}, engine.Errorf(engine.Invalid, "argument", "roles is an array of names, found %s", js.DescribeValue(v))
		}
	}
	if v := js.OptionOf(o, "grant"); v != nil {
		if err := h.JS.ExportTo(v, &grants); err != nil {
			return vm.Operation{}, engine.Errorf(engine.Invalid, "argument", "grant has permissions by resource, such as {'c:::note@sample': 'read write'}, found %s", js.DescribeValue(v))
		}
	}
	server := h.suite.host
	return vm.Operation{Do: func(ctx context.Context) (func() goja.Value, error) {
		return goja.Undefined, server.AddAccount(ctx, id, roles, grants)
	}}, nil
}
