package consistency

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/engine"
	"restsrv/engine/server"
	"restsrv/engine/store/postgres/pgtest"
)

// TestHistory kills servers with SIGKILL and restarts them while clients send requests for the
// same objects. There must be one order of all requests that explains all answers:
//
//   - A request comes before the requests that began after its answer.
//   - A request without an answer has its whole effect or no effect.
//
// Some requests are reads, so every later read on every server must show an answered write. At
// the end, all objects must have the values of their last reads, and applying the journal to an
// empty database must give the same objects. RESTSRV_KILLS is the number of kills (3).
func TestHistory(t *testing.T) {
	kills := 3
	if n, err := strconv.Atoi(os.Getenv("RESTSRV_KILLS")); err == nil {
		kills = n
	}
	for _, where := range []struct {
		name    string
		servers int
		db      func(t *testing.T) string
	}{
		{"sqlite", 1, func(*testing.T) string { return "" }},
		{"postgres, three servers", 3, func(t *testing.T) string { return pgtest.Database(t) }},
	} {
		t.Run(where.name, func(t *testing.T) {
			t.Parallel()
			h := startHistory(t, where.servers, where.db(t))
			var wg sync.WaitGroup
			for range historyGroups {
				wg.Go(func() {
					for !h.over.Load() {
						h.play()
					}
				})
			}
			func() {
				defer wg.Wait()
				defer h.over.Store(true)
				for range kills {
					h.work(30 + rand.Int64N(150))
					h.kill()
				}
			}()
			if !t.Failed() {
				h.compareStored()
				h.compareJournal()
			}
			h.report(kills)
		})
	}
}

const (
	historyGroups  = 4  // groups that work at the same time, each on its own lot
	historyClients = 3  // clients of a group
	historyCalls   = 16 // calls of a client to a lot; all clients together make at most 64
)

// history holds the servers and the lots that clients have used.
type history struct {
	*testing.T
	classes []*engine.Class
	dir     string
	db      string
	client  *http.Client
	servers []atomic.Pointer[historyProcess] // nil if no server is running

	activity *sql.DB // pg_stat_activity of PostgreSQL

	clock, numbers, answered atomic.Int64
	over                     atomic.Bool

	mu                            sync.Mutex
	lots                          []pairLot
	found                         []*historySearch // searches, by lot
	calls, reads, guarded, failed int              // answered calls; guarded are those with If-Match, failed those with 412
	busy, whole, none             int              // number of calls with answer 503, and results of calls without an answer
	longest, undecided            int              // most states in a search, and number of lots without a result
}

// historyProcess is a server that will be killed.
type historyProcess struct {
	*apptest.Process
	name string
	gone atomic.Int64 // time after which the server has no effect on the database; 0 before the time is known
}

func startHistory(t *testing.T, servers int, db string) *history {
	app := strings.ReplaceAll(pairsApp, `"key": ["id"]`, `"journaling": true, "key": ["id"]`)
	files := map[string]string{"deploy.json": app, "move.js": pairsScript, "workflows/flow.wf.json": pairsWorkflow}
	h := &history{T: t, dir: apptest.WriteApplication(t, files), db: db, servers: make([]atomic.Pointer[historyProcess], servers),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: historyGroups * historyClients}, Timeout: time.Minute}}
	loaded, err := server.LoadApplication(filepath.Join(h.dir, "deploy.json"), false)
	if err != nil {
		t.Fatal(err)
	}
	h.classes = loaded.Meta.Classes()
	if db != "" {
		if h.activity, err = sql.Open("postgres", db); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { h.activity.Close() })
	}
	h.start(h.places()...)
	return h
}

// start starts the missing processes.
func (h *history) start(places ...int) {
	started := make([]*historyProcess, len(places))
	for i := range places {
		started[i] = h.launch()
		if h.clock.Load() > 0 && rand.IntN(4) == 0 { // sometimes kill it before it listens
			time.Sleep(time.Duration(rand.IntN(80)) * time.Millisecond)
			h.end(started[i])
			started[i] = h.launch()
		}
	}
	for i, place := range places {
		started[i].Await(h.T)
		h.servers[place].Store(started[i])
	}
}

