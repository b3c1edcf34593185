package script

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
	"restsrv/engine/script/platform"
	"restsrv/engine/wire"
)

//go:embed testing.js
var testingSource string

// testGlobals are the additional globals of test files.
var testGlobals = []string{"test", "it", "describe", "before", "after", "beforeEach", "afterEach", "request", "asAccount", "addAccount"}

// testBinding provides the globals of a file of tests.
type testBinding struct {
	*vm
	suite   *Suite
	exports *goja.Object // of testing.js
	cases   []*TestCase  // in the order of routes
}

func newTests(v *vm, s *Suite) *testBinding { return &testBinding{vm: v, suite: s} }

// addGlobals adds the globals for tests.
func (h *testBinding) addGlobals(own map[string]func() goja.Value) {
	h.exports = h.newExports()
	for _, name := range testGlobals {
		own[name] = func() goja.Value { return h.exports.Get(name) }
	}
	if platform.HasModule("assert") {
		own["assert"] = func() goja.Value { return h.ensurePlatform().Module("assert") }
	}
}

func (h *testBinding) newExports() *goja.Object {
	make, _ := goja.AssertFunction(h.runPrelude(testingSource))
	exports, err := make(goja.Undefined(), h.newFunction("register", h.registerTest),
		h.newFunction("request", h.asyncFunction("request", h.testRequest)), h.newFunction("addAccount", h.asyncFunction("addAccount", h.testAccount)),
		h.newFunction("differ", func(call goja.FunctionCall) goja.Value {
			h.suite.diff = [2]string{call.Argument(0).String(), call.Argument(1).String()}
			return goja.Undefined()
		}))
	must(err)
	return exports.(*goja.Object)
}

// registerTest implements register(names, mode, timeout, groups, run).
func (h *testBinding) registerTest(call goja.FunctionCall) goja.Value {
	if h.load == nil {
		panic(h.newError("tests are registered while the file is loaded, not later", nil))
	}
	t := &TestCase{Mode: call.Argument(1).String(), Timeout: time.Duration(call.Argument(2).ToFloat() * float64(time.Millisecond))}
	must(h.js.ExportTo(call.Argument(0), &t.Names))
	must(h.js.ExportTo(call.Argument(3), &t.groups))
	run, _ := goja.AssertFunction(call.Argument(4))
	h.cases = append(h.cases, t)
	key := fmt.Sprintf("/%d", len(h.routes))
	h.routes = append(h.routes, jsRoute{method: testFunction, path: key, key: key, handler: run, this: goja.Undefined()})
	return goja.Undefined()
}

// registerTests ends the registration of a file of tests. The tests come from
// the first VM. Later VMs run the same content, so they have the same tests.
func (h *testBinding) registerTests() error {
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

// testRequest implements send(method, path, headers, body, account, auth).
func (h *testBinding) testRequest(call goja.FunctionCall) (operation, error) {
	r := SuiteRequest{Method: call.Argument(0).String(), Path: call.Argument(1).String(), Header: http.Header{}}
	headers := call.Argument(2).(*goja.Object)
	for _, name := range headers.Keys() {
		r.Header.Set(name, headers.Get(name).String())
	}
	switch body := call.Argument(3).(type) {
	case *goja.Object:
		b, ok := bytesOf(body)
		if !ok {
			return operation{}, engine.Errorf(engine.Invalid, "argument", "body is text or bytes; objects are sent by json or form")
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
	return operation{do: func(ctx context.Context) (func() goja.Value, error) {
		answer, err := server.Request(ctx, r)
		if err != nil {
			return nil, err
		}
		return func() goja.Value { return h.testResponse(answer) }, nil
	}}, nil
}

func (h *testBinding) testResponse(r *SuiteResponse) goja.Value {
	o := h.js.NewObject()
	headers := h.js.NewObject()
	for _, name := range sortedNames(r.Header) {
		h.put(headers, strings.ToLower(name), h.js.ToValue(strings.Join(r.Header[name], ", ")))
	}
	h.put(o, "status", h.js.ToValue(r.Status))
	h.put(o, "headers", headers)
	h.put(o, "text", h.js.ToValue(strings.ToValidUTF8(string(r.Body), "\ufffd")))
	json := goja.Undefined()
	if v, err := wire.Decode(r.Body); err == nil {
		json = h.fromJSON(v)
	}
	h.put(o, "json", json)
	h.put(o, "bytes", h.newBytes(r.Body))
	return o
}

// testAccount implements addAccount(id, {roles, grant}).
func (h *testBinding) testAccount(call goja.FunctionCall) (operation, error) {
	id, ok := call.Argument(0).Export().(string)
	if !ok {
		return operation{}, engine.Errorf(engine.Invalid, "argument", "addAccount takes the name of an account, such as \"ann@local\"")
	}
	var roles []string
	grants := map[string]string{}
	o := objectOf(call.Argument(1))
	if v := optionOf(o, "roles"); v != nil {
		if err := h.js.ExportTo(v, &roles); err != nil {
			return operation{}, engine.Errorf(engine.Invalid, "argument", "roles is an array of names, found %s", describeValue(v))
		}
	}
	if v := optionOf(o, "grant"); v != nil {
		if err := h.js.ExportTo(v, &grants); err != nil {
			return operation{}, engine.Errorf(engine.Invalid, "argument", "grant has permissions by resource, such as {'c:::note@sample': 'read write'}, found %s", describeValue(v))
		}
	}
	server := h.suite.host
	return operation{do: func(ctx context.Context) (func() goja.Value, error) {
		return goja.Undefined, server.AddAccount(ctx, id, roles, grants)
	}}, nil
}
