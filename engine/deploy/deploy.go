// Package deploy reads deploy.json: it owns the shape of that file, the
// defaults of every setting in it, where modules are found, and all checks of
// both. It is not for what the file hands on: classes go to engine/meta,
// scripts to engine/script, and references to components stay text until
// Resolve is given the components.
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

// Config is everything that one deploy.json says, with defaults filled in.
type Config struct {
	Dir       string // the application directory, absolute; every relative path starts there
	File      string // name of the file within Dir, as faults give it; what other files add goes by its name, too
	Namespace string // of classes without their own, "" for none

	Services []Service // in the order of the file; token is always among them
	Classes  []Class   // inline classes, for engine/meta
	Objects  []Object  // created when the database is new; see Records

	OAuth    *Plugin       // what makes the server an OAuth2 provider; nil without it
	MetaMap  *Plugin       // aclMetaMap: who accounts are besides themselves; nil without it
	Profiles []Plugin      // customProfile: what is added to the properties of accounts
	RoleMap  engine.Fields // of securedDataRepo: classes with their roles
	Gateways []Gateway
	Read     []string // files besides *.ini that are read for it, absolute; also those that cannot be

	RoleMapPath          string            // JSON path of RoleMap in File
	CaseInsensitiveLogin bool              // names of accounts compare without regard to letter case
	Components           map[string]string // other names of components, "" for one that no service calls; see AddNames

	DB              string        // sqlite:PATH, PATH as written, or postgres://...; default sqlite:restsrv.db
	Pool            int           // connections to PostgreSQL; 0 leaves it at its default
	Synchronous     string        // full (default) or normal: when SQLite waits for the disk
	Addr            string        // host:port; default 127.0.0.1:8888
	TokenLifetime   time.Duration // of issued tokens; default 30 days
	ShutdownTimeout time.Duration // for requests to finish; default 10 s
	HeaderTimeout   time.Duration // for a request's headers to arrive; default 10 s
	IdleTimeout     time.Duration // of a kept connection; default 120 s
	QueryTimeout    time.Duration // for a query of the database; default 30 s, 0 for no limit
	LockTimeout     time.Duration // for a lock that another transaction of PostgreSQL holds; default 10 s, 0 for no limit
	Shares          Shares        // of the database
	MaxHeaderBytes  int           // of a request; default 64 KiB
	MinBodyRate     int           // bytes a second a request's body must arrive with; default 1 KiB
	MinAnswerRate   int           // bytes a second at which a client must read its answers; default 1 KiB
	AnswerBytes     Bytes         // of answers in memory; default 128 MiB, 64 MiB for one account
	BodyBytes       Bytes         // of bodies in memory; default 64 MiB, 32 MiB for one account
	FileBytes       Bytes         // of stored files and uploads under way; default 512 GiB, 64 GiB per account
	Limits          Limits        // of every script; Service.Limits has them already
	HeapBytes       int64         // of the process over which the longest script is ended; 0 for the default
	Scripts         Scripts       // what scripts reach outside of the application
	Values          engine.Fields // what the file says by name, for scripts; see values

	PublicURL          string         // scheme://host[:port] by which clients reach the server; "" when not given
	TrustedProxies     []netip.Prefix // who is believed about whom it forwards requests of
	SessionIdle        time.Duration  // after which an unused browser session ends; default 30 minutes
	SessionLifetime    time.Duration  // after which any ends; default 12 hours
	SessionsPerAccount int            // of which a further one ends the oldest; 0 means the default
	SessionsOfAll      int            // of which a further one ends the oldest of the account with the most; 0 means the default
	Idempotency        Idempotency    // what is stored for an Idempotency-Key
	SignIn             SignIn         // what failed sign-ins lead to
	Audit              Audit          // where events are kept
	ChangesKept        time.Duration  // for how long records of the journal are kept; 0, the default, for ever
	Images             Images         // thumbnails

	Unused  []Unused // what has no effect here, which restsrv check tells
	Skipped []string // modules that are not here

	first  string  // the file in which is what merged does not say otherwise
	merged *merger // of the files of the configuration; nil before they are read
}

// Service is one routed service of modules.rest.globals.di.
type Service struct {
	Name    string
	Builtin string          // name of the builtin module, "" for a script
	Script  string          // file of the script, relative to Dir with slashes, "" for a builtin
	Missing bool            // Script does not exist: it is the first place looked at
	Broken  bool            // it answers 503, because of a mistake in its entry
	Options engine.Fields   // as written; Resolve replaces references in them
	Mode    engine.AuthMode // as written, also when no such mode exists
	Limits  Limits          // of a script
	Path    string          // JSON path of the entry in File
}

