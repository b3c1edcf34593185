package postgres

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/lib/pq"
)

// TestSSLMode checks that only local connections are unencrypted if there is no explicit setting.
func TestSSLMode(t *testing.T) {
	t.Setenv("PGSSLMODE", "") // makes the test restore the variable at its end
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

		"postgres://u@localhost:5433,127.0.0.1:5434/x":                            pq.SSLModeDisable,
		"postgres://u@[::1]:5433,%2Frun%2Fpostgresql/x":                           pq.SSLModeDisable,
		"postgres://u@localhost:5433,db.example.org:5434/x":                       pq.SSLModeRequire,
		"postgres://u@%2Frun%2Fpostgresql,db.example.org/x":                       pq.SSLModeRequire,
		"postgres://u@%2Frun%2Fpostgresql,db.example.org/x?sslmode=verify-full":   pq.SSLModeVerifyFull,
		"postgres://u@%2Frun%2Fpostgresql,db.example.org/x?sslmode=disable":       pq.SSLModeDisable,
		"postgres://u@%2Frun%2Fpostgresql/x?sslmode=verify-full":                  pq.SSLModeDisable,
		"postgres://u@localhost,localhost/x?hostaddr=127.0.0.1,10.0.0.1":          pq.SSLModeRequire,
		"postgres://u@db.example.org:5433,db2.example.org/x?sslrootcert=system":   pq.SSLModeVerifyFull,
		"postgres://u@[2001:db8::1]:5433,[2001:db8::2]:5433/x":                    pq.SSLModeRequire,
		"postgres://u@10.0.0.1:5432,10.0.0.2:5432/x?target_session_attrs=primary": pq.SSLModeRequire,
	} {
		cfg, err := parse(address)
		if err != nil || cfg.SSLMode != want {
			t.Errorf("%s: got %q, %v, want %q", address, cfg.SSLMode, err, want)
		}
	}
	t.Setenv("PGSSLMODE", "verify-full")
	if cfg, err := parse("postgres://u@localhost/x"); err != nil || cfg.SSLMode != pq.SSLModeVerifyFull {
		t.Errorf("PGSSLMODE=verify-full: got mode %q, %v", cfg.SSLMode, err)
	}
}

// servers returns the hosts that the driver will try, in order.
func servers(cfg pq.Config) []string {
	all := []string{fmt.Sprintf("%s %d", cfg.Host, cfg.Port)}
	for _, m := range cfg.Multi {
		all = append(all, fmt.Sprintf("%s %d", m.Host, m.Port))
	}
	return all
}

// noVariables removes the PostgreSQL variables that set hosts or TLS.
func noVariables(t testing.TB) {
	for _, name := range []string{"PGSSLMODE", "PGHOST", "PGHOSTADDR", "PGPORT", "PGSERVICE"} {
		t.Setenv(name, "") // makes the test restore the variable at its end
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHosts checks that hosts in an address have the same meaning as for libpq.
func TestHosts(t *testing.T) {
	noVariables(t)
	for address, want := range map[string][]string{
		"postgres://u@h1:5433,h2:5434/x?target_session_attrs=read-write": {"h1 5433", "h2 5434"},
		"postgres://u@h1:5433,h2,h3:5434/x":                              {"h1 5433", "h2 5432", "h3 5434"},
		"postgres://u@h1,h2:5434/x":                                      {"h1 5432", "h2 5434"},
		"postgres://u@h1,h2,h3/x":                                        {"h1 5432", "h2 5432", "h3 5432"},
		"postgres://u@h1,h2/x?port=5433,5434":                            {"h1 5433", "h2 5434"},
		"postgres://u@h1,h2/x?port=5433":                                 {"h1 5433", "h2 5433"},
		"postgres://u@h1:1,h2:2/x?port=5433,5434":                        {"h1 5433", "h2 5434"},
		"postgres://u@h1:1,h2:2/x?host=h3,h4":                            {"h3 1", "h4 2"},
		"postgres://u@/x?host=h1,h2&port=5433,5434":                      {"h1 5433", "h2 5434"},
		"postgres://u:p%40ss@[::1]:5433,[2001:db8::1],h:5434/x":          {"::1 5433", "2001:db8::1 5432", "h 5434"},
		"postgres://u@[fe80::1%25eth0]:5433/x":                           {"fe80::1%eth0 5433"},
		"postgres://u@[::1]/x":                                           {"::1 5432"},
		"postgres://%2Ftmp%2Fa,%2Ftmp%2Fb:5433/x":                        {"/tmp/a 5432", "/tmp/b 5433"},
		"postgres://:5433,h2/x":                                          {"localhost 5433", "h2 5432"},
		"postgres://h1:5433,:5434":                                       {"h1 5433", "localhost 5434"},
		"postgresql://h1:5433,h2:5434?dbname=x":                          {"h1 5433", "h2 5434"},
		"postgres://:5433/x":                                             {"localhost 5433"},
		"postgres:///x":                                                  {"localhost 5432"},
		"postgres://":                                                    {"localhost 5432"},
	} {
		cfg, err := parse(address)
		if got := servers(cfg); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, %v, want %q", address, got, err, want)
		}
	}
	for _, address := range []string{"postgres://u:secret@h1:x,h2:1/x", "postgres://u:secret@h1:1:2/x", "postgres://u:secret@::1,h2/x", "postgres://u:secret@[::1,h2/x",
		"postgres://u:secret@[h1]:1,h2/x", "postgres://u:secret@[::1]1,h2/x", "postgres://u:secret@h1:0,h2/x", "postgres://u:secret@h1:65536/x", "postgres://u:secret@h%zz,h2/x",
		"postgres://u:secret@h1%2Ch2/x", "postgres://u:secret@h1 ,h2/x", "postgres://u:secret@h1,h2/x?sslmode=%zz", "postgres://u:secret@h1,h2/x?port=1,2,3", "mysql://u:secret@h1,h2/x", "h1,h2"} {
		if cfg, err := parse(address); !errors.Is(err, ErrAddress) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %q, %v, want %v", address, servers(cfg), err, ErrAddress)
		}
	}
	t.Setenv("PGHOST", "other1,other2,other3")
	if cfg, err := parse("postgres://u@h1,h2/x"); err != nil || !slices.Equal(servers(cfg), []string{"h1 5432", "h2 5432"}) {
		t.Errorf("the hosts of PGHOST must not be used, got %q, %v", servers(cfg), err)
	}
}

