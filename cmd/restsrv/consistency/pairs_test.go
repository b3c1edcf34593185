package consistency

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/engine/store/postgres/pgtest"
)

// pairsApp has collections of all kinds, a reference, a workflow, and a script that moves a number
// from one object to another.
const pairsApp = `{
  "namespace": "m",
  "classes": [
    {"name": "region", "key": ["id"], "properties": [{"name": "id", "type": "string"}, {"name": "lot", "type": "string", "indexed": true}, {"name": "title", "type": "string"}, {"name": "n", "type": "int"},
      {"name": "capital", "type": "reference", "refClass": "town"},
      {"name": "towns", "type": "collection", "itemsClass": "town", "backRef": "region"},
      {"name": "fans", "type": "collection", "itemsClass": "person", "backColl": "liked"}]},
    {"name": "town", "key": ["id"], "properties": [{"name": "id", "type": "string"}, {"name": "lot", "type": "string", "indexed": true}, {"name": "title", "type": "string"}, {"name": "n", "type": "int"},
      {"name": "region", "type": "reference", "refClass": "region"}]},
    {"name": "person", "key": ["id"], "properties": [{"name": "id", "type": "string"}, {"name": "lot", "type": "string", "indexed": true}, {"name": "title", "type": "string"},
      {"name": "liked", "type": "collection", "itemsClass": "region", "backColl": "fans"},
      {"name": "seen", "type": "collection", "itemsClass": "region"}]}
  ],
  "modules": {"rest": {"globals": {"di": {
    "crud": {"module": "builtin/crud"}, "strict": {"module": "builtin/crud", "options": {"handling": "strict"}},
    "acceptor": {"module": "builtin/acceptor", "options": {"dataRepo": "ion://dataRepo", "metaRepo": "ion://metaRepo"}},
    "workflows": {"module": "builtin/workflows"}, "move": {"module": "move.js"}
  }}}}
}`

const pairsScript = `module.exports = {
  'POST /:from/:to': (req) => dataRepo.transaction(async (tx) => {
    const from = await tx.getItem('region@m', req.params.from), to = await tx.getItem('region@m', req.params.to);
    if (!from || !to) return 'missing';
    await tx.editItem('region@m', req.params.from, {n: from.get('n') - 1});
    await tx.editItem('region@m', req.params.to, {n: to.get('n') + 1});
    return 'moved';
  }),
};`

const pairsWorkflow = `{"name": "flow", "caption": "Flow", "wfClass": "region", "startState": "draft", "states": [{"name": "draft"}, {"name": "done"}],
 "transitions": [{"name": "go", "startState": "draft", "finishState": "done", "assignments": [{"key": "n", "value": 50}]}]}`

// pairsBefore is the state before a race. In this text and in operations, # stands for the name
// of the lot, and % for the name of the round. Each race has a lot of its own. A round is a group
// of lots that are prepared and read together.
var pairsBefore = []string{
	`{"_class":"region@m","_id":"#a","lot":"%","title":"A","n":10}`, `{"_class":"region@m","_id":"#b","lot":"%","title":"B","n":20}`,
	`{"_class":"town@m","_id":"#t","lot":"%","title":"T","n":1,"region":"#a"}`, `{"_class":"town@m","_id":"#u","lot":"%","title":"U","n":2,"region":"#b"}`,
	`{"_class":"person@m","_id":"#p","lot":"%","title":"P","liked":["#a"],"seen":["#a"]}`, `{"_class":"person@m","_id":"#q","lot":"%","title":"Q","liked":["#b"]}`,
}

