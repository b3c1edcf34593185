package deploy

import (
	"encoding/json"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/suggest"
)

// The settings of the server are in modules.rest.globals or in globals. If both contain a
// setting, the value in modules.rest.globals applies. globals also holds settings of other
// modules, so an unknown name there is reported only if it resembles the name of a setting.
var (
	settingNames = []string{"db", "addr", "shutdownTimeout", "headerTimeout", "idleTimeout", "queryTimeout", "lockTimeout", "maxHeaderBytes", "minBodyRate", "minAnswerRate", "answerBytes", "bodyBytes", "fileBytes", "limits", "scripts",
		"publicURL", "trustedProxies", "session", "idempotency", "signIn", "audit", "changes", "shares"}
	innerNames = append([]string{"di", "authMode", "di-alias"}, settingNames...)
)

func (l *loader) readSettings(globals, inner jsonfile.Object) {
	inner.WarnUnknown(innerNames)
	for _, f := range globals.Fields {
		if near := suggest.Nearest(f.Name, settingNames); near != "" && !slices.Contains(settingNames, f.Name) {
			globals.Warn(globals.At(f.Name), "unknown name "+engine.Quote(f.Name), engine.Quote(near))
		}
	}
	c := l.config
	c.given = map[string]given{}
	in := func(name string) jsonfile.Object {
		o := globals
		if inner.Value(name) != nil {
			o = inner
		}
		if v := o.Value(name); v != nil {
			c.given[name] = given{o.At(name), v}
		}
		return o
	}
	l.readDatabase(in("db"))
	l.readAddress(in("addr"))
	c.ShutdownTimeout = readSeconds(in("shutdownTimeout"), "shutdownTimeout", 0, c.ShutdownTimeout)
	c.HeaderTimeout = readSeconds(in("headerTimeout"), "headerTimeout", time.Millisecond, c.HeaderTimeout)
	c.IdleTimeout = readSeconds(in("idleTimeout"), "idleTimeout", time.Millisecond, c.IdleTimeout)
	c.QueryTimeout = readSeconds(in("queryTimeout"), "queryTimeout", 0, c.QueryTimeout)
	c.LockTimeout = readSeconds(in("lockTimeout"), "lockTimeout", 0, c.LockTimeout)
	if n, ok := in("maxHeaderBytes").Whole("maxHeaderBytes", 1<<10, 16<<20); ok {
		c.MaxHeaderBytes = int(n)
	}
	l.globalLimits(in("limits"))
	l.readScripts(in("scripts"))
	if n, ok := in("minBodyRate").Whole("minBodyRate", 1, 1<<30); ok {
		c.MinBodyRate = int(n)
	}
	if n, ok := in("minAnswerRate").Whole("minAnswerRate", 1, 1<<30); ok {
		c.MinAnswerRate = int(n)
	}
	inBytes(in("answerBytes"), "answerBytes", 1<<40, &c.AnswerBytes)
	inBytes(in("bodyBytes"), "bodyBytes", 1<<40, &c.BodyBytes)
	inBytes(in("fileBytes"), "fileBytes", 1<<50, &c.FileBytes)
	l.publicURL(in("publicURL"))
	l.trustedProxies(in("trustedProxies"))
	l.readSession(in("session"))
	l.readIdempotency(in("idempotency"))
	l.signIn(in("signIn"))
	l.readAudit(in("audit"))
	l.readChanges(in("changes"))
	l.readShares(in("shares"))
}

// inBytes reads {"all": bytes, "perAccount": bytes} into b. Both numbers must be at most most,
// and perAccount must be at most all.
func inBytes(o jsonfile.Object, name string, most int64, b *Bytes) {
	o, ok := o.Child(name)
	if !ok {
		return
	}
	o.WarnRepeated()
	o.WarnUnknown([]string{"all", "perAccount"})
	if n, ok := o.Whole("all", 1<<20, most); ok {
		b.All = n
	}
	if n, ok := o.Whole("perAccount", 1<<20, most); ok {
		if b.PerAccount = n; n > b.All {
			o.Fault(o.At("perAccount"), strconv.FormatInt(n, 10), "at most "+strconv.FormatInt(b.All, 10)+", the bytes of all accounts together")
		}
	}
	b.PerAccount = min(b.PerAccount, b.All)
}

// maxSeconds is the maximum of all durations in the configuration: 100 years.
const maxSeconds = 100 * 366 * 24 * 60 * 60

// readSeconds reads a duration in seconds, rounded to milliseconds. It returns def if the field is
// absent or not valid.
func readSeconds(o jsonfile.Object, name string, least, def time.Duration) time.Duration {
	v := o.Value(name)
	if v == nil {
		return def
	}
	if n, is := v.(json.Number); is {
		f, err := strconv.ParseFloat(string(n), 64)
		if d := time.Duration(math.Round(f*1000)) * time.Millisecond; err == nil && f >= 0 && f <= maxSeconds && d >= least {
			return d
		}
	}
	o.Fault(o.At(name), jsonfile.Describe(v), "a number of seconds from "+string(engine.AppendFloat(nil, least.Seconds()))+" to "+strconv.Itoa(maxSeconds))
	return def
}

// readDatabase reads the setting db. It is an address such as "sqlite:PATH", or an object with the
// address as "url". The object can also have "synchronous" for SQLite and "pool" for PostgreSQL.
func (l *loader) readDatabase(o jsonfile.Object) {
	name := "db"
	if _, ok := o.Value(name).(engine.Fields); ok {
		o, _ = o.Child(name)
		o.WarnRepeated()
		o.WarnUnknown([]string{"url", "synchronous", "pool"})
		if n, ok := o.Whole("pool", 2, 1000); ok {
			l.config.Pool = int(n)
		}
		switch s := o.Text("synchronous"); s {
		case "":
		case "full", "normal":
			l.config.Synchronous = s
		default:
			o.Fault(o.At("synchronous"), engine.Quote(s), "full or normal")
		}
		name = "url"
	}
	url := o.Text(name)
	path, sqlite := strings.CutPrefix(url, "sqlite:")
	switch {
	case url == "":
	case sqlite && path != "" && !strings.ContainsAny(path, "?#\x00"):
		l.config.DB = url
	case strings.HasPrefix(url, "postgres://"), strings.HasPrefix(url, "postgresql://"):
		l.config.DB = url // connecting reports mistakes in the rest of the URL
	case sqlite:
		o.Fault(o.At(name), engine.Quote(url), "sqlite:PATH, PATH without ? and #")
	default:
		// The fault does not contain the value of the setting, since the value may contain a
		// password.
		o.Fault(o.At(name), "another kind of address", "sqlite:PATH or postgres://user:password@host:port/database")
	}
}

func (l *loader) readAddress(o jsonfile.Object) {
	addr := o.Text("addr")
	if addr == "" {
		return
	}
	_, port, err := net.SplitHostPort(addr)
	if n, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || n > math.MaxUint16 {
		o.Fault(o.At("addr"), engine.Quote(addr), "host:port, such as 127.0.0.1:8888")
		return
	}
	l.config.Addr = addr
}
