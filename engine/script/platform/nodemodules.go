package platform

import (
	"strings"

	"github.com/dop251/goja"

	"restsrv/engine/script/platform/cryptojs"
)

// The modules of Node.js are written for this package, because the npm packages of these names cannot replace them.
// The packages util, assert and url contain an async generator, which goja cannot run. The packages path, events,
// querystring and string_decoder behave like older versions: in 21 rows of the tables of TestNode, they give other
// results than Node.js 20. If you replace a module, use these tables to compare the results.

// nodeModules returns the modules of Node.js that restsrv supports.
func nodeModules() map[string]module {
	return map[string]module{
		"#equal":          {file: "equal"},
		"assert":          {file: "assert"},
		"assert/strict":   {file: "assert-strict"},
		"buffer":          {file: "buffer", native: bufferNative},
		"crypto":          {file: "crypto", native: cryptoNative(cryptojs.Basic)},
		"#derive":         {file: "derive", native: cryptoNative(cryptojs.Derivations)},
		"events":          {file: "events"},
		"os":              {file: "os"},
		"path":            {file: "path"},
		"path/posix":      {file: "path-posix"},
		"process":         {file: "process"},
		"querystring":     {file: "querystring"},
		"string_decoder":  {file: "string_decoder"},
		"timers":          {file: "timers"},
		"timers/promises": {file: "timers-promises"},
		"url":             {file: "url"},
		"util":            {file: "util", native: inspectNative},
		"stream/web":      {of: "#streams"},
		"util/types":      {file: "util-types"},
		"zlib":            {file: "zlib", native: compressionNative},
	}
}

// refusedModules returns the modules of Node.js that restsrv does not support. If a script requires one, it gets an
// error with the reason.
func refusedModules() map[string]module {
	all := map[string]module{}
	for name, why := range refusals() {
		all[name] = module{build: refuseModule(name, why)}
	}
	return all
}

// refusals returns, for each unsupported module of Node.js, the reason and the alternative for scripts.
func refusals() map[string]string {
	const (
		files   = "scripts reach no files of the machine; use fileStorage, or require a JSON file"
		web     = "scripts open no connections of their own; use the global fetch"
		system  = "scripts start no processes and threads, and do not see the machine; the process that runs them is not theirs"
		streams = "there are no streams; bodies and files are read as a whole"
	)
	all := map[string]string{}
	for why, names := range map[string][]string{
		files:   {"fs", "fs/promises", "path/win32", "readline", "readline/promises", "tty"},
		web:     {"http", "https", "http2", "net", "tls", "dgram", "dns", "dns/promises"},
		system:  {"child_process", "worker_threads", "cluster", "vm", "v8", "module", "repl", "inspector", "diagnostics_channel", "domain", "wasi", "trace_events"},
		streams: {"stream", "stream/promises"},
		"use the URL class, which translates host names":     {"punycode"},
		"use the global performance":                         {"perf_hooks"},
		"there is no AsyncLocalStorage; pass on the request": {"async_hooks"},
		"run restsrv test":                                   {"test"},
		"use dataRepo":                                       {"sqlite"},
	} {
		for _, name := range names {
			all[name] = why
		}
	}
	return all
}

// refuseModule returns the builder of an unsupported module. The builder throws an error with the reason why.
func refuseModule(name, why string) builder {
	return func(p *Platform) goja.Value {
		o, err := p.js.New(p.js.Get("Error"), p.js.ToValue("cannot find module \""+name+"\": "+why))
		must(err)
		must(o.Set("code", "MODULE_NOT_FOUND"))
		panic(o)
	}
}

// Refusal returns the reason why restsrv does not support a module of Node.js, with the alternative. It returns ""
// for any other name.
func Refusal(name string) string { return refusals()[strings.TrimPrefix(name, "node:")] }
