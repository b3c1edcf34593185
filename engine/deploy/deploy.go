// Package deploy reads deploy.json. It defines the format of that file and the defaults of all
// settings, finds the modules that the file names, and checks the file and the modules. It does
// not use the contents of the file itself: engine/meta reads the classes, engine/script runs the
// scripts.
//
// Options can refer to components, which are objects that the server provides to services: the
// text ion://dataRepo refers to the component dataRepo. References stay text until Resolve
// replaces them.
//
// The file uses words of IONDV. modules.rest configures this server. A section di lists entries:
// each names a module, which is a built-in or a script, and its options. A plug-in is an entry of
// globals.plugins.
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
	File      string // name of the file within Dir; faults in the merged configuration name it too
	Namespace string // namespace of classes that do not have one, or ""

	Services []Service // in the order of the file; token is always among them
	Classes  []Class   // inline classes, for engine/meta
	Objects  []Object  // objects to create when the database is new; see Records

	OAuth    *Plugin       // options of the OAuth2 provider; nil if the application has none
	MetaMap  *Plugin       // plug-in aclMetaMap, which gives accounts additional identities; nil if the application has none
	Profiles []Plugin      // plug-ins customProfile, which give accounts additional properties
	RoleMap  engine.Fields // option roleMap of securedDataRepo: roles by class
	Gateways []Gateway
	Read     []string // absolute paths of the configuration files except *.ini, including unreadable ones

	RoleMapPath          string            // JSON path of RoleMap in File
	CaseInsensitiveLogin bool              // names of accounts are equal if they differ only in letter case
	Components           map[string]string // usual names of components, by their additional names; see AddNames

	DB              string        // sqlite:PATH or postgres://..., as written; default sqlite:restsrv.db
	Pool            int           // maximum number of connections to PostgreSQL; 0 for the default
	Synchronous     string        // full (default) or normal: how often SQLite waits for the disk
	Addr            string        // host:port; default 127.0.0.1:8888
	TokenLifetime   time.Duration // lifetime of issued tokens; default 30 days
	ShutdownTimeout time.Duration // maximum time for running requests to finish; default 10 s
	HeaderTimeout   time.Duration // maximum time until the headers of a request arrive; default 10 s
	IdleTimeout     time.Duration // maximum idle time of a connection; default 120 s
	QueryTimeout    time.Duration // maximum time of a database query; default 30 s, 0 for no limit
	LockTimeout     time.Duration // maximum wait for a lock of another PostgreSQL transaction; default 10 s, 0 for no limit
	Shares          Shares        // limits on how accounts use the database
	MaxHeaderBytes  int           // maximum size of the headers of a request in bytes; default 64 KiB
	MinBodyRate     int           // bytes per second that a client must send of a request body; default 1 KiB
	MinAnswerRate   int           // bytes per second that a client must read of a response; default 1 KiB
	AnswerBytes     Bytes         // limits of responses held in memory; default 128 MiB in total, 64 MiB for one account
	BodyBytes       Bytes         // limits of request bodies held in memory; default 64 MiB in total, 32 MiB for one account
	FileBytes       Bytes         // limits of stored files and running uploads; default 512 GiB, 64 GiB for one account
	Limits          Limits        // limits of all scripts; Service.Limits includes them
	HeapBytes       int64         // maximum heap of the process, above which the longest script is ended; 0 for the default
	Scripts         Scripts       // access of scripts to resources outside of the application
	Values          engine.Fields // settings that scripts can read, by name; see collectValues

	PublicURL          string         // scheme://host[:port] by which clients reach the server, or ""
	TrustedProxies     []netip.Prefix // proxies that may name the client in X-Forwarded-For or Forwarded
	SessionIdle        time.Duration  // time after which an unused browser session ends; default 30 minutes
	SessionLifetime    time.Duration  // time after which every browser session ends; default 12 hours
	SessionsPerAccount int            // sessions of one account; when exceeded, the oldest one ends; 0 means the default
	SessionsOfAll      int            // all sessions; when exceeded, the account with the most loses its oldest; 0 for the default
	Idempotency        Idempotency    // limits of stored responses to requests with an Idempotency-Key
	SignIn             SignIn         // limits of failed sign-ins
	Audit              Audit          // storage of audit events
	ChangesKept        time.Duration  // time after which entries of the change journal are deleted; default 0: never
	Images             Images         // thumbnails

	Unused  []Unused // parts of the configuration without effect, for restsrv check
	Skipped []string // names of modules in the configuration that restsrv does not have

	given map[string]given // the settings that the files contain, by name (see Origin)

	first  string  // the first source file, from which the values without an origin in merged come
	merged *merger // the merged configuration files; nil before they are read
}

// Service is an entry of modules.rest.globals.di that answers requests.
type Service struct {
	Name    string
	Builtin string          // name of the built-in module, "" for a script
	Script  string          // file of the script, relative to Dir with slashes, "" for a built-in
	Missing bool            // the script does not exist; Script is its most likely name
	Broken  bool            // the entry has a mistake, so the service answers 503
	Options engine.Fields   // options as written; use Resolve to replace references in them
	Mode    engine.AuthMode // authentication mode as written, even if it does not exist
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

// Bytes is a pair of limits, in bytes.
type Bytes struct {
	All        int64 // limit for all accounts together
	PerAccount int64 // limit for one account, or for one client network if requests have no account
}

// Class is a class described in deploy.json, as decoded JSON.
type Class struct {
	File  string
	Path  string
	Value any
}

// Object is an object in deploy.json that is created when the database is new.
type Object struct {
	Class  string // full name
	ID     string // the value of "_id", or ""
	Values engine.Fields
	Path   string // JSON path in File
}

// Known holds the names of modules and components that the server has.
type Known struct {
	Builtins   []string            // modules written in Go
	Components []string            // components for use in ion://name and lazy://name
	Lacking    []string            // the elements of Components that restsrv accepts but does not implement
	Options    map[string][]string // option names of built-in modules; the options of other modules are not checked
	// Env looks up the values of placeholders. If it is nil, the process environment is used.
	Env func(name string) (value string, ok bool)
}

// Load reads a deploy.json and the files merged with it (see Sources). It returns all mistakes,
// ordered by file and position. If one of the mistakes prevents the start, callers should not use
// the settings. The returned configuration is never nil and its field Dir is always set, so that
// callers can then find and check the class files too.
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

// readFiles reads the given files, merges them and loads the result.
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

// traceFaults changes faults that refer to a path in the merged configuration. Afterwards they
// refer to the source file that contains the value, and to the path of the value in that file.
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

// loader fills a Config from the merged configuration.
type loader struct {
	config    *Config
	known     Known
	faults    *engine.Faults
	lacks     map[string]string // placeholders without a value, by JSON path
	effective []string          // JSON paths of values that have an effect; see markRead
}

// The known names at the top level of the file and in modules.rest. IONDV uses deployer, import and
// statics; they have no effect here.
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
	gateways{l}.readGateways(modules)
	usage{l}.reportUsage(top, globals, modules, rest)
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

// childOf returns the object in a field of o. If the value has another type, childOf reports a
// mistake that is not fatal, and treats the field as absent. The child is lenient if o is
// lenient.
func childOf(o jsonfile.Object, name string) (child jsonfile.Object, ok bool) {
	lenient := o.Lenient
	o.Lenient = true
	child, ok = o.Child(name)
	child.Lenient = lenient
	return child, ok
}
