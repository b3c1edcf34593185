package postgres

import (
	"os"
	"testing"

	"github.com/lib/pq"
)

// TestSSLMode holds what is spoken in the clear when nothing is said.
func TestSSLMode(t *testing.T) {
	t.Setenv("PGSSLMODE", "") // so that it is put back
	if err := os.Unsetenv("PGSSLMODE"); err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]pq.SSLMode{
		"postgres://u@localhost/x":                     pq.SSLModeDisable,
		"postgres://u@127.0.0.1:5433/x":                pq.SSLModeDisable,
		"postgres://u@[::1]/x":                         pq.SSLModeDisable,
		"postgres://u@/x":                              pq.SSLModeDisable,
		"postgres://u@/x?host=/run/postgresql":         pq.SSLModeDisable,
		"postgres://u@db.example.org/x":                pq.SSLModeRequire,
		"postgresql://u@10.0.0.1/x":                    pq.SSLModeRequire,
		"postgres://u@localhost,db.example.org/x":      pq.SSLModeRequire,
		"postgres://u@localhost/x?hostaddr=10.0.0.1":   pq.SSLModeRequire,
		"postgres://u@localhost/x?sslmode=require":     pq.SSLModeRequire,
		"postgres://u@db.example.org/x?sslmode=prefer": pq.SSLModePrefer,
	} {
		cfg, err := parse(address)
		if err != nil || cfg.SSLMode != want {
			t.Errorf("%s: got %q, %v, want %q", address, cfg.SSLMode, err, want)
		}
	}
	t.Setenv("PGSSLMODE", "verify-full")
	if cfg, err := parse("postgres://u@localhost/x"); err != nil || cfg.SSLMode != pq.SSLModeVerifyFull {
		t.Errorf("PGSSLMODE is not heeded: %q, %v", cfg.SSLMode, err)
	}
}

func TestArray(t *testing.T) {
	for want, list := range map[string][]any{
		`{}`:                             nil,
		`{NULL,"","NULL","a\"b\\c","{"}`: {nil, "", "NULL", `a"b\c`, "{"},
		`{1,-2,0.1,1e+300,true,false}`:   {int64(1), int64(-2), 0.1, 1e300, true, false},
	} {
		if got := array(list); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
