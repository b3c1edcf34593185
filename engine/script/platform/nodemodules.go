package platform

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/dop251/goja"
)

// The modules of Node.js are written for this package, except those in the folder modules/npm. The npm packages util,
// assert, url, path, events, querystring and string_decoder behave like older versions of Node.js. If you replace a
// module, use the tables of TestNode to compare the results.

// Reasons why a member of a Node.js module is refused, each with the alternative.
const (
	becauseReadOnly  = "scripts only read files of the application directory; use fileStorage to store files"
	becauseWatching  = "the server watches the files of scripts and loads them again; read a file when it is needed"
	becauseClient    = "scripts open no connections and listen on no ports; use the global fetch for requests, and the routes of the service for answers"
	becauseServer    = "a service does not listen on a port; export its routes, which the server of restsrv calls"
	becauseNames     = "scripts resolve no host names; the global fetch does that"
	becauseProcesses = "scripts start no processes; call another server with the global fetch"
	becauseThreads   = "scripts start no threads; a service runs in several VMs at once, and the global shared exchanges data between them"
	becauseEngine    = "scripts do not control the engine that runs them"
	becauseSources   = "scripts compile no other scripts; use require, or new Function"
	becauseTerminal  = "scripts have no terminal; split a text with text.split('\\n'), and write with console.log"
	becauseHooks     = "use AsyncLocalStorage"
	becauseEncoding  = "use JSON.stringify and JSON.parse, or structuredClone for a copy"
	becauseMeasuring = "use performance.now"
	becauseWindows   = "paths of scripts have slashes; use path.posix"
	becauseMachine   = "scripts do not control the machine"
	becauseMessages  = "use EventEmitter of the module events within a VM, and the global shared between VMs"
	becauseTesting   = "tests are files NAME.test.js with the globals test and request; restsrv test runs them"
	becauseTimers    = "use setTimeout"
	becauseGlob      = "use a regular expression, or a package such as picomatch"
	becauseMIME      = "split the text at the first semicolon, or use a package such as content-type"
	becauseDatabase  = "use dataRepo"
	becauseErrorsOf  = "handle errors with try and catch, and pass data with AsyncLocalStorage of async_hooks"
)

