package command

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"restsrv/engine/audit"
	"restsrv/engine/deploy"
	"restsrv/engine/image"
	"restsrv/engine/replay"
	"restsrv/engine/script/platform"
	"restsrv/engine/script/vm"
	"restsrv/engine/server"
	"restsrv/engine/server/appdata"
	"restsrv/engine/session"
	"restsrv/engine/store/postgres"
)

const configUsage = `restsrv config prints each setting with the value that a server would use, and where
the value comes from: a flag, a variable of the environment, a line of deploy.json, or
the default. Passwords are not shown. engine/deploy/SETTINGS.md describes the settings.

  restsrv config               print all settings
  restsrv config signIn addr   print some of them
  restsrv config -set          leave out the settings with their default

With -json each setting is a JSON object on a line of its own, with the members name,
value, origin (flag, environment, file or default), and for some of them source, the
name of the flag, variable or file, and line.
`

// setting is a setting with its effective value and the place that sets it.
type setting struct {
	Name   string `json:"name"`
	Value  any    `json:"value"`
	Origin string `json:"origin"` // flag, environment, file or default
	Source string `json:"source,omitempty"`
	Line   int    `json:"line,omitempty"`
}

// configRun holds the flags and the output of one call of restsrv config.
type configRun struct {
	config          *deploy.Config
	db, addr        string // flags
	io              Stdio
	named           []string
	all             []setting
	asJSON, onlySet bool
}

// configCommand runs restsrv config.
func configCommand(_ context.Context, args []string, s Stdio) error {
	r := &configRun{io: s}
	c := newCommandLine("config", "", configUsage, s)
	var file string
	c.databaseFlags(&file, &r.db)
	c.set.StringVar(&r.addr, "addr", "", "address, as for the server")
	c.set.BoolVar(&r.asJSON, "json", false, "print a JSON object for each setting")
	c.set.BoolVar(&r.onlySet, "set", false, "leave out settings with their default")
	var err error
	if r.named, err = c.parse(args); err != nil {
		return err
	}
	a, err := server.LoadApplication(first(file, "deploy.json"), false)
	if a.Config == nil || err != nil && len(a.Config.Read) == 0 {
		return err
	}
	for _, w := range a.Warnings {
		fmt.Fprintln(s.Err, "warning:", w)
	}
	if err != nil {
		return fmt.Errorf("the application cannot be read:\n%w", err)
	}
	r.config = a.Config
	r.addAll()
	for _, name := range r.named {
		if !r.isKnown(name) {
			var known []string
			for _, s := range r.all {
				known = append(known, s.Name)
			}
			return c.usageError("there is no setting %q%s", name, nearestHint(name, known))
		}
	}
	return r.print()
}

func (r *configRun) isKnown(name string) bool {
	for _, s := range r.all {
		if isPartOf(s.Name, name) {
			return true
		}
	}
	return false
}

// isPartOf reports whether a setting is the named one or a member of it.
func isPartOf(setting, name string) bool {
	return setting == name || strings.HasPrefix(setting, name+".")
}

// add adds a setting of deploy.json.
func (r *configRun) add(name string, value any) {
	s := setting{Name: name, Value: value, Origin: "default"}
	if file, line := r.config.Origin(name); file != "" {
		s.Origin, s.Source, s.Line = "file", file, line
	}
	r.all = append(r.all, s)
}

// addOverridden adds a setting that a flag or an environment variable can override. show returns
// the value in the form in which it is printed, for example without a password.
func (r *configRun) addOverridden(name, flag, variable, value string, show func(string) string) {
	r.add(name, show(value))
	last := &r.all[len(r.all)-1]
	if v := r.io.Env(variable); v != "" {
		*last = setting{Name: name, Value: show(v), Origin: "environment", Source: variable}
	}
	if flag != "" {
		*last = setting{Name: name, Value: show(flag), Origin: "flag", Source: "-" + name}
	}
}

// addAll adds all settings, first the settings of the server.
func (r *configRun) addAll() {
	c := r.config
	plain := func(text string) string { return text }
	r.addOverridden("addr", r.addr, "RESTSRV_ADDR", c.Addr, plain)
	r.addOverridden("db", r.db, "RESTSRV_DB", c.DB, appdata.WithoutSecrets)
	r.add("db.synchronous", c.Synchronous)
	r.add("db.pool", orDefault(c.Pool, postgres.DefaultPool))
	admin := setting{Name: "RESTSRV_ADMIN_PASSWORD", Value: "not set", Origin: "default"}
	if r.io.Env(admin.Name) != "" {
		admin = setting{Name: admin.Name, Value: "set, and not shown", Origin: "environment", Source: admin.Name}
	}
	r.all = append(r.all, admin)
	r.add("publicURL", c.PublicURL)
	r.add("trustedProxies", textsOf(c.TrustedProxies))
	r.add("tokenLifetime", seconds(c.TokenLifetime))
	r.add("session.idle", seconds(c.SessionIdle))
	r.add("session.lifetime", seconds(c.SessionLifetime))
	r.add("session.perAccount", orDefault(c.SessionsPerAccount, session.DefaultPerAccount))
	r.add("session.all", orDefault(c.SessionsOfAll, session.DefaultAll))
	r.add("signIn.perAccount", c.SignIn.PerAccount)
	r.add("signIn.perAddress", c.SignIn.PerAddress)
	r.add("signIn.delayFrom", c.SignIn.DelayFrom)
	r.add("signIn.maxDelay", seconds(c.SignIn.MaxDelay))
	r.add("idempotency.keys", orDefault(c.Idempotency.Keys, replay.DefaultKeys))
	r.add("idempotency.bytes", orDefault(c.Idempotency.Bytes, replay.DefaultBytes))
	r.add("idempotency.totalBytes", orDefault(c.Idempotency.TotalBytes, replay.DefaultTotal))
	r.add("idempotency.answerBytes", orDefault(c.Idempotency.AnswerBytes, replay.DefaultAnswer))
	r.add("audit", c.Audit.On)
	r.add("audit.keep", days(c.Audit.Keep))
	r.add("audit.rows", orDefault(c.Audit.Rows, audit.DefaultRows))
	if c.ChangesKept == 0 {
		r.add("changes.keep", "forever")
	} else {
		r.add("changes.keep", days(c.ChangesKept))
	}
	r.addNetwork()
	r.addScripts()
	for _, svc := range c.Services {
		r.add("authMode."+svc.Name, string(svc.Mode))
	}
}

