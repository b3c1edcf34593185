// Package deploy reads deploy.json. It defines the format of that file, the defaults
// of all settings, the places where modules are looked up, and the checks of both.
// It does not use the contents of the file itself: engine/meta reads the classes,
// engine/script runs the scripts, and references to components stay text until
// Resolve replaces them.
package deploy

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"time"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

// Config holds the contents of a deploy.json, with the defaults of missing settings.
type Config struct {
	Dir       string // absolute path of the application directory; relative paths start there
	File      string // name of the file within Dir; faults use it for the merged configuration too
	Namespace string // namespace of classes that do not have one, or ""

	Services []Service // in the order of the file; token is always among them
	Classes  []Class   // inline classes, for engine/meta
	Objects  []Object  // created when the database is new; see Records

	OAuth    *Plugin       // the OAuth2 provider; nil if the application has none
	MetaMap  *Plugin       // aclMetaMap: further identities of accounts; nil if the application has none
	Profiles []Plugin      // customProfile: additional properties of accounts
	RoleMap  engine.Fields // option of securedDataRepo: classes with their roles
	Gateways []Gateway
	Read     []string // absolute paths of the configuration files except *.ini, even if they cannot be read

	RoleMapPath          string            // JSON path of RoleMap in File
	CaseInsensitiveLogin bool              // names of accounts compare equal if they differ only in letter case
	Components           map[string]string // other names of components, "" if services do not call the component; see AddNames

	DB              string        // sqlite:PATH, PATH as written, or postgres://...; default sqlite:restsrv.db
	Pool            int           // connections to PostgreSQL; 0 leaves it at its default
	Synchronous     string        // full (default) or normal: how often SQLite waits for the disk
	Addr            string        // host:port; default 127.0.0.1:8888
	TokenLifetime   time.Duration // lifetime of issued tokens; default 30 days
	ShutdownTimeout time.Duration // maximum time for running requests to finish; default 10 s
	HeaderTimeout   time.Duration // maximum time until the headers of a request arrive; default 10 s
	IdleTimeout     time.Duration // maximum idle time of a connection; default 120 s
	QueryTimeout    time.Duration // maximum time of a database query; default 30 s, 0 for no limit
	LockTimeout     time.Duration // maximum wait for a lock of another PostgreSQL transaction; default 10 s, 0 for no limit
	Shares          Shares        // limits of accounts in the use of the database
	MaxHeaderBytes  int           // maximum size of the headers of a request; default 64 KiB
	MinBodyRate     int           // bytes per second at which a client must send a request body; default 1 KiB
	MinAnswerRate   int           // bytes per second at which a client must read responses; default 1 KiB
	AnswerBytes     Bytes         // limits of responses in memory; default 128 MiB, 64 MiB for one account
	BodyBytes       Bytes         // limits of request bodies in memory; default 64 MiB, 32 MiB for one account
	FileBytes       Bytes         // limits of stored files and running uploads; default 512 GiB, 64 GiB per account
	Limits          Limits        // limits of all scripts; Service.Limits includes them
	HeapBytes       int64         // if the heap of the process exceeds it, the longest script is ended; 0 for the default
	Scripts         Scripts       // access of scripts to resources outside of the application
	Values          engine.Fields // settings by name, for use in scripts; see values

	PublicURL          string         // scheme://host[:port] by which clients reach the server, or ""
	TrustedProxies     []netip.Prefix // proxies that the server trusts to name the client of a request
	SessionIdle        time.Duration  // time after which an unused browser session ends; default 30 minutes
	SessionLifetime    time.Duration  // time after which every browser session ends; default 12 hours
	SessionsPerAccount int            // sessions of one account; when exceeded, the oldest one ends; 0 means the default
	SessionsOfAll      int            // all sessions; when exceeded, the oldest of the account with the most ends; 0 means the default
	Idempotency        Idempotency    // limits of the responses that are stored for an Idempotency-Key
	SignIn             SignIn         // limits of failed sign-ins
	Audit              Audit          // storage of audit events
	ChangesKept        time.Duration  // time after which records of the journal are deleted; default 0: never
	Images             Images         // thumbnails

	Unused  []Unused // parts of the configuration without effect, which restsrv check lists
	Skipped []string // modules that restsrv does not have

	first  string  // the file that a value comes from if merged has no origin for it
	merged *merger // the merged files of the configuration; nil before they are read
}

