package command_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/cmd/restsrv/command"
)

// runWith runs a command with variables of the environment, and returns its output without
// repeated spaces.
func runWith(t *testing.T, env map[string]string, args ...string) (out, errs string, err error) {
	t.Helper()
	var o, e bytes.Buffer
	err = command.Run(t.Context(), args, command.Stdio{In: strings.NewReader(""), Out: &o, Err: &e, Env: func(name string) string { return env[name] }})
	var lines []string
	for line := range strings.Lines(o.String()) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n"), e.String(), err
}

// TestConfig checks the values and origins of settings: flags, variables, several files
// and defaults. Passwords are masked.
func TestConfig(t *testing.T) {
	dir := apptest.WriteApplication(t, map[string]string{
		"deploy.json": `{"namespace": "s",
  "globals": {
    "addr": "127.0.0.1:7001",
    "db": {"url": "postgres://bob:geheim@db.example/app?password=geheim", "pool": 7},
    "signIn": {"perAccount": 3},
    "audit": true,
    "plugins": {"imageStorage": {"module": "core/impl/resource/ImageStorage", "options": {"memory": 99999999}}}
  },
  "modules": {"rest": {"globals": {
    "queryTimeout": 2.5,
    "authMode": {"a.b": "none"},
    "di": {"a.b": {"module": "builtin/echo"}, "token": {"module": "builtin/token", "options": {"tokenLifetime": 60}}}
  }}}
}`,
		"deploy/more.json": "{\"globals\": {\n \"scripts\": {\"env\": [\"HOME\"]}}}",
	})
	config := filepath.Join(dir, "deploy.json")
	out, errs, err := runWith(t, map[string]string{"RESTSRV_ADMIN_PASSWORD": "geheim"}, "config", "-config", config)
	if err != nil {
		t.Fatal(err, errs)
	}
	for _, want := range []string{
		"addr 127.0.0.1:7001 deploy.json:3", "db postgres:…@db.example/app… deploy.json:4", "db.pool 7 deploy.json:4", "db.synchronous full default",
		"RESTSRV_ADMIN_PASSWORD set, and not shown RESTSRV_ADMIN_PASSWORD", "signIn.perAccount 3 deploy.json:5", "signIn.perAddress 100 default",
		"audit true deploy.json:6", "audit.keep 90 default", "queryTimeout 2.5 deploy.json:10", "authMode.a.b none deploy.json:11",
		"tokenLifetime 60 deploy.json:12", `scripts.env ["HOME"] deploy/more.json:2`, "imageStorage.memory 99999999 deploy.json:7",
		"limits.rows 50000 default", "changes.keep forever default",
	} {
		if !strings.Contains("\n"+out+"\n", "\n"+want+"\n") {
			t.Errorf("restsrv config: got no line %q in\n%s", want, out)
		}
	}
	if strings.Contains(out+errs, "geheim") {
		t.Errorf("restsrv config shows a password:\n%s%s", out, errs)
	}
	out, _, err = runWith(t, map[string]string{"RESTSRV_DB": "postgres://ann:geheim@h/d", "RESTSRV_ADDR": ":1"}, "config", "-config", config, "-addr", ":2", "-json", "addr", "db.pool", "db")
	want := `{"name":"addr","value":":2","origin":"flag","source":"-addr"}
{"name":"db","value":"postgres:…@h/d","origin":"environment","source":"RESTSRV_DB"}
{"name":"db.synchronous","value":"full","origin":"default"}
{"name":"db.pool","value":7,"origin":"file","source":"deploy.json","line":4}`
	if err != nil || out != want {
		t.Errorf("restsrv config -json: got %v\n%s\nwant\n%s", err, out, want)
	}
	if out, _, err = runWith(t, nil, "config", "-config", config, "-set", "signIn"); err != nil || out != "signIn.perAccount 3 deploy.json:5" {
		t.Errorf("restsrv config -set signIn: got %v and %q, want one setting", err, out)
	}
	_, errs, err = runWith(t, nil, "config", "-config", config, "qeryTimeout")
	if !errors.Is(err, command.ErrUsage) || !strings.Contains(errs, `is "queryTimeout" meant?`) {
		t.Errorf("restsrv config qeryTimeout: got %v and %q, want a suggestion", err, errs)
	}
}

// TestConfigHasEachSetting compares restsrv config with the table of settings.
func TestConfigHasEachSetting(t *testing.T) {
	config := filepath.Join(apptest.WriteApplication(t, map[string]string{"deploy.json": "{}"}), "deploy.json")
	out := apptest.MustRun(t, "config", "-config", config)
	document := apptest.ReadFile(t, filepath.Join(apptest.Root, "engine/deploy/SETTINGS.md"))
	_, table, _ := strings.Cut(document, "| --- |")
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		for _, name := range strings.Split(cell, ", ") {
			if name = strings.Trim(name, "`"); !strings.Contains("\n"+out, "\n"+name+" ") && !strings.Contains("\n"+out, "\n"+name+".") {
				t.Errorf("restsrv config: got no setting %s, which SETTINGS.md has", name)
			}
		}
	}
}
