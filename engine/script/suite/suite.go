package suite

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/script/exchange"
	"restsrv/engine/script/vm"
	"restsrv/engine/service"
)

// Host is the server that tests run against.
type Host interface {
	// Request sends a request through the whole server, like an HTTP client.
	Request(ctx context.Context, r Request) (*Response, error)
	// AddAccount creates an account with roles and permissions. grants maps resources to permissions, for example
	// "c:::note@sample" to "read write".
	AddAccount(ctx context.Context, id string, roles []string, grants map[string]string) error
}

// Request is a request that a test sends.
type Request struct {
	Method, Path string
	Header       http.Header
	Body         []byte
	Account      string // account that sends the request, without a password; "" for an anonymous request
}

// Response is the response to a Request.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Suite contains the tests of one file. The tests share a VM. Call Run for one test after the other, in the order of
// Tests.
type Suite struct {
	service *vm.Service
	close   func()
	tests   []*TestCase
	diff    [2]string // actual and expected value of the assertion that failed in the running test, if known
	host    Host
}

// TestCase is one test, or the after hooks of a group of tests.
type TestCase struct {
	Names   []string // names of the groups that contain the test, then its own name
	Mode    string   // only, skip or todo; "after" if it is the after hooks of a group; "" for other tests
	Timeout time.Duration
	groups  []int // numbers of the groups that contain the test, outermost first
}

// Name returns the names of the groups and of the test, separated by " > ".
func (c *TestCase) Name() string { return strings.Join(c.Names, " > ") }

// Within reports whether c, the after hooks of a group, belongs to test: the group contains the test.
func (c *TestCase) Within(test *TestCase) bool {
	return len(c.groups) <= len(test.groups) && slices.Equal(c.groups, test.groups[:len(c.groups)])
}

// TestFailure describes why a test failed. Actual and Expected are empty if no assertion has failed.
type TestFailure struct {
	*vm.Failure
	Excerpt          string // source lines of the failure
	Actual, Expected string // the compared values of an assertion, as text
}

// New returns a suite for a file that has not been loaded yet.
func New(host Host) *Suite { return &Suite{host: host} }

// Loaded must be called when the file has been loaded as a service. Close will call closeFile.
func (s *Suite) Loaded(service *vm.Service, closeFile func()) {
	s.service, s.close = service, closeFile
}

// DefaultTestTimeout is the time limit of a test if the test does not set one.
const DefaultTestTimeout = 5 * time.Second

// Tests returns the tests and hooks in the order of the file.
func (s *Suite) Tests() []*TestCase { return s.tests }

// Close ends the service of the suite. Call it when all tests have run.
func (s *Suite) Close() { s.close() }

// Run runs the test Tests()[i] on behalf of account. It returns nil if the test passed.
func (s *Suite) Run(ctx context.Context, i int, account *engine.Account) *TestFailure {
	limit := s.tests[i].Timeout
	if limit <= 0 {
		limit = DefaultTestTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s.diff = [2]string{}
	r := &service.Request{ID: "test", Service: s.service.Name, Method: http.MethodPost, Path: "/", Header: http.Header{}, Account: account}
	_, err := s.service.Run(ctx, r, &exchange.Job{
		Function: testFunction, Handler: exchange.HandlerOf(i),
		Argument: func(*vm.Call) goja.Value { return goja.Undefined() },
		Result:   func(*vm.Call, goja.Value) vm.Outcome { return vm.Outcome{} },
		Failure:  func(f *vm.Failure) error { return f },
	})
	if err == nil {
		return nil
	}
	if failed, ok := err.(*vm.Failure); ok {
		f := &TestFailure{Failure: failed, Actual: s.diff[0], Expected: s.diff[1]}
		f.Excerpt = s.service.ExcerptOf(failed)
		return f
	}
	text := err.Error()
	if engine.CodeOf(err) == engine.Timeout {
		text = fmt.Sprintf("it did not end within %v", limit)
	}
	return &TestFailure{Failure: &vm.Failure{Message: text, Cause: err}}
}

// testFunction is the value of vm.Route.Method for a test. For other routes, this field contains the HTTP method.
const testFunction = "test"