// pairsAfter names each id that an object may have had. These objects are created if they are
// missing, so that a remaining link or reference to a missing object becomes visible.
var pairsAfter = []string{
	`{"_class":"region@m","_id":"#a","lot":"%"}`, `{"_class":"region@m","_id":"#b","lot":"%"}`, `{"_class":"region@m","_id":"#c","lot":"%"}`, `{"_class":"region@m","_id":"#d","lot":"%"}`,
	`{"_class":"town@m","_id":"#t","lot":"%"}`, `{"_class":"town@m","_id":"#u","lot":"%"}`, `{"_class":"town@m","_id":"#v","lot":"%"}`, `{"_class":"town@m","_id":"#w","lot":"%"}`,
	`{"_class":"person@m","_id":"#p","lot":"%"}`, `{"_class":"person@m","_id":"#q","lot":"%"}`, `{"_class":"person@m","_id":"#r","lot":"%"}`,
}

// pairOperation is a request whose answer and effect depend on the stored data.
type pairOperation struct{ kind, method, target, body string }

func (o pairOperation) String() string { return o.method + " " + o.target + " " + o.body }

// pairOperations are grouped by kind. The test combines each kind with every kind, including
// itself.
var pairOperations = []pairOperation{
	{"create", "POST", "/rest/crud/region@m", `{"id":"#c","lot":"%","title":"C","towns":["#t"],"fans":["#p"]}`},
	{"create", "POST", "/rest/strict/region@m", `{"id":"#d","lot":"%","title":"D","capital":"#t","fans":["#p","#q"]}`},
	{"create", "POST", "/rest/strict/town@m", `{"id":"#v","lot":"%","title":"V","region":"#a"}`},
	{"create", "POST", "/rest/strict/person@m", `{"id":"#r","lot":"%","title":"R","liked":["#a"],"seen":["#b"]}`},
	{"create", "POST", "/rest/crud/region@m", `{"id":"#a","lot":"%","title":"A4","fans":["#q"]}`},
	{"create", "POST", "/rest/crud/region@m", `{"id":"#d","lot":"%","title":"D2","fans":["#p","#q"]}`},
	{"patch", "PATCH", "/rest/crud/region@m/#a", `{"n":11,"title":"A2"}`},
	{"patch", "PATCH", "/rest/crud/region@m/#a", `{"n":12}`},
	{"patch", "PATCH", "/rest/strict/region@m/#a", `{"title":"A5"}`},
	{"patch", "PATCH", "/rest/crud/town@m/#t", `{"n":3,"title":"T2"}`},
	{"patch", "PATCH", "/rest/crud/person@m/#p", `{"title":"P2"}`},
	{"key change", "PATCH", "/rest/crud/region@m/#a", `{"id":"#d"}`},
	{"key change", "PATCH", "/rest/strict/town@m/#t", `{"id":"#w","region":"#a"}`},
	{"key change", "PATCH", "/rest/crud/person@m/#p", `{"id":"#r"}`},
	{"key change", "PATCH", "/rest/crud/region@m/#b", `{"id":"#d"}`},
	{"key change", "PATCH", "/rest/strict/region@m/#b", `{"id":"#a"}`},
	{"delete", "DELETE", "/rest/crud/region@m/#a", ""},
	{"delete", "DELETE", "/rest/crud/town@m/#t", ""},
	{"delete", "DELETE", "/rest/crud/person@m/#p", ""},
	{"delete", "DELETE", "/rest/crud/region@m/#b", ""},
	{"link", "PATCH", "/rest/strict/town@m/#t", `{"region":"#b"}`},
	{"link", "PATCH", "/rest/strict/town@m/#u", `{"region":"#a"}`},
	{"link", "PATCH", "/rest/strict/region@m/#b", `{"capital":"#t"}`},
	{"link", "PATCH", "/rest/strict/region@m/#a", `{"fans":{"add":["#q"]}}`},
	{"link", "PATCH", "/rest/strict/person@m/#q", `{"liked":{"add":["#a"]}}`},
	{"link", "PATCH", "/rest/crud/region@m/#b", `{"towns":{"add":["#t"]}}`},
	{"link", "PATCH", "/rest/crud/region@m/#b", `{"fans":{"add":["#p","#q"]}}`},
	{"link", "PATCH", "/rest/strict/person@m/#p", `{"seen":{"add":["#b"]}}`},
	{"link", "PATCH", "/rest/crud/person@m/#q", `{"seen":{"add":["#a","#d"]}}`},
	{"unlink", "PATCH", "/rest/crud/town@m/#t", `{"region":null}`},
	{"unlink", "PATCH", "/rest/crud/person@m/#p", `{"seen":[]}`},
	{"unlink", "PATCH", "/rest/crud/region@m/#b", `{"fans":{"remove":["#p","#q"]}}`},
	{"unlink", "PATCH", "/rest/crud/region@m/#b", `{"fans":[]}`},
	{"unlink", "PATCH", "/rest/crud/region@m/#a", `{"fans":{"remove":["#p"]}}`},
	{"unlink", "PATCH", "/rest/crud/region@m/#a", `{"towns":[],"fans":[]}`},
	{"nested save", "PATCH", "/rest/crud/region@m/#b", `{"towns":{"add":[{"id":"#t","title":"T3"}]}}`},
	{"nested save", "PATCH", "/rest/crud/town@m/#t", `{"region":{"id":"#a","title":"A3","n":30}}`},
	{"nested save", "PATCH", "/rest/crud/region@m/#b", `{"capital":{"id":"#v","lot":"%","title":"V3","region":"#a"}}`},
	{"transition", "PUT", "/rest/workflows/region@m/#a", `["flow@m.go"]`},
	{"bulk", "POST", "/rest/acceptor", `[{"_class":"region@m","_id":"#a","n":70},{"_class":"region@m","_id":"#b","n":80},{"_class":"town@m","_id":"#t","region":"#b","lot":"%"}]`},
	{"bulk", "POST", "/rest/acceptor", `[{"_class":"region@m","_id":"#b","n":81,"lot":"%"},{"_class":"region@m","_id":"#a","n":71,"lot":"%"},{"_class":"person@m","_id":"#p","liked":{"add":["#b"]},"lot":"%"}]`},
	{"bulk", "POST", "/rest/acceptor", `[{"_class":"person@m","_id":"#p","lot":"%","liked":["#a"]},{"_class":"person@m","_id":"#q","lot":"%","liked":["#b"]}]`},
	{"bulk", "POST", "/rest/acceptor", `[{"_class":"person@m","_id":"#p","lot":"%","liked":["#b"],"seen":["#b"]},{"_class":"person@m","_id":"#q","lot":"%","liked":["#b"]}]`},
	{"script", "POST", "/rest/move/#a/#b", "{}"},
	{"script", "POST", "/rest/move/#b/#a", "{}"},
}