// TestRandomAddresses formats addresses from random parts, and checks that parsing returns the same parts.
func TestRandomAddresses(t *testing.T) {
	noVariables(t)
	random := rand.New(rand.NewPCG(1, 1))
	pick := func(all ...string) string { return all[random.IntN(len(all))] }
	for range 20_000 {
		user, password := pick("u", "ann@local", "ä:ö"), pick("", "p", "a/b?c#d@e:f,g%", "pa ss")
		var hosts, want []string
		for range 1 + random.IntN(4) {
			host, port := pick("h", "db-1.example.org", "10.0.0.1", "::1", "2001:db8::7", "/tmp", "@abstract"), ""
			written := url.PathEscape(host)
			switch {
			case strings.Contains(host, ":"):
				written = "[" + host + "]"
			case host == "@abstract":
				written = "%40abstract"
			}
			if random.IntN(2) == 0 {
				port = fmt.Sprint(1 + random.IntN(65535))
			}
			want = append(want, host+" "+cmp.Or(port, defaultPort))
			if port != "" || random.IntN(8) == 0 {
				written += ":" + port
			}
			hosts = append(hosts, written)
		}
		name := url.UserPassword(user, password).String()
		if password == "" {
			name = url.User(user).String()
		}
		address := pick("postgres", "postgresql") + "://" + name + "@" + strings.Join(hosts, ",") + pick("", "/", "/x", "/x?connect_timeout=3", "?connect_timeout=3")
		cfg, err := parse(address)
		if err != nil || cfg.User != user || cfg.Password != password || !slices.Equal(servers(cfg), want) {
			t.Fatalf("%s: got %q, user %q, password %q, %v, want %q", address, servers(cfg), cfg.User, cfg.Password, err, want)
		}
	}
}

// FuzzAddress checks that the error for an invalid address does not contain the password. It also checks that
// connections to other machines are encrypted, except if the address turns encryption off.
func FuzzAddress(f *testing.F) {
	for _, s := range []string{"h1:5433,h2:5434/x?target_session_attrs=read-write", "[::1]:1,%2Ftmp/x", ",,:1", "h?host=a,b&port=1,2", "h/x?sslmode=disable", "@h:1,@", "h?hostaddr=10.0.0.1", "%2F,h?sslmode=prefer"} {
		f.Add(s)
	}
	noVariables(f)
	f.Fuzz(func(t *testing.T, rest string) {
		cfg, err := parse("postgres://u:se-cret@" + rest)
		if err != nil {
			if !errors.Is(err, ErrAddress) || strings.Contains(err.Error(), "se-cret") && !strings.Contains(rest, "se-cret") {
				t.Fatalf("%q: %v", rest, err)
			}
			return
		}
		if cfg.SSLMode == pq.SSLModeDisable && !strings.Contains(rest, "sslmode") && !strings.Contains(rest, "%") && !isLocal(cfg) {
			t.Fatalf("%q: %q are spoken to in the clear", rest, servers(cfg))
		}
	})
}

func TestArray(t *testing.T) {
	for want, list := range map[string][]any{
		`{}`:                             nil,
		`{NULL,"","NULL","a\"b\\c","{"}`: {nil, "", "NULL", `a"b\c`, "{"},
		`{1,-2,0.1,1e+300,true,false}`:   {int64(1), int64(-2), 0.1, 1e300, true, false},
	} {
		if got := formatArray(list); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