// Scripts is what scripts may reach outside of the application, "scripts" in the
// file. The zero value, which is the default, lets them reach nothing.
type Scripts struct {
	NodeModules  bool          // packages in node_modules of the application directory
	Env          []string      // names of variables in process.env
	FetchHosts   []string      // host, host:port, *.domain, or * for all
	FetchPrivate bool          // addresses of this machine and of private networks, too
	FetchTimeout time.Duration // of one request; 0 for the default
	FetchBytes   int64         // of an answer; 0 for the default
}

// Bytes is a bound on memory.
type Bytes struct {
	All        int64 // of all requests together
	PerAccount int64 // of the requests of one account, or of one network without accounts
}

// Class is an inline class: decoded JSON and where it stands.
type Class struct {
	File  string
	Path  string
	Value any
}

// Object is an inline object.
type Object struct {
	Class  string // full name
	ID     string // its "_id", "" when not given
	Values engine.Fields
	Path   string // JSON path in File
}

// Known are the names that the server can resolve.
type Known struct {
	Builtins   []string            // modules written in Go
	Components []string            // what ion://name and lazy://name may name
	Lacking    []string            // of these, those that are known by name alone
	Options    map[string][]string // what builtins take, of those whose options are known
	// Env looks placeholders up; nil means the environment of the process.
	Env func(name string) (value string, ok bool)
}

// Load reads a deploy.json. It returns every mistake in it, in file order; the
// configuration may be used only when all of them are warnings, but is never
// nil and always has Dir, so that the class files beside it can be checked too.
func Load(file string, known Known) (*Config, engine.Faults) {
	c := defaults()
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
	return c, c.read(sources, known)
}

func defaults() *Config {
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

// read reads the sources of the configuration and what they say together.
func (c *Config) read(files []string, known Known) engine.Faults {
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
		whole = m.add(whole, s)
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
	c.trace(faults)
	arrange(faults, func(file string) placer { return places[file] })
	return faults
}

// trace has faults of the configuration name the file, of several, that they are
// in.
func (c *Config) trace(faults engine.Faults) {
	for i, f := range faults {
		if f.File != c.File || f.Path == "" || f.Line > 0 || c.merged == nil {
			continue
		}
		if o, ok := c.merged.of(f.Path); ok {
			faults[i].File, faults[i].Path = o.file, o.path
		} else {
			faults[i].File = c.first
		}
	}
}

// Abs returns the path that a relative one of the configuration stands for.
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
	lacks     map[string]string // placeholders that nothing fills in, by JSON path
	effective []string          // JSON paths of what has an effect; see read
}

// What the top of the file and modules.rest may hold; deployer, import and
// statics belong to the ancestor and have no effect.
var (
	topNames  = []string{"namespace", "parametrised", "globals", "modules", "classes", "objects", "deployer"}
	restNames = []string{"globals", "import", "statics"}
)

func (l *loader) load(top jsonfile.Object) {
	top.WarnUnknown(topNames)
	lenient := top
	lenient.Lenient = true
	if lenient.Flag("parametrised", false) {
		l.parametrise(&top)
	}
	if l.config.Namespace = top.Text("namespace"); l.config.Namespace != "" && !jsonfile.ValidName(l.config.Namespace) {
		top.Fault("namespace", engine.Quote(l.config.Namespace), jsonfile.NameRule)
	}
	globals, _ := part(top, "globals")
	modules, _ := part(top, "modules")
	rest, ok := part(modules, "rest")
	if ok {
		rest.WarnRepeated()
		rest.WarnUnknown(restNames)
	}
	inner, _ := part(rest, "globals")
	for _, o := range []jsonfile.Object{globals, modules, inner} {
		o.WarnRepeated()
	}
	l.settings(globals, inner)
	l.values(globals, modules)
	l.plugins(globals)
	l.aliases(globals)
	l.aliases(inner)
	l.services(inner)
	l.gateways(modules)
	l.usage(top, globals, modules, rest)
	l.warnUnsecured(top)
	l.warnLacking(top, globals)
	lenient = top // with placeholders filled in
	lenient.Lenient = true
	for i, v := range lenient.List("classes") {
		l.config.Classes = append(l.config.Classes, Class{File: top.File, Path: jsonfile.Element("classes", i), Value: v})
	}
	for i, v := range lenient.List("objects") {
		l.object(top, jsonfile.Element("objects", i), v)
	}
}

// part reads an object that counts as absent if it is something else. What it holds
// is read as what o holds.
func part(o jsonfile.Object, name string) (child jsonfile.Object, ok bool) {
	lenient := o.Lenient
	o.Lenient = true
	child, ok = o.Child(name)
	child.Lenient = lenient
	return child, ok
}