// pair is two operations that run at the same time.
type pair [2]pairOperation

// pairLot is a set of objects with their own ids, for one race.
type pairLot struct{ round, name string }

// within inserts the names of the lot into a text.
func (l pairLot) within(text string) string {
	return strings.NewReplacer("#", l.name, "%", l.round).Replace(text)
}

// neutral returns an answer without the names of the lot and without values that all objects have.
// It sorts members, because members that were linked at the same time have no defined order.
func (l pairLot) neutral(answer string) string {
	text := strings.NewReplacer(l.name, "", l.round, "", `"_creator":"admin@local",`, "", `"_editor":"admin@local",`, "", `"_classVer":"",`, "").Replace(answer)
	text = strings.ReplaceAll(text, `"lot":"",`, "")
	var v any
	if json.Unmarshal([]byte(text), &v) == nil {
		text = apptest.JSON(sortedMembers(v))
	}
	return text
}

func sortedMembers(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = sortedMembers(v[i])
		}
	case map[string]any:
		for name, value := range v {
			v[name] = sortedMembers(value)
			if members, ok := v[name].([]any); ok {
				slices.SortFunc(members, func(a, b any) int { return strings.Compare(apptest.JSON(a), apptest.JSON(b)) })
			}
		}
	}
	return v
}

// pairServers are servers on one database.
type pairServers struct {
	servers []*apptest.Process
	client  *http.Client
	rounds  atomic.Int64

	mu     sync.Mutex
	known  map[pair]map[string]string // allowed outcomes, each with the name of an order that leads to it
	counts map[[2]string]*pairCount
}

