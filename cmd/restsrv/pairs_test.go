package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"restsrv/engine/store/postgres/pgtest"
)

// pairsApp has both kinds of collections, a reference beside them, a workflow, and
// a script that moves a number between two objects.
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
      {"name": "liked", "type": "collection", "itemsClass": "region", "backColl": "fans"}]}
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

// pairsBefore is what there is before a race. In it and in operations, # stands
// for the lot, which is different for each race.
const pairsBefore = `[
  {"_class":"region@m","_id":"#a","lot":"#","title":"A","n":10},{"_class":"region@m","_id":"#b","lot":"#","title":"B","n":20},
  {"_class":"town@m","_id":"#t","lot":"#","title":"T","n":1,"region":"#a"},{"_class":"town@m","_id":"#u","lot":"#","title":"U","n":2,"region":"#b"},
  {"_class":"person@m","_id":"#p","lot":"#","title":"P","liked":["#a"]},{"_class":"person@m","_id":"#q","lot":"#","title":"Q","liked":["#b"]}]`

// pairsAfter names each id that may have existed. What is missing is created, so
// that a link or a reference that was left behind is seen.
const pairsAfter = `[
  {"_class":"region@m","_id":"#a","lot":"#"},{"_class":"region@m","_id":"#b","lot":"#"},{"_class":"region@m","_id":"#c","lot":"#"},{"_class":"region@m","_id":"#d","lot":"#"},
  {"_class":"town@m","_id":"#t","lot":"#"},{"_class":"town@m","_id":"#u","lot":"#"},{"_class":"town@m","_id":"#v","lot":"#"},{"_class":"town@m","_id":"#w","lot":"#"},
  {"_class":"person@m","_id":"#p","lot":"#"},{"_class":"person@m","_id":"#q","lot":"#"},{"_class":"person@m","_id":"#r","lot":"#"}]`

// pairOperation is a request whose answer and effect depend on what is stored.
type pairOperation struct{ kind, method, target, body string }

func (o pairOperation) String() string { return o.method + " " + o.target + " " + o.body }

// pairOperations are grouped by kind. All kinds meet each other and themselves.
var pairOperations = []pairOperation{
	{"create", "POST", "/rest/crud/region@m", `{"id":"#c","lot":"#","title":"C","towns":["#t"],"fans":["#p"]}`},
	{"create", "POST", "/rest/strict/region@m", `{"id":"#d","lot":"#","title":"D","capital":"#t","fans":["#p","#q"]}`},
	{"create", "POST", "/rest/strict/town@m", `{"id":"#v","lot":"#","title":"V","region":"#a"}`},
	{"create", "POST", "/rest/strict/person@m", `{"id":"#r","lot":"#","title":"R","liked":["#a"]}`},
	{"patch", "PATCH", "/rest/crud/region@m/#a", `{"n":11,"title":"A2"}`},
	{"patch", "PATCH", "/rest/crud/town@m/#t", `{"n":3,"title":"T2"}`},
	{"patch", "PATCH", "/rest/crud/person@m/#p", `{"title":"P2"}`},
	{"key change", "PATCH", "/rest/crud/region@m/#a", `{"id":"#d"}`},
	{"key change", "PATCH", "/rest/strict/town@m/#t", `{"id":"#w","region":"#a"}`},
	{"key change", "PATCH", "/rest/crud/person@m/#p", `{"id":"#r"}`},
	{"key change", "PATCH", "/rest/crud/region@m/#b", `{"id":"#d"}`},
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
	{"unlink", "PATCH", "/rest/crud/town@m/#t", `{"region":null}`},
	{"unlink", "PATCH", "/rest/crud/region@m/#a", `{"fans":{"remove":["#p"]}}`},
	{"unlink", "PATCH", "/rest/crud/region@m/#a", `{"towns":[],"fans":[]}`},
	{"nested save", "PATCH", "/rest/crud/region@m/#b", `{"towns":{"add":[{"id":"#t","title":"T3"}]}}`},
	{"nested save", "PATCH", "/rest/crud/town@m/#t", `{"region":{"id":"#a","title":"A3","n":30}}`},
	{"nested save", "PATCH", "/rest/crud/region@m/#b", `{"capital":{"id":"#v","lot":"#","title":"V3","region":"#a"}}`},
	{"transition", "PUT", "/rest/workflows/region@m/#a", `["flow@m.go"]`},
	{"bulk", "POST", "/rest/acceptor", `[{"_class":"region@m","_id":"#a","n":70},{"_class":"region@m","_id":"#b","n":80},{"_class":"town@m","_id":"#t","region":"#b","lot":"#"}]`},
	{"bulk", "POST", "/rest/acceptor", `[{"_class":"region@m","_id":"#b","n":81,"lot":"#"},{"_class":"region@m","_id":"#a","n":71,"lot":"#"},{"_class":"person@m","_id":"#p","liked":{"add":["#b"]},"lot":"#"}]`},
	{"script", "POST", "/rest/move/#a/#b", "{}"},
	{"script", "POST", "/rest/move/#b/#a", "{}"},
}

