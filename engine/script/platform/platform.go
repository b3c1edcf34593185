// Package platform is the world that scripts expect around the language: the
// globals that browsers and Node have (URL, Buffer, fetch, crypto ...), the
// modules that Node and the ancestor have (path, core/IonError ...), and mended
// built-ins of the engine. Everything is made when a script first touches it:
// a VM that needs nothing pays for nothing. It is not for what belongs to
// restsrv itself (dataRepo, metaRepo, req, timers: engine/script), and it never
// reaches files or processes of the machine.
//
// To add a global, write its builder and list it in globals.go. To add a
// module, put a CommonJS file into the folder modules and list its names in
// modules.go; what it cannot do in JavaScript it takes from the object native,
// which a Go function listed there makes. To mend a built-in, or add one that
// the engine lacks, put a file into the folder patches and list it in
// polyfills.go with the words that tell whether a source text needs it. A locale
// is a file of modules/intl, listed in intl.go.
package platform

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/dop251/goja"
)

// Host is the VM that a Platform is a part of, as the Platform needs it. Unless
// a method says otherwise, it is called inside a turn of that VM only.
type Host interface {
	// JS is the engine.
	JS() *goja.Runtime
	// Program compiles source text of ours, once per process. Its frames are in
	// no stack that people see.
	Program(text string) *goja.Program
	// Context ends with the request in whose asynchronous context the script
	// runs; ok is false outside of any: while the service loads, in a timer that
	// outlived its request.
	Context() (ctx context.Context, ok bool)
	// Promise runs work on another goroutine and returns a promise. settle, which
	// work returns, runs in a later turn and makes the value; what it throws
	// (panics with) rejects. It throws outside of a request.
	Promise(what string, work func(ctx context.Context) (settle func() goja.Value)) goja.Value
	// Later calls f in a turn not before d has passed, in the present
	// asynchronous context. The function returned prevents that.
	Later(d time.Duration, f func()) (cancel func())
	// Describe tells of an Error for people: its text, then a line "\tat f
	// (file:line:column)" for each call that was open in the script.
	Describe(err *goja.Object) string
	// Log writes one line to the log of the service, with the request.
	Log(level slog.Level, text string)
	// Provide has the built-ins guarded, or made, that a source text names: our
	// own modules call it through the text that they are made of.
	Provide(text string)
	// Settings are those of the process.
	Settings() *Settings
	// Own makes the exports of a module that is not the platform's: restsrv, and
	// Service, which is the base of the ancestor's services.
	Own(name string) goja.Value
}

// Settings are what scripts may reach outside of the application, and how much
// at once. The zero value lets them reach nothing.
type Settings struct {
	Fetch Fetch
	Env   []string                         // names of process.env
	Look  func(name string) (string, bool) // finds a variable of the environment; default os.LookupEnv
	Text  int                              // bytes that one built-in may allocate at once; default 64 MiB
}

// Fetch bounds requests to other servers.
type Fetch struct {
	Hosts    []string      // host, host:port, *.domain, or * for all; nothing else is reached
	Private  bool          // addresses of this machine and of private networks too
	Timeout  time.Duration // of one request, the answer included; default 10 s
	MaxBytes int64         // of an answer; default 10 MiB

	client *http.Client // of tests
}

// Platform is what one VM has made so far.
type Platform struct {
	host    Host
	js      *goja.Runtime
	modules map[string]goja.Value // by canonical name
	patched needs

	inspectSym *goja.Symbol
}

// New prepares a Platform; it makes nothing yet.
func New(h Host) *Platform {
	return &Platform{host: h, js: h.JS(), modules: map[string]goja.Value{}}
}
