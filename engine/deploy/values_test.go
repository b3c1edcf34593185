package deploy

import (
	"path/filepath"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/service"
)

// TestValuesHaveNoSecrets checks that scripts can read the settings of the application with
// settings.get, and cannot read secrets of the server in any part of the file.
func TestValuesHaveNoSecrets(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, `-- deploy.json --
{"namespace": "app", "globals": {"vat": 20, "db": "sqlite:s3cret", "plugins": {"mail": {"module": "x", "options": {"password": "s3cret"}}},
 "jobs": {"nightly": {"di": {"worker": {"options": {"password": "s3cret"}}}}}},
 "modules": {"rest": {"globals": {"db": "sqlite:s3cret", "mail": {"from": "a@b.c"}, "di": {"x": {"module": "scripts/x", "options": {"key": "s3cret"}}}}},
  "portal": {"globals": {"di": {"gateway": {"options": {"clientSecret": "s3cret"}}}}}}}
-- scripts/x.js --
`)
	c, _ := Load(filepath.Join(dir, "deploy.json"), known)
	if text := string(engine.AppendValue(nil, c.Values)); strings.Contains(text, "s3cret") {
		t.Errorf("values for scripts: got a secret in %s", text)
	}
	for name, want := range map[string]string{"vat": `20`, "rest.mail": `{"from":"a@b.c"}`} {
		v, _ := service.Settings(c.Values).Get(name)
		if got := string(engine.AppendValue(nil, v)); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}