// Service is one routed service of modules.rest.globals.di.
type Service struct {
	Name    string
	Builtin string          // name of the builtin module, "" for a script
	Script  string          // file of the script, relative to Dir with slashes, "" for a builtin
	Missing bool            // the script does not exist; Script is the name that it should have
	Broken  bool            // the service answers 503 because of a mistake in its entry
	Options engine.Fields   // the options as written; use Resolve to replace references in them
	Mode    engine.AuthMode // the mode as written, even if it does not exist
	Limits  Limits          // limits of a script
	Path    string          // JSON path of the entry in File
}

// Scripts configures the access of scripts to resources outside of the application.
// It is "scripts" in the file. The zero value is the default and allows no access.
type Scripts struct {
	NodeModules  bool          // scripts can use packages in node_modules of the application directory
	Env          []string      // names of the environment variables in process.env
	FetchHosts   []string      // hosts that fetch can reach: host, host:port, *.domain, or * for all
	FetchPrivate bool          // fetch can also reach this machine and private networks
	FetchTimeout time.Duration // maximum time of one request; 0 for the default
	FetchBytes   int64         // maximum size of a response; 0 for the default
}

// Bytes limits a number of bytes.
type Bytes struct {
	All        int64 // limit for all requests together
	PerAccount int64 // limit for the requests of one account, or of one network if there is no account
}

// Class is an inline class: decoded JSON with its place.
type Class struct {
	File  string
	Path  string
	Value any
}

// Object is an inline object.
type Object struct {
	Class  string // full name
	ID     string // the value of "_id", or ""
	Values engine.Fields
	Path   string // JSON path in File
}

// Known holds the names that the server can resolve.
type Known struct {
	Builtins   []string            // modules written in Go
	Components []string            // components for use in ion://name and lazy://name
	Lacking    []string            // those of Components that restsrv does not implement
	Options    map[string][]string // option names of builtins; a builtin is missing if its options are not known
	// Env looks up placeholders. If it is nil, the environment of the process is used.
	Env func(name string) (value string, ok bool)
}

// Load reads a deploy.json. It returns all mistakes in file order. Callers should
// use the configuration only if none of the faults stops the start. It is never nil
// and always has Dir, so that the class files beside it can be checked too.
func Load(file string, known Known) (*Config, engine.Faults) {
	c := defaultConfig()
	abs, err := filepath.Abs(file)
	if err != nil {
		abs = file
	}
	c.Dir, c.File = filepath.Split(abs)
	c.Dir = filepath.Clean(c.Dir)
	sources := Sources(abs)
	if len(sources) == 0 {
		found := "a file that cannot be read"
		if _, err := os.Stat(abs); os.IsNotExist(err) {
			found = "no such file"
		}
		return c, engine.Faults{{File: file, Found: found, Expected: "a deploy.json"}}
	}
	if !slices.Contains(sources, c.File) {
		c.File = sources[0]
	}
	return c, c.readFiles(sources, known)
}

func defaultConfig() *Config {
	return &Config{
		Components: map[string]string{},

		DB:              "sqlite:restsrv.db",
		Synchronous:     "full",
		Addr:            "127.0.0.1:8888",
		TokenLifetime:   30 * 24 * time.Hour,
		ShutdownTimeout: 10 * time.Second,
		HeaderTimeout:   10 * time.Second,
		IdleTimeout:     120 * time.Second,
		QueryTimeout:    30 * time.Second,
		LockTimeout:     10 * time.Second,
		Shares:          defaultShares(),
		MaxHeaderBytes:  64 << 10,
		MinBodyRate:     1 << 10,
		MinAnswerRate:   1 << 10,
		AnswerBytes:     Bytes{128 << 20, 64 << 20},
		BodyBytes:       Bytes{64 << 20, 32 << 20},
		FileBytes:       Bytes{512 << 30, 64 << 30},
		SessionIdle:     30 * time.Minute,
		SessionLifetime: 12 * time.Hour,
		SignIn:          defaultSignIn(),
		Audit:           Audit{Keep: 90 * day},
		Images:          defaultImages(),
	}
}

