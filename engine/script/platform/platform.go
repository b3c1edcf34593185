// Package platform implements the environment that scripts expect around the language: the globals of browsers and
// Node (URL, Buffer, fetch, crypto ...), the modules of Node and IONDV (path, core/IonError ...), and fixes for
// built-ins of the engine. Each part is made when a script first uses it, so that unused parts cost no time or
// memory. The objects of restsrv itself (dataRepo, metaRepo, req, timers) are in package engine/script. Scripts have
// no access to files or processes of the machine.
//
// To add a global, write its builder and list it in globals.go. To add a module, put a CommonJS file into the folder
// modules and list its names in modules.go. If the file needs functions that cannot be written in JavaScript, list a
// builder there; the file receives its result as native. To fix a built-in, or to add one that the engine lacks, put
// a file into the folder patches and list it in polyfills.go with the words that occur in each source text that
// needs it. To add a locale, put a file into modules/intl and list it in intl.go.
package platform

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/dop251/goja"
)

// Host is the VM that a Platform belongs to. Unless a method documents otherwise, it must be called inside a turn of
// that VM.
type Host interface {
	// JS returns the JavaScript runtime.
	JS() *goja.Runtime
	// Program compiles source text of restsrv. Compiled programs are shared by the whole process. Their frames are
	// removed from the stacks that are shown to users.
	Program(text string) *goja.Program
	// Context returns the context of the request that the running script belongs to; it ends with the request. The
	// result ok is false outside of requests: while the service loads, or in a timer that outlived its request.
	Context() (ctx context.Context, ok bool)
	// Promise runs work on another goroutine and returns a promise. The function settle that work returns runs in a
	// later turn and returns the value of the promise. If settle panics, the promise is rejected. Promise throws
	// outside of a request.
	Promise(what string, work func(ctx context.Context) (settle func() goja.Value)) goja.Value
	// Later calls f in a turn after the duration d, in the current asynchronous context. The returned function
	// cancels the call.
	Later(d time.Duration, f func()) (cancel func())
	// Describe prints an Error for users: its text, then a line "\tat f (file:line:column)" for each call on the
	// stack of the script.
	Describe(err *goja.Object) string
	// Log writes one line with the request to the log of the service.
	Log(level slog.Level, text string)
	// Provide installs or wraps the built-ins that a source text mentions by name. The platform calls it with the
	// text of each built-in module before it runs the module.
	Provide(text string)
	// Settings returns the settings of the process.
	Settings() *Settings
	// Own returns the exports of a module that the platform does not implement: restsrv, and Service, the base class
	// of services in IONDV.
	Own(name string) goja.Value
}

// Settings define the resources outside of the application that scripts may use, and limits. The zero value allows
// no access.
type Settings struct {
	Fetch Fetch
	Env   []string                         // variables that process.env contains
	Look  func(name string) (string, bool) // looks up an environment variable; default os.LookupEnv
	Text  int                              // bytes that a single built-in call may allocate; default 64 MiB
}

// Fetch limits requests to other servers.
type Fetch struct {
	Hosts    []string      // host, host:port, *.domain, or * for all; all other hosts are refused
	Private  bool          // also allow addresses of this machine and of private networks
	Timeout  time.Duration // for one request including its response; default 10 s
	MaxBytes int64         // of a response; default 10 MiB

	client *http.Client // used in tests
}

// Platform holds the parts that one VM has used so far.
type Platform struct {
	host    Host
	js      *goja.Runtime
	modules map[string]goja.Value // by canonical name
	patched needs

	inspectSym *goja.Symbol
}

// New returns a Platform for a VM. All parts are made later.
func New(h Host) *Platform {
	return &Platform{host: h, js: h.JS(), modules: map[string]goja.Value{}}
}