// pairServers are servers of one database.
type pairServers struct {
	servers []*process
	client  *http.Client
	lots    chan int
}

func startPairServers(t *testing.T, n int, db string) *pairServers {
	s := &pairServers{lots: make(chan int), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
	for range n {
		dir := application(t, map[string]string{"deploy.json": pairsApp, "move.js": pairsScript, "workflows/flow.wf.json": pairsWorkflow})
		args := []string{}
		if db != "" {
			args = []string{"-db", db}
		}
		s.servers = append(s.servers, launch(t, dir, args...))
	}
	for _, p := range s.servers {
		p.await(t)
	}
	go func() {
		for i := 0; ; i++ {
			select {
			case s.lots <- i:
			case <-t.Context().Done():
				return
			}
		}
	}()
	return s
}

// send sends an operation and returns the answer without what the lot adds to it.
func (s *pairServers) send(server int, lot string, o pairOperation) (string, error) {
	r, err := http.NewRequest(o.method, s.servers[server%len(s.servers)].url+strings.ReplaceAll(o.target, "#", lot), strings.NewReader(strings.ReplaceAll(o.body, "#", lot)))
	if err != nil {
		return "", err
	}
	r.SetBasicAuth("admin@local", adminPassword)
	r.Header.Set("X-Request-Id", "pairs")
	if o.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	text := everywhere.Replace(strings.ReplaceAll(string(body), lot, ""))
	var answer any
	if json.Unmarshal([]byte(text), &answer) == nil {
		text = jsonOf(sortedMembers(answer))
	}
	return fmt.Sprintf("%d %s", resp.StatusCode, text), err
}

// everywhere removes from answers what is the same for all objects.
var everywhere = strings.NewReplacer(`"_creator":"admin@local",`, "", `"_editor":"admin@local",`, "", `"_classVer":"",`, "", `"lot":"",`, "")

// sortedMembers sorts collections: the order of members that are linked at the same
// time is not defined.
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
				slices.SortFunc(members, func(a, b any) int { return strings.Compare(jsonOf(a), jsonOf(b)) })
			}
		}
	}
	return v
}

// must is send for what always succeeds unless the server is busy.
func (s *pairServers) must(server int, lot string, o pairOperation) (string, error) {
	for try := 0; ; try++ {
		answer, err := s.send(server, lot, o)
		if err != nil || strings.HasPrefix(answer, "200 ") {
			return answer, err
		}
		if !wasBusy(answer) || try == 20 {
			return "", fmt.Errorf("%s: %s", o, answer)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// wasBusy reports whether an answer says that the request had no effect and may be
// sent again.
func wasBusy(answer string) bool { return strings.HasPrefix(answer, "503 ") }

// race prepares a lot, lets run send requests, and returns what run did and what
// is stored then.
func (s *pairServers) race(run func(lot string) (answers []string, err error)) (outcome string, answers []string, err error) {
	lot := fmt.Sprintf("x%dx", <-s.lots)
	if _, err = s.must(0, lot, pairOperation{"", "POST", "/rest/acceptor", pairsBefore}); err != nil {
		return "", nil, err
	}
	if answers, err = run(lot); err != nil {
		return "", nil, err
	}
	if _, err = s.must(0, lot, pairOperation{"", "POST", "/rest/acceptor", pairsAfter}); err != nil {
		return "", nil, err
	}
	var b strings.Builder
	for _, target := range []string{"region@m?lot=#&_sort=id&_eager=capital|towns|fans", "town@m?lot=#&_sort=id&_eager=region", "person@m?lot=#&_sort=id&_eager=liked"} {
		list, err := s.must(0, lot, pairOperation{"", "GET", "/rest/crud/" + target, ""})
		if err != nil {
			return "", nil, err
		}
		b.WriteString(list + "\n")
	}
	return b.String(), answers, nil
}

// serial returns the outcome of operations that are sent one after the other.
func (s *pairServers) serial(operations ...pairOperation) (outcome string, answers []string, err error) {
	return s.race(func(lot string) (answers []string, err error) {
		for _, o := range operations {
			answer, err := s.send(0, lot, o)
			if err != nil {
				return nil, err
			}
			answers = append(answers, answer)
		}
		return answers, nil
	})
}

// orders returns the outcomes that a race of two operations may have, with the
// answers: those of both orders, and those of one alone beside a refused one.
func (s *pairServers) orders(a, b pairOperation) (map[string]string, error) {
	may := map[string]string{}
	for _, order := range []struct {
		name       string
		operations []pairOperation
		answers    func(given []string) string
	}{
		{"first, second", []pairOperation{a, b}, func(given []string) string { return pairAnswers(given[0], given[1]) }},
		{"second, first", []pairOperation{b, a}, func(given []string) string { return pairAnswers(given[1], given[0]) }},
		{"first alone", []pairOperation{a}, func(given []string) string { return pairAnswers(given[0], "503 ") }},
		{"second alone", []pairOperation{b}, func(given []string) string { return pairAnswers("503 ", given[0]) }},
		{"none", nil, func([]string) string { return pairAnswers("503 ", "503 ") }},
	} {
		outcome, given, err := s.serial(order.operations...)
		if err != nil {
			return nil, err
		}
		may[order.answers(given)+outcome] = order.name
	}
	return may, nil
}

func pairAnswers(a, b string) string {
	for _, answer := range []*string{&a, &b} {
		if wasBusy(*answer) {
			*answer = "503 "
		}
	}
	return "first:  " + a + "\nsecond: " + b + "\n"
}

// TestConcurrentPairs checks that two requests at the same time have the effect
// and the answers of one order: every kind of operation meets every kind on the same
// objects, and the outcome of each race must be that of the requests one after the
// other, which is seen beforehand. A request that is answered 503 must have no effect.
// RESTSRV_PAIRS is how many races there are of each two kinds.
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
			var kinds []string
			for _, o := range pairOperations {
				if !slices.Contains(kinds, o.kind) {
					kinds = append(kinds, o.kind)
				}
			}
			for i, first := range kinds {
				for _, second := range kinds[i:] {
					s.play(t, first, second, races)
				}
			}
		})
	}
}

