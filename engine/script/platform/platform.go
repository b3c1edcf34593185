// Package platform implements the environment that scripts expect besides the language itself. It has the globals of
// browsers and Node.js (URL, Buffer, fetch, crypto ...), the modules of Node.js and IONDV (path, core/IonError ...),
// and fixes for built-ins of goja. A part is created when a script first uses it, so that unused parts take no time
// and no memory. The objects of restsrv (dataRepo, metaRepo, req, timers) are in other packages. Scripts have no
// access to files and processes of the machine.
//
// To add a global, write a builder and list it in globals.go. To add a module, put a CommonJS file into the folder
// modules and list its names in modules.go. If the file needs functions that cannot be written in JavaScript, list a
// builder there; the file receives the result of the builder as the variable native. To fix a built-in, or to add one
// that goja does not have, put a file into the folder patches and list it in polyfills.go with some words: a source
// text that needs the patch must contain one of them. To add a locale, put a file into modules/intl and list it in
// intl.go.
package platform

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/dop251/goja"
)

// Host is the VM that a Platform belongs to. The methods must be called inside a turn of that VM (see package vm).
type Host interface {
	// JS returns the JavaScript runtime.
	JS() *goja.Runtime
	// Program compiles JavaScript source text that is part of restsrv. Compiled programs are shared by the whole
	// process. Stack traces for users do not contain calls in these programs.
	Program(text string) *goja.Program
	// Context returns the context of the request for which the script runs; the context ends with the request. ok is
	// false outside of requests: while the service loads, or in a timer that runs after its request has ended.
	Context() (ctx context.Context, ok bool)
	Turns
	// Describe returns a text for a JavaScript Error: its message, then a line "\tat f (file:line:column)" for each
	// call on its stack.
	Describe(err *goja.Object) string
	// Log writes a line to the log of the service, with the id of the request.
	Log(level slog.Level, text string)
	// Provide installs the built-ins and guards for the names in a source text. The platform calls it before it runs
	// a built-in module, with the text of the module.
	Provide(text string)
	// Warn logs a warning once per version of the service.
	Warn(text string, args ...any)
	// Settings returns the settings of the Runtime.
	Settings() *Settings
	// Own returns a value that the host implements: the exports of "restsrv", or "Service", the base class of services
	// in IONDV, or "createRequire", a function that returns the function require for a path in the application
	// directory.
	Own(name string) goja.Value
}

// Turns runs work for a script in later turns and outside of them, and limits its CPU time.
type Turns interface {
	// Lifetime returns a context that ends when the request has ended for which the script runs, also if the script
	// continues after the answer. ok is false outside of requests.
	Lifetime() (ctx context.Context, ok bool)
	// Promise runs work on another goroutine and returns a promise. The function settle that work returns runs in a
	// later turn, and the promise is resolved with its result. If settle panics, the promise is rejected. The
	// parameter what is the name of the function that the script called. Promise throws outside of requests.
	Promise(what string, work func(ctx context.Context) (settle func() goja.Value)) goja.Value
	// Later calls f in a turn after the time d, in the present asynchronous context. The returned function cancels
	// the call.
	Later(d time.Duration, f func()) (cancel func())
	// AsyncStore returns the value that SetAsyncStore set in the present asynchronous context, or nil.
	AsyncStore() goja.Value
	// SetAsyncStore sets a value for the rest of the present asynchronous context: for the code that follows, and for
	// promise callbacks and timers that it registers.
	SetAsyncStore(v goja.Value)
	// Compute runs work like Promise and charges its time to the CPU time of the request. The function expired returns
	// an error if the time of the request is over; work should call it every few milliseconds and then return. The
	// works of a request run one after another. The parameter size is the memory that work holds in bytes; Compute
	// throws if the works of the request hold too much.
	Compute(what string, size int, work func(expired func() error) (settle func() goja.Value)) goja.Value
	// Expired returns the reason why the current turn must end because of its CPU time, or nil.
	Expired() error
	// EndTurn ends the current turn if Expired returns a reason.
	EndTurn()
}

// Settings are limits, and the resources outside of the application that scripts may use. The zero value allows no
// access to resources.
type Settings struct {
	Fetch Fetch
	Env   []string                         // names of the environment variables that process.env contains
	Look  func(name string) (string, bool) // returns the value of an environment variable; default os.LookupEnv
	Text  int                              // bytes that a single built-in call may allocate; default 64 MiB

	Root   string   // application directory that the module fs reads; "" means that fs reads no files
	Hidden []string // absolute paths below Root that fs does not read: these, and those that begin with one of them
}

// Fetch limits the requests that scripts send with fetch.
type Fetch struct {
	Hosts    []string      // allowed hosts: host, host:port, *.domain, or * for all
	Private  bool          // also allow addresses of this machine and of private networks
	Timeout  time.Duration // time limit for one request with its response; default 10 s
	MaxBytes int64         // maximum bytes of a response; default 10 MiB

	client *http.Client // set by tests only
}

// Platform holds the modules and patches that one VM has used so far.
type Platform struct {
	host    Host
	js      *goja.Runtime
	modules map[string]goja.Value // by canonical name
	patched needs

	inspectSym    *goja.Symbol
	asyncIterator *goja.Symbol // see AsyncIterator
	transfers     atomic.Int64 // responses whose body is still arriving
}

// New returns the Platform of a VM. It does not create any part yet.
func New(h Host) *Platform {
	return &Platform{host: h, js: h.JS(), modules: map[string]goja.Value{}}
}
