package deploy

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"restsrv/engine"
)

var update = flag.Bool("update", false, "rewrite the expected part of testdata")

var known = Known{
	Builtins: []string{"acceptor", "crud", "echo", "meta", "token"},
	Components: []string{"dataRepo", "securedDataRepo", "metaRepo", "auth", "sysLog", "settings", "keyProvider",
		"cachedDataRepo", "aclProvider", "wsAuth", "fileStorage", "notifier"},
	Lacking: []string{"notifier"},
	Options: map[string][]string{"crud": {"auth", "dataRepo", "metaRepo", "maxCount"}, "echo": nil},
	Env: func(name string) (string, bool) {
		v, ok := map[string]string{"exact.name": "of its name", "REST_PORT": "8080", "DEEP_FLAG": "true"}[name]
		return v, ok
	},
}

// TestGolden loads the deploy.json of each case, in a folder with the other files of the case,
// and compares the faults and the configuration with the expected ones.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("got no cases, error %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			input, want, ok := strings.Cut(string(data), "-- want --\n")
			if !ok {
				t.Fatal("the case has no part -- want --")
			}
			dir := t.TempDir()
			write(t, dir, input)
			c, faults := Load(filepath.Join(dir, "deploy.json"), known)
			if c.Dir != dir {
				t.Errorf("Dir is %s, want %s", c.Dir, dir)
			}
			got := report(c, faults)
			if *update {
				if err := os.WriteFile(file, []byte(input+"-- want --\n"+got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != want {
				t.Errorf("got:\n%swant:\n%s", got, want)
			}
		})
	}
}

var heading = regexp.MustCompile(`(?m)^-- (.+) --\n`)

// write creates the files of a case.
func write(t *testing.T, dir, input string) {
	t.Helper()
	marks := heading.FindAllStringSubmatchIndex(input, -1)
	for i, m := range marks {
		end := len(input)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		file := filepath.Join(dir, filepath.FromSlash(input[m[2]:m[3]]))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(input[m[1]:end]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// report returns the faults as text. If the server would start, it adds the configuration.
func report(c *Config, faults engine.Faults) string {
	var b strings.Builder
	for _, f := range faults {
		if f.Level != engine.Fatal {
			b.WriteString(strings.TrimSpace(f.Level.String()+" "+f.Code) + ": ")
		}
		b.WriteString(f.String() + "\n")
	}
	if errs, _ := faults.Split(false); len(errs) > 0 {
		return b.String()
	}
	var unused engine.Faults
	for _, u := range c.Unused {
		unused = append(unused, u.Fault)
	}
	for _, f := range c.Locate(unused) {
		b.WriteString("unused: " + f.String() + "\n")
	}
	fmt.Fprintf(&b, "namespace %q db %s synchronous %s pool %d addr %s\n", c.Namespace, c.DB, c.Synchronous, c.Pool, c.Addr)
	fmt.Fprintf(&b, "token %v shutdown %v header %v idle %v query %v headers %d body %d/s\n", c.TokenLifetime, c.ShutdownTimeout,
		c.HeaderTimeout, c.IdleTimeout, c.QueryTimeout, c.MaxHeaderBytes, c.MinBodyRate)
	if usual := defaultConfig(); c.PublicURL != "" || c.TrustedProxies != nil || c.SessionIdle != usual.SessionIdle || c.SessionLifetime != usual.SessionLifetime {
		fmt.Fprintf(&b, "public %q proxies %v session %v %v\n", c.PublicURL, c.TrustedProxies, c.SessionIdle, c.SessionLifetime)
	}
	if c.SignIn != defaultSignIn() || c.Audit != (Audit{Keep: 90 * day}) {
		fmt.Fprintf(&b, "signIn %v audit %v\n", c.SignIn, c.Audit)
	}
	if c.Shares != defaultShares() {
		fmt.Fprintf(&b, "shares %+v\n", c.Shares)
	}
	if c.ChangesKept != 0 {
		fmt.Fprintf(&b, "changes %v\n", c.ChangesKept)
	}
	if c.HeapBytes != 0 {
		fmt.Fprintf(&b, "heapBytes %d\n", c.HeapBytes)
	}
	if s := c.Scripts; s.NodeModules || s.Env != nil || s.FetchHosts != nil || s.FetchPrivate || s.FetchTimeout != 0 || s.FetchBytes != 0 {
		fmt.Fprintf(&b, "scripts nodeModules=%v env=%q fetch hosts=%q private=%v timeout=%v maxBytes=%d\n",
			s.NodeModules, s.Env, s.FetchHosts, s.FetchPrivate, s.FetchTimeout, s.FetchBytes)
	}
	for _, s := range c.Services {
		fmt.Fprintf(&b, "service %s mode=%s", s.Name, s.Mode)
		if s.Builtin != "" {
			fmt.Fprintf(&b, " builtin=%s", s.Builtin)
		}
		if s.Script != "" {
			fmt.Fprintf(&b, " script=%s", s.Script)
		}
		if s.Broken {
			b.WriteString(" broken")
		}
		if s.Missing {
			b.WriteString(" missing")
		}
		for _, limit := range s.Limits.timeLimits() {
			if *limit.to != 0 {
				fmt.Fprintf(&b, " %s=%v", limit.name, *limit.to)
			}
		}
		for _, limit := range s.Limits.wholeLimits() {
			if *limit.to != 0 {
				fmt.Fprintf(&b, " %s=%v", limit.name, *limit.to)
			}
		}
		if s.Options != nil {
			fmt.Fprintf(&b, " options=%s", engine.AppendValue(nil, s.Options))
		}
		b.WriteByte('\n')
	}
	reportPlugins(&b, c)
	for _, class := range c.Classes {
		fmt.Fprintf(&b, "class %s: %s\n", class.Path, engine.AppendValue(nil, class.Value))
	}
	for _, o := range c.Objects {
		fmt.Fprintf(&b, "object %s: class=%s id=%q %s\n", o.Path, o.Class, o.ID, engine.AppendValue(nil, o.Values))
	}
	return b.String()
}

func reportPlugins(b *strings.Builder, c *Config) {
	plugin := func(kind string, p Plugin) {
		fmt.Fprintf(b, "%s %s at %s options=%s\n", kind, p.Name, p.Path, engine.AppendValue(nil, p.Options))
	}
	if c.OAuth != nil {
		plugin("oauth", *c.OAuth)
	}
	if c.MetaMap != nil {
		plugin("map", *c.MetaMap)
	}
	for _, p := range c.Profiles {
		plugin("profile", p)
	}
	if c.CaseInsensitiveLogin {
		b.WriteString("logins compare without case\n")
	}
	if c.RoleMap != nil {
		fmt.Fprintf(b, "roles at %s %s\n", c.RoleMapPath, engine.AppendValue(nil, c.RoleMap))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Components)) {
		fmt.Fprintf(b, "component %s is %q\n", name, c.Components[name])
	}
	for _, g := range c.Gateways {
		fmt.Fprintf(b, "gateway %s at %s base=%q endpoint=%q account=%s secret=%s token=%q %v\n",
			g.Name, g.Path, g.Base, g.Endpoint, g.Account, g.Secret, g.TokenPath, g.Routes)
	}
}
