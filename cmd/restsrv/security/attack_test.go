package security

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"restsrv/cmd/restsrv/apptest"
)

// attack is a server that is flooded with wrong sign-ins.
type attack struct {
	*testing.T
	p                                *apptest.Process
	attempts, connections, addresses int

	mu       sync.Mutex
	statuses map[int]int
}

const attacked = `{"globals": {%s}, "modules": {"rest": {"globals": {"di": {"simple": {"module": "builtin/echo"}}}}}}`

func newAttack(t *testing.T, settings string, attempts, connections, addresses int) *attack {
	dir := apptest.WriteApplication(t, map[string]string{"deploy.json": fmt.Sprintf(attacked, settings)})
	a := &attack{T: t, p: apptest.Start(t, dir), attempts: attempts, connections: connections, addresses: addresses, statuses: map[int]int{}}
	for _, user := range []string{"victim@local", "other@local"} {
		add := exec.Command(apptest.Binary(t), "user", "add", "-force", user)
		add.Dir, add.Stdin = dir, strings.NewReader("right\n")
		if out, err := add.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return a
}

// client returns a client that sends from a loopback address, so that clients can have different
// addresses.
func client(address string, connections int) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	return &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: connections, MaxConnsPerHost: connections}}
}

// signIn returns the status of the answer and the time that it took.
func (a *attack) signIn(c *http.Client, user, password string) (int, time.Duration) {
	r, err := http.NewRequestWithContext(context.Background(), "GET", a.p.URL+"/rest/simple", nil)
	if err != nil {
		a.Error(err)
		return 0, 0
	}
	r.SetBasicAuth(user, password)
	begin := time.Now()
	resp, err := c.Do(r)
	if err != nil {
		a.Error(err)
		return 0, 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	if (resp.StatusCode == 429 || resp.StatusCode == 503) && resp.Header.Get("Retry-After") == "" {
		a.Errorf("got %d without Retry-After, want the header", resp.StatusCode)
	}
	return resp.StatusCode, time.Since(begin)
}

// run makes all attempts: two thirds for one account, and one third for accounts that do not
// exist.
func (a *attack) run() {
	var next atomic.Int64
	var all sync.WaitGroup
	for i := range a.connections {
		c := client(fmt.Sprintf("127.0.1.%d", 1+i%a.addresses), 1)
		all.Go(func() {
			defer c.CloseIdleConnections()
			for n := next.Add(1); n <= int64(a.attempts); n = next.Add(1) {
				user := "victim@local"
				if n%3 == 0 {
					user = fmt.Sprintf("nobody%d@local", n)
				}
				status, _ := a.signIn(c, user, fmt.Sprint("wrong ", n))
				a.mu.Lock()
				a.statuses[status]++
				a.mu.Unlock()
			}
		})
	}
	all.Wait()
}

// others sends requests of another account, from another address, until the channel is closed.
// Every request must be answered. It returns the response times.
func (a *attack) others(until <-chan struct{}) (waits []time.Duration) {
	c := client("127.0.0.1", 4)
	defer c.CloseIdleConnections()
	for {
		select {
		case <-until:
			return waits
		case <-time.After(2 * time.Millisecond):
		}
		status, wait := a.signIn(c, "other@local", "right")
		if status != 200 {
			a.Errorf("sign-in of another account: got %d, want 200", status)
		}
		waits = append(waits, wait)
	}
}

func (a *attack) underAttack() []time.Duration {
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.run()
	}()
	return a.others(done)
}

func (a *attack) check(most int) {
	a.Helper()
	n := 0
	for _, s := range []int{401, 429, 503} {
		n += a.statuses[s]
	}
	if n != a.attempts || a.statuses[401] > most || a.statuses[401] == 0 || a.statuses[429] == 0 {
		a.Errorf("%d attempts were answered %v; want at most %d times 401", a.attempts, a.statuses, most)
	}
	c := client("127.0.2.1", 1)
	defer c.CloseIdleConnections()
	if status, wait := a.signIn(c, "victim@local", "right"); status != 200 {
		a.Errorf("sign-in of the attacked account from another address: got %d, want 200", status)
	} else {
		a.Logf("the guessed account signs in from another address within %v", wait)
	}
}

var memoryLine = regexp.MustCompile(`(?m)^(VmRSS|VmHWM):\s+(\d+) kB`)

// memory returns the current and the peak memory of the process in MiB.
func (a *attack) memory() (now, most int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.p.Cmd.Process.Pid))
	if err != nil {
		a.Skip("the memory of a process cannot be read here")
	}
	for _, m := range memoryLine.FindAllStringSubmatch(string(text), -1) {
		kb, _ := strconv.Atoi(m[2])
		if m[1] == "VmRSS" {
			now = kb >> 10
		} else {
			most = kb >> 10
		}
	}
	return now, most
}

// TestAttack floods a server with wrong passwords:
//
//   - The server must not check more passwords than the limits allow.
//   - Other accounts must get answers during the flood.
//   - The attacked account must be able to sign in from another address.
//   - The log must stay small.
func TestAttack(t *testing.T) {
	t.Parallel()
	a := newAttack(t, `"signIn": {"perAccount": 5, "perAddress": 20, "maxDelay": 0.1}`, 500, 20, 3)
	if waits := a.underAttack(); len(waits) == 0 {
		t.Error("got no requests of other clients during the attack, want some")
	}
	// The count is read a moment after the check, so one more check may be running. A slow
	// machine may need more than a minute, after which the limit of 20 applies again.
	a.check(3*20 + 3)
	if n := len(a.p.Log()); n > 200_000 {
		t.Errorf("log: got %d bytes, want at most 200,000", n)
	}
}

// TestLongAttack makes 10,000 wrong sign-ins on 50 connections. It runs in .ci/long.
func TestLongAttack(t *testing.T) {
	apptest.RequireLong(t)
	a := newAttack(t, `"audit": true`, 10_000, 50, 10)
	done := make(chan struct{})
	time.AfterFunc(20*time.Second, func() { close(done) })
	quiet := a.others(done)
	before, _ := a.memory()
	begin := time.Now()
	loud := a.underAttack()
	took := time.Since(begin)
	_, most := a.memory()
	minutes := int(took/time.Minute) + 1
	a.check(minutes * 10 * 101)
	time.Sleep(3 * time.Second) // hashing gives its memory back
	after, _ := a.memory()
	t.Logf("%d attempts in %v were answered %v", a.attempts, took, a.statuses)
	t.Logf("requests of another account: %s; during the attack: %s", summary(quiet), summary(loud))
	t.Logf("memory: %d MiB before, %d at most, %d after; log %d KiB", before, most, after, len(a.p.Log())>>10)
	if after > before+32 {
		t.Errorf("memory after the attack: from %d to %d MiB, want growth of at most 32 MiB", before, after)
	}
	if most > before+160 {
		t.Errorf("memory during the attack: from %d to %d MiB, want growth of at most 160 MiB", before, most)
	}
}

func summary(waits []time.Duration) string {
	slices.Sort(waits)
	at := func(part float64) time.Duration {
		return waits[int(float64(len(waits)-1)*part)].Round(10 * time.Microsecond)
	}
	return fmt.Sprintf("%d, median %v, p99 %v, worst %v", len(waits), at(0.5), at(0.99), at(1))
}
