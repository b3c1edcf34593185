package script

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/dop251/goja"

	"restsrv/engine"
)

// SuiteHost is what tests ask of the server they are run against.
type SuiteHost interface {
	// Request sends a request through the whole server.
	Request(ctx context.Context, r SuiteRequest) (*SuiteResponse, error)
	// AddAccount makes an account, with roles, and with permissions by
	// resource, such as "read write" by "c:::note@sample".
	AddAccount(ctx context.Context, id string, roles []string, grants map[string]string) error
}

// SuiteRequest is a request that a test sends.
type SuiteRequest struct {
	Method, Path string
	Header       http.Header
	Body         []byte
	Account      string // signed in without its password; "" for nobody
}

// SuiteResponse is its answer.
type SuiteResponse struct {
	Status int
	Header http.Header
	Body   []byte
}

// Suite is the tests of one file. They share a VM, and run one at a time.
type Suite struct {
	g     *Generation
	tests []*TestCase
	diff  [2]string // of the test that runs: actual and expected, when an assertion says them
	host  SuiteHost
}

// TestCase is one test, or the after hooks of a group.
type TestCase struct {
	Names   []string // of the groups it is in, and its own
	Mode    string   // only, skip, todo; after for hooks; "" for a test
	Timeout time.Duration
	groups  []int // it is in, outermost first
}

// Name is the names in one.
func (c *TestCase) Name() string { return strings.Join(c.Names, " > ") }

// Within reports whether hooks are those of a group that a test is in.
func (c *TestCase) Within(test *TestCase) bool {
	return len(c.groups) <= len(test.groups) && slices.Equal(c.groups, test.groups[:len(c.groups)])
}

// TestFailure is why a test failed.
type TestFailure struct {
	*Failure
	Excerpt          string // of the place
	Actual, Expected string // what an assertion compared, as text
}

// DefaultTestTimeout is how long a test may take that does not say.
const DefaultTestTimeout = 5 * time.Second

// LoadTests loads a file of tests. The error is a *LoadError.
func (r *Runtime) LoadTests(s Service, host SuiteHost) (*Suite, error) {
	suite := &Suite{host: host}
	s.tests = suite
	s.Limits.VMs, s.Limits.InFlight, s.Limits.Wall = 1, 1, time.Hour // each test has a time limit of its own
	g, err := r.Load(s)
	if err != nil {
		return nil, err
	}
	suite.g = g
	return suite, nil
}

// Tests are the tests of the file, in order, and hooks where they belong.
func (s *Suite) Tests() []*TestCase { return s.tests }

// Close ends the suite.
func (s *Suite) Close() { s.g.Close() }

// Run runs one of Tests, for an account; nil means that it passed.
func (s *Suite) Run(ctx context.Context, i int, account *engine.Account) *TestFailure {
	limit := s.tests[i].Timeout
	if limit <= 0 {
		limit = DefaultTestTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s.diff = [2]string{}
	r := &engine.Request{ID: "test", Service: s.g.name, Method: http.MethodPost, Path: "/", Header: http.Header{}, Account: account}
	j := &job{function: testFunction, argument: func(*call) goja.Value { return goja.Undefined() }}
	_, err := s.g.run(ctx, r, i, body{}, j)
	if err == nil {
		return nil
	}
	if failed, ok := err.(*Failure); ok {
		f := &TestFailure{Failure: failed, Actual: s.diff[0], Expected: s.diff[1]}
		f.Excerpt = s.g.excerpt(failed)
		return f
	}
	text := err.Error()
	if engine.CodeOf(err) == engine.Timeout {
		text = fmt.Sprintf("it did not end within %v", limit)
	}
	return &TestFailure{Failure: &Failure{Message: text, cause: err}}
}

// testFunction stands for a method where a job is a test.
const testFunction = "test"