// pairCount holds the results of the races of two kinds of operations.
type pairCount struct {
	races, busy, wrong int
	outcomes           map[string]bool
	orders             map[string]int
}

func startPairServers(t *testing.T, n int, db string) *pairServers {
	s := &pairServers{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}, known: map[pair]map[string]string{}, counts: map[[2]string]*pairCount{}}
	for range n {
		dir := apptest.WriteApplication(t, map[string]string{"deploy.json": pairsApp, "move.js": pairsScript, "workflows/flow.wf.json": pairsWorkflow})
		args := []string{}
		if db != "" {
			args = []string{"-db", db}
		}
		s.servers = append(s.servers, apptest.Launch(t, dir, args...))
	}
	for _, p := range s.servers {
		p.Await(t)
	}
	return s
}

// send sends an operation for the objects of a lot and returns the status and the body.
func (s *pairServers) send(server int, l pairLot, o pairOperation) (int, string, error) {
	r, err := http.NewRequest(o.method, s.servers[server%len(s.servers)].URL+l.within(o.target), strings.NewReader(l.within(o.body)))
	if err != nil {
		return 0, "", err
	}
	r.SetBasicAuth("admin@local", apptest.AdminPassword)
	r.Header.Set("X-Request-Id", "pairs")
	if o.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

// insist sends an operation, and repeats it while the server is busy.
func (s *pairServers) insist(server int, l pairLot, o pairOperation) (status int, body string, err error) {
	for range 50 {
		if status, body, err = s.send(server, l, o); err != nil || status != http.StatusServiceUnavailable {
			return status, body, err
		}
		time.Sleep(20 * time.Millisecond)
	}
	return 0, "", fmt.Errorf("%s: still %d %s", o, status, body)
}

// round creates lots, calls run to send requests, and returns the content of each lot afterwards.
func (s *pairServers) round(server, n int, run func(lots []pairLot) error) ([]string, error) {
	lots := make([]pairLot, n)
	round := fmt.Sprintf("x%dx", s.rounds.Add(1))
	for i := range lots {
		lots[i] = pairLot{round, fmt.Sprintf("%sn%dn", round, i)}
	}
	save := func(records []string) error {
		var all []string
		for _, record := range records {
			for _, l := range lots {
				all = append(all, l.within(record))
			}
		}
		status, body, err := s.insist(server, lots[0], pairOperation{"", "POST", "/rest/acceptor", "[" + strings.Join(all, ",") + "]"})
		if err == nil && status != 200 {
			err = fmt.Errorf("preparing lots: %d %s", status, body)
		}
		return err
	}
	if err := errors.Join(save(pairsBefore), run(lots), save(pairsAfter)); err != nil {
		return nil, err
	}
	return s.stored(server, lots)
}

// stored returns the objects of each lot.
func (s *pairServers) stored(server int, lots []pairLot) ([]string, error) {
	outcomes := make([]strings.Builder, len(lots))
	for _, target := range []string{"region@m?_eager=capital|towns|fans", "town@m?_eager=region", "person@m?_eager=liked|seen"} {
		status, body, err := s.insist(server, lots[0], pairOperation{"", "GET", "/rest/crud/" + target + "&lot=%&_sort=id&_count=1000", ""})
		if err != nil || status != 200 {
			return nil, fmt.Errorf("%s: %d %s, %v", target, status, body, err)
		}
		var objects []json.RawMessage
		if err := json.Unmarshal([]byte(body), &objects); err != nil {
			return nil, err
		}
		for _, object := range objects {
			var named struct {
				ID string `json:"_id"`
			}
			if err := json.Unmarshal(object, &named); err != nil {
				return nil, err
			}
			i := slices.IndexFunc(lots, func(l pairLot) bool { return strings.HasPrefix(named.ID, l.name) })
			outcomes[i].WriteString(lots[i].neutral(string(object)) + "\n")
		}
	}
	texts := make([]string, len(lots))
	for i := range outcomes {
		texts[i] = outcomes[i].String()
	}
	return texts, nil
}

// serialOrders lists the orders that can explain the outcome of a pair. An order has the numbers
// of the operations, 0 and 1. An operation that is not in the order was rejected.
var serialOrders = []struct {
	name  string
	order []int
}{{"first, second", []int{0, 1}}, {"second, first", []int{1, 0}}, {"first alone", []int{0}}, {"second alone", []int{1}}, {"none", nil}}

// either is the name of an outcome to which both orders lead.
const either = "either order"

// learn finds the allowed outcomes of pairs: the outcome of each order, and the outcomes if one
// operation or both are rejected.
func (s *pairServers) learn(server int, pairs []pair) error {
	var unknown []pair
	s.mu.Lock()
	for _, p := range pairs {
		if s.known[p] == nil && !slices.Contains(unknown, p) {
			unknown = append(unknown, p)
		}
	}
	s.mu.Unlock()
	if len(unknown) == 0 {
		return nil
	}
	answers := make([]string, len(unknown)*len(serialOrders))
	outcomes, err := s.round(server, len(answers), func(lots []pairLot) error {
		for i, l := range lots {
			given := [2]string{pairRefused, pairRefused}
			for _, n := range serialOrders[i%len(serialOrders)].order {
				status, body, err := s.insist(server, l, unknown[i/len(serialOrders)][n])
				if err != nil {
					return err
				}
				given[n] = fmt.Sprint(status, " ", l.neutral(body))
			}
			answers[i] = pairAnswers(given)
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, p := range unknown {
		may := map[string]string{}
		for j, o := range serialOrders {
			at := i*len(serialOrders) + j
			outcome, name := answers[at]+outcomes[at], o.name
			if may[outcome] != "" {
				name = either
			}
			may[outcome] = name
		}
		s.known[p] = may
	}
	return nil
}

// pairRefused is the status of a busy server. The request must have no effect, and the client can
// repeat it.
const pairRefused = "503"

func pairAnswers(given [2]string) string {
	return "first:  " + given[0] + "\nsecond: " + given[1] + "\n"
}

// TestConcurrentPairs checks that two requests at the same time have the same effect and the same
// answers as one after the other. It combines each kind of operation with every kind, on the same
// objects, and compares the outcome of each race with the outcomes of both orders. A request with
// answer 503 must have no effect. RESTSRV_PAIRS is the number of races for each two kinds.
func TestConcurrentPairs(t *testing.T) {
	races := 2
	if n, err := strconv.Atoi(os.Getenv("RESTSRV_PAIRS")); err == nil {
		races = n
	}
	for _, where := range []struct {
		name    string
		servers int
		db      func(t *testing.T) string
	}{
		{"sqlite", 1, func(*testing.T) string { return "" }},
		{"postgres", 1, func(t *testing.T) string { return pgtest.Database(t) }},
		{"postgres, three servers", 3, func(t *testing.T) string { return pgtest.Database(t) }},
	} {
		t.Run(where.name, func(t *testing.T) {
			t.Parallel()
			s := startPairServers(t, where.servers, where.db(t))
			left := make(chan []pair)
			var wg sync.WaitGroup
			for worker := range 4 {
				wg.Go(func() {
					for pairs := range left {
						if err := s.race(t, worker, pairs); err != nil {
							t.Error(err)
						}
					}
				})
			}
			for pairs := range slices.Chunk(somePairs(races), 16) {
				left <- pairs
			}
			close(left)
			wg.Wait()
			s.report(t)
		})
	}
}

// somePairs returns the given number of pairs for each two kinds.
func somePairs(races int) (pairs []pair) {
	kinds := map[string][]pairOperation{}
	for _, o := range pairOperations {
		kinds[o.kind] = append(kinds[o.kind], o)
	}
	names := slices.Sorted(maps.Keys(kinds))
	for range races {
		for i, first := range names {
			for _, second := range names[i:] {
				a, b := kinds[first], kinds[second]
				pairs = append(pairs, pair{a[rand.IntN(len(a))], b[rand.IntN(len(b))]})
			}
		}
	}
	return pairs
}

// race runs pairs, each on its own lot.
func (s *pairServers) race(t *testing.T, worker int, pairs []pair) error {
	if err := s.learn(worker, pairs); err != nil {
		return err
	}
	given := make([][2]string, len(pairs))
	outcomes, err := s.round(worker, len(pairs), func(lots []pairLot) (err error) {
		for i, p := range pairs {
			if given[i], err = s.both(worker, lots[i], p); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, p := range pairs {
		kinds := [2]string{p[0].kind, p[1].kind}
		c := s.counts[kinds]
		if c == nil {
			c = &pairCount{outcomes: map[string]bool{}, orders: map[string]int{}}
			s.counts[kinds] = c
		}
		outcome := pairAnswers(given[i]) + outcomes[i]
		order := s.known[p][outcome]
		c.races++
		c.outcomes[outcome] = true
		c.orders[order]++
		for _, answer := range given[i] {
			if answer == pairRefused {
				c.busy++
			}
		}
		if order == "" {
			if c.wrong++; c.wrong <= 2 {
				t.Errorf("%s and %s at the same time: no order has this outcome\nfirst:  %s\nsecond: %s\n\ngot\n%s\nwant one of\n%s", kinds[0], kinds[1], p[0], p[1], outcome, listOrders(s.known[p], outcome))
			}
		}
	}
	return nil
}

// both sends two operations at the same time. If there are several servers, each operation goes
// to another server.
func (s *pairServers) both(worker int, l pairLot, p pair) (given [2]string, err error) {
	var errs [2]error
	var wg sync.WaitGroup
	for i, o := range p {
		delay := time.Duration(rand.IntN(400)) * time.Microsecond
		wg.Go(func() {
			time.Sleep(delay)
			status, body, err := s.send(worker+i, l, o)
			if given[i], errs[i] = fmt.Sprint(status, " ", l.neutral(body)), err; status == http.StatusServiceUnavailable {
				given[i] = pairRefused
			}
		})
	}
	wg.Wait()
	return given, errors.Join(errs[:]...)
}

// report prints a table of the pairs and fails the test if an outcome was wrong.
func (s *pairServers) report(t *testing.T) {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 1, ' ', 0)
	fmt.Fprintln(w, "\nfirst\tsecond\traces\toutcomes\tfirst, second\tsecond, first\teither\tbusy\twrong")
	var all pairCount
	for _, kinds := range slices.SortedFunc(maps.Keys(s.counts), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		c := s.counts[kinds]
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n", kinds[0], kinds[1], c.races, len(c.outcomes), c.orders[serialOrders[0].name], c.orders[serialOrders[1].name], c.orders[either], c.busy, c.wrong)
		all.races, all.busy, all.wrong = all.races+c.races, all.busy+c.busy, all.wrong+c.wrong
	}
	w.Flush()
	t.Log(b.String())
	t.Logf("%d races, %d outcomes known from orders, %d answers busy, %d outcomes wrong", all.races, len(s.known), all.busy, all.wrong)
	if all.wrong > 0 {
		t.Errorf("got %d races of %d with an outcome that no order explains, want none", all.wrong, all.races)
	}
}

// listOrders returns the allowed outcomes without the lines that are as expected.
func listOrders(may map[string]string, got string) string {
	found := strings.Split(got, "\n")
	var all []string
	for outcome, name := range may {
		lines := slices.DeleteFunc(strings.Split(outcome, "\n"), func(line string) bool { return slices.Contains(found, line) })
		all = append(all, name+":\n"+strings.Join(lines, "\n"))
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}