// addNetwork adds the timeouts and the limits of requests and of the database.
func (r *configRun) addNetwork() {
	c := r.config
	r.add("headerTimeout", seconds(c.HeaderTimeout))
	r.add("idleTimeout", seconds(c.IdleTimeout))
	r.add("shutdownTimeout", seconds(c.ShutdownTimeout))
	r.add("queryTimeout", seconds(c.QueryTimeout))
	r.add("lockTimeout", seconds(c.LockTimeout))
	if c.Shares.Scans == 0 {
		r.add("shares.scans", "by the number of processors or connections")
	} else {
		r.add("shares.scans", c.Shares.Scans)
	}
	r.add("shares.scansWaiting", c.Shares.ScansWaiting)
	r.add("shares.scanWait", seconds(c.Shares.ScanWait))
	r.add("shares.writesWaiting", c.Shares.WritesWaiting)
	r.add("maxHeaderBytes", c.MaxHeaderBytes)
	r.add("minBodyRate", c.MinBodyRate)
	r.add("minAnswerRate", c.MinAnswerRate)
	for _, b := range []struct {
		name  string
		bytes deploy.Bytes
	}{{"answerBytes", c.AnswerBytes}, {"bodyBytes", c.BodyBytes}, {"fileBytes", c.FileBytes}} {
		r.add(b.name+".all", b.bytes.All)
		r.add(b.name+".perAccount", b.bytes.PerAccount)
	}
	r.add("imageStorage.memory", orDefault(c.Images.Memory, image.DefaultMemory))
}

// addScripts adds the limits of scripts, and the resources outside the application that they can access.
func (r *configRun) addScripts() {
	c := r.config
	l := server.ScriptLimits(c.Limits).WithDefaults()
	r.add("limits.cpuTime", seconds(l.CPU))
	r.add("limits.wallTime", seconds(l.Wall))
	r.add("limits.transactionTime", seconds(l.Transaction))
	r.add("limits.loadTime", seconds(l.Load))
	r.add("limits.idle", seconds(l.Idle))
	for _, n := range []struct {
		name  string
		value int
	}{
		{"callDepth", l.CallStack}, {"vms", l.VMs}, {"inFlight", l.InFlight}, {"queue", l.Queue}, {"bodyBytes", l.Body},
		{"responseBytes", l.Response}, {"jsonDepth", l.Depth}, {"rows", l.Rows}, {"textBytes", l.Text}, {"elements", l.Elements},
		{"timers", l.Timers}, {"sharedBytes", l.Shared},
	} {
		r.add("limits."+n.name, n.value)
	}
	r.add("limits.heapBytes", vm.HeapLimit(c.HeapBytes))
	s := c.Scripts
	r.add("scripts.nodeModules", s.NodeModules)
	r.add("scripts.env", append([]string{}, s.Env...))
	r.add("scripts.fetch.hosts", append([]string{}, s.FetchHosts...))
	r.add("scripts.fetch.private", s.FetchPrivate)
	r.add("scripts.fetch.timeout", seconds(orDefault(s.FetchTimeout, platform.DefaultFetchTimeout)))
	r.add("scripts.fetch.maxBytes", orDefault(s.FetchBytes, platform.DefaultFetchBytes))
}

// print prints all settings, or those that the arguments name.
func (r *configRun) print() error {
	w := tabwriter.NewWriter(r.io.Out, 0, 0, 2, ' ', 0)
	lines := json.NewEncoder(r.io.Out)
	lines.SetEscapeHTML(false)
	for _, s := range r.all {
		if r.onlySet && s.Origin == "default" || !r.wants(s.Name) {
			continue
		}
		if r.asJSON {
			if err := lines.Encode(s); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", tableCell(s.Name), tableCell(shownValue(s.Value)), tableCell(s.origin()))
	}
	return w.Flush()
}

func (r *configRun) wants(name string) bool {
	for _, named := range r.named {
		if isPartOf(name, named) {
			return true
		}
	}
	return len(r.named) == 0
}

// origin returns the origin as readable text.
func (s setting) origin() string {
	switch {
	case s.Line > 0:
		return s.Source + ":" + strconv.Itoa(s.Line)
	case s.Source != "":
		return s.Source
	}
	return s.Origin
}

// shownValue returns a value in the notation of deploy.json.
func shownValue(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// seconds returns a duration in seconds, the unit in deploy.json.
func seconds(d time.Duration) float64 { return d.Seconds() }

func days(d time.Duration) int { return int(d / (24 * time.Hour)) }

// orDefault returns v, or def if v is zero.
func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

func textsOf(all []netip.Prefix) []string {
	texts := make([]string, len(all))
	for i, p := range all {
		texts[i] = p.String()
	}
	return texts
}