func (h *history) launch() *historyProcess {
	p := &historyProcess{name: fmt.Sprintf("history%d", h.numbers.Add(1))}
	var args []string
	if h.db != "" {
		args = []string{"-db", h.db + "&application_name=" + p.name}
	}
	p.Process = apptest.Launch(h.T, h.dir, args...)
	return p
}

// end kills a process and waits until PostgreSQL has ended the work of that process.
func (h *history) end(p *historyProcess) {
	p.Kill()
	for left := 1; h.db != "" && left > 0; {
		if err := h.activity.QueryRow("SELECT count(*) FROM pg_stat_activity WHERE application_name = $1", p.name).Scan(&left); err != nil {
			h.Fatal(err)
		}
	}
	p.gone.Store(h.clock.Add(1))
}

// work waits until clients have received n more answers, and a little longer.
func (h *history) work(n int64) {
	for n += h.answered.Load(); h.answered.Load() < n && !h.Failed(); {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(time.Duration(rand.IntN(5000)) * time.Microsecond)
}

func (h *history) places() (all []int) {
	for i := range h.servers {
		all = append(all, i)
	}
	return all
}

// kill kills one server or all servers, and starts new servers in their place.
func (h *history) kill() {
	places := []int{rand.IntN(len(h.servers))}
	if rand.IntN(4) == 0 {
		places = h.places()
	}
	for _, place := range places {
		h.end(h.servers[place].Swap(nil))
	}
	h.start(places...)
}

// play runs clients on one lot and looks for an order of their calls.
func (h *history) play() {
	name := fmt.Sprintf("x%dx", h.numbers.Add(1))
	l := pairLot{name, name}
	var calls []*historyCall
	var mu sync.Mutex
	send := func(c *historyCall) {
		if h.send(c) {
			mu.Lock()
			defer mu.Unlock()
			calls = append(calls, c)
		}
	}
	send(h.operation(l, pairOperation{"", "POST", "/rest/acceptor", "[" + strings.Join(pairsBefore, ",") + "]"}))
	var wg sync.WaitGroup
	for range historyClients {
		wg.Go(func() {
			var last *historyCall // the last call that showed an object
			for range historyCalls {
				c := h.next(l, last)
				send(c)
				if c.status == 200 && c.tag != "" && c.request.Service == "crud" && c.request.Eager == "" && c.method != "DELETE" {
					last = c
				}
			}
		})
	}
	wg.Wait()
	h.settle(calls)
	for _, target := range historyLists {
		for range 100 {
			c := h.operation(l, pairOperation{"", "GET", target, ""})
			if send(c); c.status == 200 {
				break
			}
		}
	}
	h.judge(l, calls)
}

// settle waits until calls without an answer can have no effect any more.
func (h *history) settle(calls []*historyCall) {
	for _, c := range calls {
		for !c.answered() && c.until == 0 && !h.Failed() {
			time.Sleep(time.Millisecond)
			c.until = c.server.gone.Load()
		}
	}
}

// historyLists are requests that show all objects of a lot.
var historyLists = []string{
	"/rest/crud/region@m?_eager=capital|towns|fans&id=#a&id=#b&id=#c&id=#d",
	"/rest/crud/town@m?_eager=region&id=#t&id=#u&id=#v&id=#w",
	"/rest/crud/person@m?_eager=liked|seen&id=#p&id=#q&id=#r",
}

// judge looks for an order of the calls to a lot.
func (h *history) judge(l pairLot, calls []*historyCall) {
	found := explain(h.classes, calls)
	if !found.explains && !found.givenUp {
		h.Errorf("no order of the calls to lot %s explains all answers; %s", l.name, found)
		h.over.Store(true)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lots, h.found = append(h.lots, l), append(h.found, found)
	h.longest = max(h.longest, len(found.visited))
	if found.givenUp {
		h.undecided++
	}
	for i, c := range found.calls {
		switch {
		case !c.answered() && found.done&(1<<i) != 0:
			h.whole++
		case !c.answered():
			h.none++
		default:
			h.calls++
		}
		if c.reads() {
			h.reads++
		}
		if c.match != "" {
			h.guarded++
		}
		if c.status == http.StatusPreconditionFailed {
			h.failed++
		}
	}
	found.visited = nil
}

// historyNumber and historyTitle match the numbers and titles in pairOperations. They are
// replaced by unique values, so that a read shows which write came before it.
var (
	historyNumber = regexp.MustCompile(`"n":\d+`)
	historyTitle  = regexp.MustCompile(`"title":"\w+"`)
)

// operation returns a call for an operation.
func (h *history) operation(l pairLot, o pairOperation) *historyCall {
	o.body = historyNumber.ReplaceAllStringFunc(o.body, func(string) string { return fmt.Sprintf(`"n":%d`, h.numbers.Add(1)) })
	o.body = historyTitle.ReplaceAllStringFunc(o.body, func(string) string { return fmt.Sprintf(`"title":"T%d"`, h.numbers.Add(1)) })
	c := &historyCall{pairOperation: pairOperation{o.kind, o.method, l.within(o.target), l.within(o.body)}}
	if err := c.ask(); err != nil {
		h.Errorf("%s: %v", o, err)
	}
	return c
}

// next returns the next call of a client: a read, a write of an object as the client last read it,
// or any operation.
func (h *history) next(l pairLot, last *historyCall) *historyCall {
	switch n := rand.IntN(20); {
	case n < 4:
		ids := []string{"region@m/#a", "region@m/#a", "region@m/#b", "region@m/#d", "town@m/#t", "town@m/#t", "town@m/#u", "town@m/#w", "person@m/#p", "person@m/#q", "person@m/#r"}
		return h.operation(l, pairOperation{"read", "GET", "/rest/crud/" + ids[rand.IntN(len(ids))], ""})
	case n < 6:
		return h.operation(l, pairOperation{"list", "GET", historyLists[rand.IntN(len(historyLists))], ""})
	case n < 10 && last != nil:
		return h.guard(l, last)
	case n < 12:
		return h.operation(l, pairOperation{"bulk", "POST", "/rest/acceptor", "[" + strings.Join([][]string{pairsBefore, pairsAfter}[rand.IntN(2)], ",") + "]"})
	}
	return h.operation(l, pairOperations[rand.IntN(len(pairOperations))])
}

// guard returns a call that changes an object, with If-Match: the object must have the same state
// as in an earlier answer.
func (h *history) guard(l pairLot, last *historyCall) *historyCall {
	var seen struct {
		ID string `json:"_id"`
	}
	if err := json.Unmarshal([]byte(last.body), &seen); err != nil {
		h.Errorf("%s: %s: %v", last.pairOperation, last.body, err)
	}
	target := "/rest/crud/" + last.request.Class + "/" + seen.ID
	o := pairOperation{"guarded patch", "PATCH", target, `{"title":"T"}`}
	switch {
	case rand.IntN(8) == 0:
		o = pairOperation{"guarded delete", "DELETE", target, ""}
	case rand.IntN(2) == 0 && last.request.Class != "person@m":
		o.body = `{"n":0}`
	}
	c := h.operation(l, o)
	c.match, c.seen = last.tag, last.body
	return c
}

// send sends a call to a server. It reports whether the call belongs to the history: it has an
// answer other than 503, or it is a write without an answer, which may have had an effect.
func (h *history) send(c *historyCall) bool {
	for !h.Failed() {
		place := &h.servers[rand.IntN(len(h.servers))]
		if c.server = place.Load(); c.server == nil {
			time.Sleep(time.Millisecond)
			continue
		}
		c.begin = h.clock.Add(1)
		err := h.exchange(c)
		switch {
		case err == nil && c.status == http.StatusServiceUnavailable:
			h.mu.Lock()
			h.busy++
			h.mu.Unlock()
			return false
		case err == nil:
			c.end = h.clock.Add(1)
			h.answered.Add(1)
			return true
		case place.Load() == c.server:
			h.Errorf("%s: got no response from a server that was not killed: %v", c.pairOperation, err)
		case errors.Is(err, syscall.ECONNREFUSED):
			continue // it was not sent
		}
		return !c.reads()
	}
	return false
}

// exchange sends a call and stores the answer in it.
func (h *history) exchange(c *historyCall) error {
	r, err := http.NewRequest(c.method, c.server.URL+c.target, strings.NewReader(c.pairOperation.body))
	if err != nil {
		return err
	}
	r.SetBasicAuth("admin@local", apptest.AdminPassword)
	if c.pairOperation.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.match != "" {
		r.Header.Set("If-Match", c.match)
	}
	resp, err := h.client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	c.status, c.tag, c.body = resp.StatusCode, resp.Header.Get("Etag"), canonical(string(b), isList(c.request))
	return nil
}

// compareStored compares the objects of all lots with the values of their last reads.
func (h *history) compareStored() {
	for i, l := range h.lots {
		if !h.found[i].explains {
			continue
		}
		for _, target := range historyLists {
			c := h.operation(l, pairOperation{"", "GET", target, ""})
			if !h.send(c) {
				h.Fatalf("GET %s: got %d %s, want success", target, c.status, c.body)
			}
			if _, fits := h.found[i].state.after(c); !fits {
				want := h.found[i].state.do(c)
				h.Errorf("lot %s is not as it was\ngot  %d %s\nwant %d %s", l.name, c.status, c.body, want.Status, canonical(want.Body, true))
			}
		}
	}
}

// compareJournal compares the objects of all lots with the result of applying the
// journal to an empty database.
func (h *history) compareJournal() {
	args := []string{"changes", "-config", filepath.Join(h.dir, "deploy.json"), "-json"}
	if h.db != "" {
		args = append(args, "-db", h.db)
	}
	lines := map[string][]string{}
	for line := range strings.SplitSeq(strings.TrimSpace(apptest.MustRun(h.T, args...)), "\n") {
		var r struct{ ID string }
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			h.Fatalf("%s: %v", line, err)
		}
		lot := r.ID[:strings.LastIndex(r.ID, "x")+1]
		lines[lot] = append(lines[lot], line)
	}
	for i, l := range h.lots {
		if !h.found[i].explains {
			continue
		}
		replay := journalReplay{world: &h.found[i].state.world}
		fault := ""
		for _, line := range lines[l.name] {
			if fault = replay.apply(line); fault != "" {
				fault = line + ": " + fault
				break
			}
		}
		if fault == "" {
			fault = replay.compare(h.classes)
		}
		if fault != "" {
			h.Errorf("the journal of lot %s: %s\n%s", l.name, fault, strings.Join(lines[l.name], "\n"))
		}
	}
}

func (h *history) report(kills int) {
	h.Logf("%d kills, %d lots; %d calls answered, of which %d reads, %d with If-Match, %d of these 412; %d answered 503; %d not answered: %d there as a whole, %d not at all; longest search %d states, %d lots undecided",
		kills, len(h.lots), h.calls, h.reads, h.guarded, h.failed, h.busy, h.whole+h.none, h.whole, h.none, h.longest, h.undecided)
	if kills >= 100 && (h.whole == 0 || h.none == 0 || h.failed == 0) {
		h.Error("got a load that is not mixed: the test proves nothing")
	}
	if h.undecided*20 > len(h.lots) {
		h.Errorf("got %d undecided lots of %d, want at most 5 %%", h.undecided, len(h.lots))
	}
}
