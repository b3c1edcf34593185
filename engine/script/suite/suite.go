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
	// Request sends a request through the whole server.
	Request(ctx context.Context, r Request) (*Response, error)
	// AddAccount creates an account with roles and with grants, which map
	// resources to permissions, such as "c:::note@sample" to "read write".
	AddAccount(ctx context.Context, id string, roles []string, grants map[string]string) error
}

// Request is a request that a test sends.
type Request struct {
	Method, Path string
	Header       http.Header
	Body         []byte
	Account      string // account of the request, no password needed; "" if the request is anonymous
}

// Response is the response to a Request.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Suite contains the tests of one file. They share a VM and run one at a time. Use Run to run them in order.
type Suite struct {
	service *vm.Service
	close   func()
	tests   []*TestCase
	diff    [2]string // actual and expected value of a failed assertion in the running test, if known
	host    Host
}

// TestCase is one test, or the after hooks of a group.
type TestCase struct {
	Names   []string // names of its groups, and its own name
	Mode    string   // only, skip or todo; after for hooks; "" for other tests
	Timeout time.Duration
	groups  []int // its groups, outermost first
}

// Name returns the names as one text.
func (c *TestCase) Name() string { return strings.Join(c.Names, " > ") }

// Within reports whether hooks belong to a group that contains a test.
func (c *TestCase) Within(test *TestCase) bool {
	return len(c.groups) <= len(test.groups) && slices.Equal(c.groups, test.groups[:len(c.groups)])
}

// TestFailure describes why a test failed. Actual and Expected are empty if no assertion has failed.
type TestFailure struct {
	*vm.Failure
	Excerpt          string // source lines of the failure
	Actual, Expected string // the compared values of an assertion, as text
}

// New returns a suite for a file that is not loaded yet.
func New(host Host) *Suite { return &Suite{host: host} }

// Loaded connects the suite with its file. It must be called when the file is loaded. Close calls closeFile.
func (s *Suite) Loaded(service *vm.Service, closeFile func()) {
	s.service, s.close = service, closeFile
}

// DefaultTestTimeout is the time limit of a test if the test does not set one.
const DefaultTestTimeout = 5 * time.Second

// Tests returns the tests of the file in order, including hooks.
func (s *Suite) Tests() []*TestCase { return s.tests }

// Close closes the suite. It should be called when all tests have run.
func (s *Suite) Close() { s.close() }

// Run runs test i of Tests with an account. It returns nil if the test passed.
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

// testFunction is used in place of the method if a job is a test.
const testFunction = "test"
