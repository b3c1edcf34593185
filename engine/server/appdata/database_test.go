package appdata

import (
	"path/filepath"
	"testing"
)

func TestPasswordFileNames(t *testing.T) {
	dir := t.TempDir()
	for _, want := range []string{"admin-password", "admin-password-my.notes", "admin-password-my.notes-2", "admin-password-my.notes-3"} {
		file, err := writePassword(filepath.Join(dir, "my.notes.db"), "secret")
		if err != nil || file != filepath.Join(dir, want) {
			t.Errorf("got %s, %v, want %s", file, err, want)
		}
	}
}

func TestWithoutSecrets(t *testing.T) {
	for url, want := range map[string]string{
		"nonsense":                              "nonsense",
		"postgres://host/db":                    "postgres://host/db",
		"postgres://u:secret@host/db":           "postgres:…@host/db",
		"postgres://u:sec@ret/secret?@host/db":  "postgres:…@host/db",
		"postgres://host/db?password=secret&x=": "postgres://host/db…",
		"postgres://u:secret=@host/db?a=secret": "postgres:…@host/db…",
		"postgres:u:secret@host":                "postgres:…@host",
		"u:secret@host":                         "u:…@host",
		"secret@host":                           "…",
		"host=x password=secret user=y":         "host…",
		"host=x password=secret@1":              "…",
	} {
		if got := WithoutSecrets(url); got != want {
			t.Errorf("%s: got %s, want %s", url, got, want)
		}
	}
}