// readFiles reads the sources of the configuration, merges them and loads the result.
func (c *Config) readFiles(files []string, known Known) engine.Faults {
	var faults engine.Faults
	places := map[string]placer{}
	m := &merger{origins: map[string]origin{}}
	var whole engine.Fields
	add := func(file string) {
		s, fault := readSource(c.Dir, file)
		if fault != nil {
			faults = append(faults, *fault)
			return
		}
		jsonfile.Object{File: file, Fields: s.fields, Faults: &faults}.WarnRepeated()
		places[file] = s.places
		if whole == nil {
			whole, c.first = slices.Clone(s.fields), file
			return
		}
		whole = m.addSource(whole, s)
	}
	for _, file := range files {
		if m.replace = isOverride(file); m.replace {
			if parametrised, _ := whole.Get("parametrised"); parametrised != true {
				continue
			}
		}
		add(file)
		c.Read = append(c.Read, filepath.Join(c.Dir, filepath.FromSlash(file)))
	}
	if !faults.Stop() {
		c.merged = m
		l := loader{config: c, known: known, faults: &faults}
		l.load(jsonfile.Object{File: c.File, Fields: whole, Faults: &faults})
	}
	c.traceFaults(faults)
	arrangeFaults(faults, func(file string) placer { return places[file] })
	return faults
}

// traceFaults replaces the file and path of faults in the merged configuration by those of
// the source file.
func (c *Config) traceFaults(faults engine.Faults) {
	for i, f := range faults {
		if f.File != c.File || f.Path == "" || f.Line > 0 || c.merged == nil {
			continue
		}
		if o, ok := c.merged.originOf(f.Path); ok {
			faults[i].File, faults[i].Path = o.file, o.path
		} else {
			faults[i].File = c.first
		}
	}
}

// Abs returns an absolute path. It resolves a relative path of the configuration
// against the application directory.
func (c *Config) Abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(c.Dir, path)
}

// loader fills a Config.
type loader struct {
	config    *Config
	known     Known
	faults    *engine.Faults
	lacks     map[string]string // placeholders without a value, by JSON path
	effective []string          // JSON paths of values that have an effect; see read
}

// The known names at the top of the file and in modules.rest. deployer, import and
// statics are used by IONDV and have no effect here.
var (
	topNames  = []string{"namespace", "parametrised", "globals", "modules", "classes", "objects", "deployer"}
	restNames = []string{"globals", "import", "statics"}
)

func (l *loader) load(top jsonfile.Object) {
	top.WarnUnknown(topNames)
	lenient := top
	lenient.Lenient = true
	if lenient.Flag("parametrised", false) {
		l.replacePlaceholders(&top)
	}
	if l.config.Namespace = top.Text("namespace"); l.config.Namespace != "" && !jsonfile.ValidName(l.config.Namespace) {
		top.Fault("namespace", engine.Quote(l.config.Namespace), jsonfile.NameRule)
	}
	globals, _ := childOf(top, "globals")
	modules, _ := childOf(top, "modules")
	rest, ok := childOf(modules, "rest")
	if ok {
		rest.WarnRepeated()
		rest.WarnUnknown(restNames)
	}
	inner, _ := childOf(rest, "globals")
	for _, o := range []jsonfile.Object{globals, modules, inner} {
		o.WarnRepeated()
	}
	l.readSettings(globals, inner)
	l.collectValues(globals, modules)
	l.readPlugins(globals)
	l.readAliases(globals)
	l.readAliases(inner)
	l.readServices(inner)
	l.readGateways(modules)
	l.reportUsage(top, globals, modules, rest)
	l.warnUnsecured(top)
	l.warnLacking(top, globals)
	lenient = top // with placeholders filled in
	lenient.Lenient = true
	for i, v := range lenient.List("classes") {
		l.config.Classes = append(l.config.Classes, Class{File: top.File, Path: jsonfile.Element("classes", i), Value: v})
	}
	for i, v := range lenient.List("objects") {
		l.readObject(top, jsonfile.Element("objects", i), v)
	}
}

// childOf reads an object. If the value has another type, it counts as absent. The child
// is lenient if o is.
func childOf(o jsonfile.Object, name string) (child jsonfile.Object, ok bool) {
	lenient := o.Lenient
	o.Lenient = true
	child, ok = o.Child(name)
	child.Lenient = lenient
	return child, ok
}