// play lets two kinds meet.
func (s *pairServers) play(t *testing.T, first, second string, races int) {
	seed := rand.Uint64()
	var mu sync.Mutex
	var wrong, busy int
	orders, known := map[string]int{}, map[[2]pairOperation]map[string]string{}
	random := rand.New(rand.NewPCG(seed, 0))
	pick := func() (a, b pairOperation, may map[string]string, err error) {
		mu.Lock()
		defer mu.Unlock()
		of := func(kind string) pairOperation {
			all := slices.DeleteFunc(slices.Clone(pairOperations), func(o pairOperation) bool { return o.kind != kind })
			return all[random.IntN(len(all))]
		}
		a, b = of(first), of(second)
		if may = known[[2]pairOperation{a, b}]; may == nil {
			may, err = s.orders(a, b)
			known[[2]pairOperation{a, b}] = may
		}
		return a, b, may, err
	}
	left := make(chan struct{}, races)
	for range races {
		left <- struct{}{}
	}
	close(left)
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for range left {
				a, b, may, err := pick()
				if err != nil {
					t.Error(err)
					return
				}
				outcome, given, err := s.race(func(lot string) ([]string, error) { return s.both(worker, lot, a, b) })
				if err != nil {
					t.Error(err)
					return
				}
				answers := pairAnswers(given[0], given[1])
				mu.Lock()
				order := may[answers+outcome]
				orders[order]++
				if wasBusy(given[0]) || wasBusy(given[1]) {
					busy++
				}
				if order == "" {
					if wrong++; wrong <= 2 {
						t.Errorf("%s and %s at the same time: no order has this outcome\nfirst:  %s\nsecond: %s\n\ngot\n%s\nwant one of\n%s", first, second, a, b, answers+outcome, listOrders(may, answers+outcome))
					}
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if wrong > 0 {
		t.Errorf("%s and %s: %d of %d races have an outcome of no order", first, second, wrong, races)
	}
	t.Logf("%s, %s: %d races, %d answered 503, orders %v", first, second, races, busy, orders)
}

// both sends two operations at the same time, to different servers if there are
// several.
func (s *pairServers) both(worker int, lot string, a, b pairOperation) ([]string, error) {
	answers, errs := make([]string, 2), make([]error, 2)
	var wg sync.WaitGroup
	for i, o := range []pairOperation{a, b} {
		delay := time.Duration(rand.IntN(400)) * time.Microsecond
		wg.Go(func() {
			time.Sleep(delay)
			answers[i], errs[i] = s.send(worker+i, lot, o)
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// listOrders returns the outcomes of orders, without the lines that are as they
// should be.
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
