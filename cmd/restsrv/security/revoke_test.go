package security

import (
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"
)

// revocationTime is the time after a change during which another process may still accept
// credentials that the change has revoked.
const revocationTime = time.Second

// byCommand stands for a change that a command made. It is used in place of the number of a
// server.
const byCommand = -1

// revocation is a change after which some ways of access must end. A way of access is a credential
// of an account or of a client.
type revocation struct {
	name   string
	by     int            // number of the server that makes the change; there, the change must take effect at once
	change func(w *ways)  // returns when the change is done
	after  map[string]int // expected status of the ways that end; all other ways continue to work
}

// ended returns the answers if the account cannot authenticate any more.
func ended() map[string]int {
	return map[string]int{"password": 401, "token": 403, "bearer": 401, "session": 302, "gateway": 302}
}

// refused returns the answers if the account has no permission any more.
func refused() map[string]int {
	return map[string]int{"password": 403, "token": 403, "bearer": 403}
}

func revocations() []revocation {
	return []revocation{
		{"a token, by DELETE /rest/token/ID", 0, func(w *ways) { w.must(200, w.send(0, "DELETE", "/rest/token/"+w.tokenID, nil, w.password)) }, map[string]int{"token": 403}},
		{"an access token, by POST /oauth2/revoke", 1, func(w *ways) { w.revoke(1, w.access) }, map[string]int{"bearer": 401}},
		{"a refresh token, by POST /oauth2/revoke", 0, func(w *ways) { w.revoke(0, w.refresh) }, map[string]int{"bearer": 401}},
		{"a session, by POST /auth/logout", 1, func(w *ways) { w.must(302, w.send(1, "POST", "/auth/logout", nil, w.session)) }, map[string]int{"session": 302, "gateway": 302}},
		{"an account, by restsrv user disable", byCommand, func(w *ways) { w.restsrv("", "user", "disable", w.id) }, ended()},
		{"a password, by restsrv user passwd", byCommand, func(w *ways) { w.restsrv("another", "user", "passwd", "-force", w.id) }, ended()},
		{"a role of an account, by restsrv user role remove", byCommand, func(w *ways) { w.restsrv("", "user", "role", "remove", w.id, w.role) }, refused()},
		{"a role, by restsrv acl role remove", byCommand, func(w *ways) { w.restsrv("", "acl", "role", "remove", w.role) }, refused()},
		{"a permission, by restsrv acl deny", byCommand, func(w *ways) { w.restsrv("", "acl", "deny", w.role, "c:::note@two", "read") }, refused()},
		{"a client, by restsrv client remove", byCommand, func(w *ways) { w.restsrv("", "client", "remove", w.client) }, map[string]int{"bearer": 401, "own": 401}},
		{"a client's secret, by restsrv client secret", byCommand, func(w *ways) { w.restsrv("", "client", "secret", w.client) }, map[string]int{"own": 401}},
		{"the gateway's account, by restsrv user disable", byCommand, func(w *ways) { w.restsrv("", "user", "disable", "gw@system") }, map[string]int{"gateway": 500}},
	}
}

// TestRevocation runs two servers on one database. An account, and a client that acts for it,
// access both servers in every possible way. Then the test revokes a permission or a credential.
// The ways that depend on it must end: on the server that made the change with the next request,
// and on the other server with all requests that begin more than a second later. The other ways
// must continue to work.
//
// On a machine with too much load, an access that ends late proves nothing. So the test repeats a
// late measurement, at most twice. It does so only if this process itself could not run for a
// fifth of the time during the measurement; otherwise the test fails at once.
func TestRevocation(t *testing.T) {
	t.Parallel()
	two := startTwo(t)
	n := 0
	for _, r := range revocations() {
		t.Run(r.name, func(t *testing.T) {
			servers := two
			for try := 1; ; try++ {
				n++
				w := servers.ways(t, n)
				stalls := watchStalls()
				late := w.measure(r)
				stalled := stalls()
				switch {
				case late == "":
					return
				case stalled < revocationTime/5 || try == 3:
					t.Fatalf("%s (this process stalled for at most %v)\n%s\n%s", late, stalled, servers.servers[0].Log(), servers.servers[1].Log())
				}
				t.Logf("measured again: %s, but this process stalled for %v", late, stalled)
				servers = startTwo(t)
			}
		})
	}
}

// measure makes the change and checks each way on both servers. It returns the ways that worked for
// too long, or "".
func (w *ways) measure(r revocation) (late string) {
	w.t.Helper()
	tries := w.all()
	each := func(do func(way string, server int)) {
		var wg sync.WaitGroup
		for way := range tries {
			for server := range w.two.servers {
				wg.Go(func() { do(way, server) })
			}
		}
		wg.Wait()
	}
	for range 2 { // the server answers the second time from its cache
		each(func(way string, server int) {
			if got := tries[way](server); got != http.StatusOK {
				w.t.Errorf("before the change: %s on server %d: got %d, want 200", way, server, got)
			}
		})
	}
	if w.t.Failed() {
		w.t.FailNow()
	}
	r.change(w)
	done := time.Now()
	var mu sync.Mutex
	each(func(way string, server int) {
		if r.after[way] == 0 {
			return
		}
		for {
			began := time.Since(done)
			switch got := tries[way](server); {
			case got != http.StatusOK: // the result is checked at the end
				w.t.Logf("%s on server %d ended %v after the change", way, server, began.Round(time.Millisecond))
				return
			case server == r.by:
				w.t.Errorf("%s on server %d: got access, want none at once, because this server made the change", way, server)
				return
			case began > revocationTime:
				mu.Lock()
				late = fmt.Sprintf("%s on server %d goes on %v after the change", way, server, began)
				mu.Unlock()
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
	if late != "" {
		return late
	}
	time.Sleep(time.Until(done.Add(revocationTime)))
	each(func(way string, server int) {
		want := r.after[way]
		if want == 0 {
			want = http.StatusOK
		}
		if got := tries[way](server); got != want {
			w.t.Errorf("a second later: %s on server %d: %d, want %d", way, server, got, want)
		}
	})
	return ""
}

// watchStalls measures the longest time in which this process could not run, until most is called.
func watchStalls() (most func() time.Duration) {
	stop, worst := make(chan struct{}), make(chan time.Duration)
	go func() {
		const nap = 5 * time.Millisecond
		var longest time.Duration
		for {
			began := time.Now()
			select {
			case <-stop:
				worst <- longest
				return
			case <-time.After(nap):
				longest = max(longest, time.Since(began)-nap)
			}
		}
	}()
	return func() time.Duration {
		close(stop)
		return <-worst
	}
}

// revoke revokes a token of the client through a server.
func (w *ways) revoke(server int, token string) {
	w.t.Helper()
	w.must(200, w.send(server, "POST", "/oauth2/revoke", url.Values{"token": {token}}, w.secret))
}