// nodeModules returns the modules of Node.js. Every module can be loaded. If restsrv offers a part of a module, file or
// another field of the embedded module says where that part is. The lists in refused contain the other members by the
// reason for their refusal: each is a function that throws an error when it is called, with new or without. So a
// package that only mentions such a member works, and a class can extend it.
func nodeModules() map[string]module {
	const (
		fsWrites = "appendFile appendFileSync chmod chmodSync chown chownSync copyFile copyFileSync cp cpSync createWriteStream fchmod fchmodSync fchown fchownSync " +
			"fdatasync fdatasyncSync fsync fsyncSync ftruncate ftruncateSync futimes futimesSync lchown lchownSync link linkSync lutimes lutimesSync mkdir mkdirSync mkdtemp mkdtempSync " +
			"rename renameSync rm rmSync rmdir rmdirSync symlink symlinkSync truncate truncateSync unlink unlinkSync utimes utimesSync writeFile writeFileSync writev writevSync " +
			"WriteStream FileWriteStream"
		fsPromiseWrites = "copyFile cp rename truncate rm rmdir mkdir symlink link unlink chmod lchmod lchown chown utimes lutimes mkdtemp writeFile appendFile"
		resolving       = "lookup lookupService Resolver resolve resolve4 resolve6 resolveAny resolveCaa resolveCname resolveMx resolveNaptr resolveNs resolvePtr resolveSoa resolveSrv resolveTxt reverse setServers"
	)
	return map[string]module{
		"assert":              {file: "assert", refused: refusals{becauseTesting: "CallTracker"}},
		"assert/strict":       {file: "assert-strict"},
		"async_hooks":         {file: "async_hooks", native: asyncNative, refused: refusals{becauseHooks: "createHook"}},
		"buffer":              {file: "buffer", native: bufferNative},
		"child_process":       {refused: refusals{becauseProcesses: "ChildProcess exec execFile execFileSync execSync fork spawn spawnSync"}},
		"cluster":             {file: "cluster", refused: refusals{becauseThreads: "Worker disconnect fork setupMaster setupPrimary"}},
		"console":             {file: "console"},
		"constants":           {file: "constants"},
		"dgram":               {refused: refusals{becauseClient: "Socket createSocket"}},
		"diagnostics_channel": {file: "diagnostics_channel"},
		"dns":                 {file: "dns", refused: refusals{becauseNames: resolving}},
		"dns/promises":        {file: "dns-promises", refused: refusals{becauseNames: resolving}},
		"domain":              {file: "domain", refused: refusals{becauseErrorsOf: "Domain create createDomain"}},
		"events":              {file: "events"},
		"fs":                  {file: "fs", refused: refusals{becauseReadOnly: fsWrites, becauseWatching: "watch watchFile"}},
		"fs/promises":         {file: "fs-promises", refused: refusals{becauseReadOnly: fsPromiseWrites, becauseWatching: "watch"}},
		"http":                {file: "http", refused: refusals{becauseServer: "Server createServer"}},
		"http2":               {file: "http2", refused: refusals{becauseClient: "connect getPackedSettings getUnpackedSettings", becauseServer: "createServer createSecureServer performServerHandshake Http2ServerRequest Http2ServerResponse"}},
		"https":               {file: "https", refused: refusals{becauseServer: "Server createServer"}},
		"inspector":           {file: "inspector", refused: refusals{becauseEngine: "Session close open waitForDebugger"}},
		"inspector/promises":  {file: "inspector", refused: refusals{becauseEngine: "Session close open waitForDebugger"}},
		"module":              {file: "module", native: requireNative, refused: refusals{becauseSources: "findSourceMap register runMain SourceMap"}},
		"net":                 {file: "net", native: addressNative, refused: refusals{becauseClient: "BlockList Server Socket SocketAddress Stream connect createConnection createServer"}},
		"os":                  {file: "os", refused: refusals{becauseMachine: "setPriority"}},
		"path":                {file: "path", refused: refusals{becauseGlob: "matchesGlob"}},
		"path/posix":          {file: "path-posix"},
		"path/win32":          {file: "path-win32", refused: refusals{becauseWindows: "basename dirname extname format isAbsolute join matchesGlob normalize parse relative resolve toNamespacedPath"}},
		"perf_hooks": {file: "perf_hooks", refused: refusals{becauseMeasuring: "Performance PerformanceEntry PerformanceMark PerformanceMeasure PerformanceObserver PerformanceObserverEntryList " +
			"PerformanceResourceTiming createHistogram monitorEventLoopDelay"}},
		"process":             {file: "process"},
		"punycode":            {file: "npm/punycode"},
		"querystring":         {file: "querystring"},
		"readline":            {file: "readline", refused: refusals{becauseTerminal: "Interface clearLine clearScreenDown createInterface cursorTo emitKeypressEvents moveCursor"}},
		"readline/promises":   {refused: refusals{becauseTerminal: "Interface Readline createInterface"}},
		"repl":                {file: "repl", refused: refusals{becauseTerminal: "REPLServer Recoverable isValidSyntax start writer"}},
		"sqlite":              {refused: refusals{becauseDatabase: "DatabaseSync StatementSync backup"}},
		"stream":              {file: "stream"},
		"stream/consumers":    {file: "stream-consumers"},
		"stream/promises":     {of: "stream", member: "promises"},
		"stream/web":          {of: "#streams"},
		"string_decoder":      {file: "string_decoder"},
		"sys":                 {file: "sys"},
		"test":                {refused: refusals{becauseTesting: "after afterEach before beforeEach describe it mock run skip suite test todo"}},
		"timers":              {file: "timers", refused: refusals{becauseTimers: "active enroll unenroll"}},
		"timers/promises":     {file: "timers-promises"},
		"tls":                 {file: "tls", refused: refusals{becauseClient: "SecureContext Server TLSSocket checkServerIdentity connect convertALPNProtocols createSecureContext createSecurePair createServer"}},
		"trace_events":        {refused: refusals{becauseEngine: "createTracing getEnabledCategories"}},
		"tty":                 {file: "tty", refused: refusals{becauseTerminal: "ReadStream WriteStream"}},
		"url":                 {file: "url"},
		"util":                {file: "util", native: inspectNative, refused: refusals{becauseTerminal: "parseArgs", becauseMIME: "MIMEParams MIMEType", becauseErrorsOf: "transferableAbortController transferableAbortSignal"}},
		"util/types":          {file: "util-types"},
		"v8":                  {file: "v8", refused: refusals{becauseEncoding: "DefaultDeserializer DefaultSerializer Deserializer Serializer deserialize serialize", becauseEngine: "GCProfiler cachedDataVersionTag getHeapCodeStatistics getHeapSnapshot getHeapSpaceStatistics getHeapStatistics queryObjects setFlagsFromString setHeapSnapshotNearHeapLimit stopCoverage takeCoverage writeHeapSnapshot"}},
		"vm":                  {file: "vm", refused: refusals{becauseSources: "Script compileFunction createContext createScript runInContext runInNewContext runInThisContext", becauseEngine: "measureMemory"}},
		"wasi":                {refused: refusals{becauseEngine: "WASI"}},
		"worker_threads":      {file: "worker_threads", refused: refusals{becauseThreads: "Worker moveMessagePortToContext postMessageToThread receiveMessageOnPort", becauseMessages: "BroadcastChannel MessageChannel MessagePort"}},
		"zlib":                {file: "zlib", native: compressionNative},
		"_stream_duplex":      {of: "stream", member: "Duplex"},
		"_stream_readable":    {of: "stream", member: "Readable"},
		"_stream_transform":   {of: "stream", member: "Transform"},
		"_stream_writable":    {of: "stream", member: "Writable"},
		"_stream_passthrough": {of: "stream", member: "PassThrough"},
	}
}

// nodeParts returns the files that several modules of Node.js share, or that are loaded later than their module.
func nodeParts() map[string]module {
	return map[string]module{
		"#equal":           {file: "equal"},
		"#errno":           {file: "errno"},
		"#stdio":           {file: "stdio", native: stdioNative},
		"#files":           {file: "files", native: filesNative},
		"#http-names":      {file: "http-names"},
		"#readable-stream": {file: "npm/readable-stream"},
	}
}

// refusals contains names of members, separated by spaces, by the reason why restsrv does not support them.
type refusals map[string]string

// addRefused adds the refused members of a module to its exports.
func (p *Platform) addRefused(module string, all refusals, exports *goja.Object) {
	for _, instead := range slices.Sorted(maps.Keys(all)) {
		for name := range strings.FieldsSeq(all[instead]) {
			if exports.Get(name) == nil {
				_ = exports.Set(name, p.refusedMember(module, name, instead))
			}
		}
	}
}

// refusedMember returns a function that throws an error. It is a constructor, so that a class can extend it. A function
// of a module with promises returns a rejected promise instead.
func (p *Platform) refusedMember(module, name, instead string) *goja.Object {
	refuse := func() *goja.Object {
		return p.newError("Error", "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM", "%s.%s is not supported: %s", module, name, instead)
	}
	if strings.HasSuffix(module, "/promises") && name == strings.ToLower(name[:1])+name[1:] {
		return p.newFunction(name, func(goja.FunctionCall) goja.Value {
			promise, _, reject := p.js.NewPromise()
			must(reject(refuse()))
			return p.js.ToValue(promise)
		})
	}
	f := p.js.ToValue(func(goja.ConstructorCall) *goja.Object { panic(refuse()) }).(*goja.Object)
	_ = f.DefineDataProperty("name", p.js.ToValue(name), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	return f
}

// asyncNative returns the Go functions of the file modules/async_hooks.js: get() and set(value), for a value of the
// asynchronous context.
func asyncNative(p *Platform) goja.Value {
	return p.newNatives(natives{
		"get": func(goja.FunctionCall) goja.Value { return p.host.AsyncStore() },
		"set": func(call goja.FunctionCall) goja.Value {
			v := call.Argument(0)
			if goja.IsUndefined(v) {
				v = nil
			}
			p.host.SetAsyncStore(v)
			return goja.Undefined()
		},
	})
}

// addressNative returns the Go function of the file modules/net.js: version(text), which is 4 or 6 for an address, and
// otherwise 0.
func addressNative(p *Platform) goja.Value {
	return p.newNatives(natives{"version": func(call goja.FunctionCall) goja.Value {
		a, err := netip.ParseAddr(call.Argument(0).String())
		switch {
		case err != nil:
			return p.js.ToValue(0)
		case a.Is4():
			return p.js.ToValue(4)
		}
		return p.js.ToValue(6)
	}})
}

// requireNative returns the function createRequire(path) for the file modules/module.js.
func requireNative(p *Platform) goja.Value { return p.host.Own("createRequire") }

var nodeNames = nodeModules()

// isPublicNodeName reports whether scripts can require a module of Node.js under this name without the prefix node:.
func isPublicNodeName(name string) bool {
	_, ok := nodeNames[name]
	return ok && !onlyPrefixed[name]
}

// onlyPrefixed are the modules that Node.js finds only with the prefix node:.
var onlyPrefixed = map[string]bool{"test": true, "sqlite": true}

// IsNodeModule reports whether a name stands for a module of Node.js, even if a package of that name is installed.
func IsNodeModule(name string) bool {
	return strings.HasPrefix(name, "node:") || isPublicNodeName(strings.TrimSuffix(name, ".js"))
}
