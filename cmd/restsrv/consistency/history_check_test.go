package consistency

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/cmd/restsrv/oracle"
	"restsrv/engine"
	"restsrv/engine/server"
)

// historyCall is a request to change or read the objects of a lot, and its answer. A lot is a set
// of objects with their own ids.
type historyCall struct {
	pairOperation        // with the names of the lot
	match         string // the ETag in If-Match; "" for none
	seen          string // the object that another answer showed with this ETag

	server     *historyProcess
	begin, end int64 // times on a clock that all clients share; end is 0 if there was no answer
	until      int64 // time after which a call without an answer can have no effect
	status     int
	body       string // see canonical
	tag        string // ETag of the answer

	request oracle.Request // the same request for the model
}

func (c *historyCall) answered() bool { return c.end != 0 }

func (c *historyCall) reads() bool { return c.method == "GET" }

// ask sets the request for the model.
func (c *historyCall) ask() error {
	u, err := url.Parse(c.target)
	if err != nil {
		return err
	}
	parts := append(strings.Split(strings.TrimPrefix(u.Path, "/rest/"), "/"), "", "")
	c.request = oracle.Request{Service: parts[0], Method: c.method, Class: parts[1], ID: parts[2], Eager: u.Query().Get("_eager")}
	if c.request.Service == "strict" {
		c.request.Service, c.request.Strict = "crud", true
	}
	if c.pairOperation.body == "" {
		return nil
	}
	d := json.NewDecoder(strings.NewReader(c.pairOperation.body))
	d.UseNumber()
	c.request.Body, err = modelValue(d)
	return err
}

// modelValue reads a JSON value in the form that the model uses.
func modelValue(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case json.Number:
		return token.Int64()
	case json.Delim:
		fields, list := oracle.Fields{}, []any{}
		for d.More() {
			name := ""
			if token == '{' {
				key, err := d.Token()
				if err != nil {
					return nil, err
				}
				name = key.(string)
			}
			v, err := modelValue(d)
			if err != nil {
				return nil, err
			}
			fields, list = append(fields, oracle.Field{Name: name, Value: v}), append(list, v)
		}
		if _, err := d.Token(); err != nil || token == '[' {
			return list, err
		}
		return fields, nil
	}
	return token, nil
}

// canonical sorts the parts of a body that have no defined order: lists, and members that were
// linked at the same time.
func canonical(body string, list bool) string {
	var v any
	if json.Unmarshal([]byte(body), &v) != nil {
		return body
	}
	v = sortedMembers(v)
	if all, ok := v.([]any); ok && list {
		slices.SortFunc(all, func(a, b any) int { return strings.Compare(apptest.JSON(a), apptest.JSON(b)) })
	}
	return apptest.JSON(v)
}

// isList reports whether a request reads a list.
func isList(r oracle.Request) bool { return r.Method == "GET" && r.ID == "" }

// historyState holds the objects of a lot after some calls, and the ETags that answers have
// shown.
type historyState struct {
	world oracle.World // requests to a copy do not change the original
	tags  map[string]string
}

func (s *historyState) key() string { return s.world.State() + oracle.Encode(s.tags) }

// after returns the state after a call. fits reports whether the call can have had its answer in
// state s. A call without an answer fits only if it can have had an effect.
func (s historyState) after(c *historyCall) (next historyState, fits bool) {
	object := c.request.Class + "/" + c.request.ID
	if c.match != "" {
		tag, known := s.tags[object]
		if c.status == http.StatusPreconditionFailed {
			return s, tag != c.match
		}
		world := s.world
		now := world.Do(oracle.Request{Service: "crud", Method: "GET", Class: c.request.Class, ID: c.request.ID})
		if matches := canonical(now.Body, false) == c.seen && (!known || tag == c.match); !matches && (c.status == 200 || !c.answered()) {
			return s, false
		}
	}
	next = s
	want := next.do(c)
	if !c.answered() {
		next.tags = nil
		return next, want.Status == 200
	}
	if want.Status != c.status && (want.Status != 404 || c.status != 400 || c.reads()) { // a call with two mistakes fits if the server reports either
		return s, false
	}
	if c.status != 200 {
		return s, true
	}
	if c.comparable(canonical(want.Body, isList(c.request))) != c.comparable(c.body) {
		return s, false
	}
	if !c.reads() {
		next.tags = nil
	}
	if c.tag == "" || c.request.Service != "crud" || c.request.Eager != "" || c.method == "DELETE" {
		return next, true
	}
	var named struct {
		ID string `json:"_id"`
	}
	if json.Unmarshal([]byte(c.body), &named) != nil {
		return s, false
	}
	object = c.request.Class + "/" + named.ID
	if tag, known := next.tags[object]; known && tag != c.tag {
		return s, false
	}
	tags := map[string]string{object: c.tag}
	maps.Copy(tags, next.tags)
	next.tags = tags
	return next, true
}

// comparable returns the part of an answer that must be as if the calls came one after the other. On PostgreSQL, the
// answer of the acceptor contains all linked members of an object as they were at some moment during the call. Those
// of a collection that the record does not name may have changed before the commit, so they are left out.
func (c *historyCall) comparable(body string) string {
	records, _ := c.request.Body.([]any)
	var answers []map[string]any
	if c.request.Service != "acceptor" || json.Unmarshal([]byte(body), &answers) != nil || len(answers) != len(records) {
		return body
	}
	for i, record := range records {
		for _, collection := range []string{"fans", "liked", "seen"} {
			if named, _ := record.(oracle.Fields); !slices.ContainsFunc(named, func(f oracle.Field) bool { return f.Name == collection }) {
				delete(answers[i], collection)
			}
		}
	}
	return apptest.JSON(answers)
}

// do returns the answer of the model to a call.
func (s *historyState) do(c *historyCall) oracle.Answer {
	if c.request.Service != "move" {
		return s.world.Do(c.request)
	}
	regions := s.world.Class("region@m")
	var numbers [2]int64
	ids := []string{c.request.Class, c.request.ID} // the path is /move/<from>/<to>
	for i, id := range ids {
		o := s.world.Object(regions, id)
		if o == nil {
			return oracle.Answer{Status: 200, Body: `"missing"`}
		}
		numbers[i], _ = o.Values["n"].(int64)
	}
	for i, id := range ids {
		s.world.Do(oracle.Request{Service: "crud", Method: "PATCH", Class: "region@m", ID: id, Body: oracle.JSON("n", numbers[i]+int64(2*i-1))})
	}
	return oracle.Answer{Status: 200, Body: `"moved"`}
}

// historySearch looks for an order of the calls to a lot that explains all answers. A call must
// come before the calls that began after its answer. A call without an answer takes effect before
// its server was gone, or never.
type historySearch struct {
	calls   []*historyCall
	visited map[[sha256.Size]byte]bool

	done     uint64 // calls in the order that was found; if none was found, calls in the longest order
	state    historyState
	explains bool
	givenUp  bool // the search ended after historyStates states
}

// historyStates is the maximum number of states in a search.
const historyStates = 20000

// explain looks for an order of calls to a lot that was empty at first.
func explain(classes []*engine.Class, calls []*historyCall) *historySearch {
	h := &historySearch{calls: slices.Clone(calls), visited: map[[sha256.Size]byte]bool{}}
	slices.SortFunc(h.calls, func(a, b *historyCall) int { // calls with an answer first
		return cmp.Compare(uint64(a.end-1), uint64(b.end-1))
	})
	world := oracle.New(classes)
	world.Workflows = pairsWorkflows
	h.state = historyState{world: *world}
	h.explains = h.from(0, h.state)
	return h
}

// pairsWorkflows are the workflows of pairsApp.
var pairsWorkflows = []oracle.Workflow{{
	Name: "flow@m", Caption: "Flow", Class: "region@m", Start: "draft",
	States:      []oracle.State{{Name: "draft", Caption: "draft"}, {Name: "done", Caption: "done"}},
	Transitions: []oracle.Transition{{Name: "go", Caption: "go", From: "draft", To: "done", Assign: oracleAssign("n", int64(50))}},
}}

func (h *historySearch) from(done uint64, s historyState) bool {
	key := sha256.Sum256(fmt.Append(nil, done, s.key()))
	if h.visited[key] || h.givenUp {
		return false
	}
	h.visited[key] = true
	h.givenUp = len(h.visited) == historyStates
	if bits(done) > bits(h.done) {
		h.done, h.state = done, s
	}
	may := h.open(done)
	if !slices.ContainsFunc(may, func(i int) bool { return h.calls[i].answered() }) {
		h.done, h.state = done, s
		return true
	}
	for _, i := range may {
		if next, fits := s.after(h.calls[i]); fits && h.from(done|1<<i, next) {
			return true
		}
	}
	return false
}

// open returns the calls that may come next.
func (h *historySearch) open(done uint64) (may []int) {
	first, last := int64(math.MaxInt64), int64(0) // first: earliest answer of the other calls; last: latest begin of the calls in done
	for i, c := range h.calls {
		switch {
		case done&(1<<i) != 0:
			last = max(last, c.begin)
		case c.answered():
			first = min(first, c.end)
		}
	}
	for i, c := range h.calls {
		if done&(1<<i) == 0 && c.begin <= first && (c.answered() || c.until >= last) {
			may = append(may, i)
		}
	}
	return may
}

func bits(set uint64) (n int) {
	for ; set != 0; set &= set - 1 {
		n++
	}
	return n
}

// String lists the calls. It marks the calls in the longest order that explains its answers, and
// the calls that could come next.
func (h *historySearch) String() string {
	var b strings.Builder
	b.WriteString("calls of the longest order that explains its answers (+), and those that may be next (?):\n")
	may := h.open(h.done)
	for _, i := range slices.SortedFunc(maps.Keys(maps.Collect(slices.All(h.calls))), func(i, j int) int { return cmp.Compare(h.calls[i].begin, h.calls[j].begin) }) {
		c, mark := h.calls[i], " "
		switch {
		case h.done&(1<<i) != 0:
			mark = "+"
		case slices.Contains(may, i):
			mark = "?"
		}
		fmt.Fprintf(&b, "%s %d-%d %s If-Match %s: %d %s %s\n", mark, c.begin, c.end, c.pairOperation, c.match, c.status, c.tag, c.body)
		if mark == "?" {
			state := h.state
			want := state.do(c)
			fmt.Fprintf(&b, "  the model answers %d %s %s\n", want.Status, want.Code, canonical(want.Body, isList(c.request)))
		}
	}
	return b.String()
}

// heard is a call of a planned history. o is the operation, and its answer is computed: it is the
// answer after the calls with the listed numbers, in this order. If end is 0, the call has no
// answer.
type heard struct {
	begin, end, until int64
	o                 pairOperation
	after             []int
	tag               string // ETag of the answer
	match             int    // number of the call whose answer has the ETag of If-Match; 0 if there is none
	failed            bool   // the answer is 412
}

// TestHistoryChecker checks that the search accepts correct histories and rejects histories with a
// planted mistake.
func TestHistoryChecker(t *testing.T) {
	app, err := server.LoadApplication(filepath.Join(apptest.WriteApplication(t, map[string]string{"deploy.json": pairsApp, "move.js": pairsScript}), "deploy.json"), false)
	if err != nil {
		t.Fatal(err)
	}
	classes := app.Meta.Classes()
	before := pairOperation{"", "POST", "/rest/acceptor", "[" + strings.Join(pairsBefore, ",") + "]"}
	get, list := pairOperation{"", "GET", "/rest/crud/region@m/#a", ""}, pairOperation{"", "GET", historyLists[0], ""}
	patch := func(n int) pairOperation {
		return pairOperation{"", "PATCH", "/rest/crud/region@m/#a", fmt.Sprintf(`{"n":%d}`, n)}
	}
	bulk := pairOperation{"", "POST", "/rest/acceptor", `[{"_class":"region@m","_id":"#a","n":70},{"_class":"region@m","_id":"#b","n":80}]`}
	first := heard{begin: 1, end: 2, o: before}
	for name, c := range map[string]struct {
		calls    []heard
		explains bool
	}{
		"a read of an answered write":                                     {[]heard{first, {begin: 3, end: 4, o: patch(1), after: []int{0}}, {begin: 5, end: 6, o: get, after: []int{0, 1}}}, true},
		"a read that misses an answered write":                            {[]heard{first, {begin: 3, end: 4, o: patch(1), after: []int{0}}, {begin: 5, end: 6, o: get, after: []int{0}}}, false},
		"a read that begins before the answer":                            {[]heard{first, {begin: 3, end: 6, o: patch(1), after: []int{0}}, {begin: 4, end: 5, o: get, after: []int{0}}}, true},
		"reads that disagree on the order":                                {[]heard{first, {begin: 3, end: 20, o: patch(1), after: []int{0}}, {begin: 4, end: 20, o: patch(2), after: []int{0, 1}}, {begin: 5, end: 6, o: get, after: []int{0, 2}}, {begin: 7, end: 8, o: get, after: []int{0, 1}}, {begin: 9, end: 10, o: get, after: []int{0, 2}}}, false},
		"reads of two concurrent writes":                                  {[]heard{first, {begin: 3, end: 20, o: patch(1), after: []int{0}}, {begin: 4, end: 20, o: patch(2), after: []int{0, 1}}, {begin: 5, end: 6, o: get, after: []int{0, 1}}, {begin: 7, end: 8, o: get, after: []int{0, 1, 2}}}, true},
		"a write without an answer, there":                                {[]heard{first, {begin: 3, until: 4, o: bulk}, {begin: 5, end: 6, o: list, after: []int{0, 1}}}, true},
		"a write without an answer, not there":                            {[]heard{first, {begin: 3, until: 4, o: bulk}, {begin: 5, end: 6, o: list, after: []int{0}}}, true},
		"a write without an answer, there in parts":                       {[]heard{first, {begin: 3, until: 4, o: bulk}, {begin: 5, end: 6, o: list, after: []int{0, 3}}, {begin: 90, until: 91, o: patch(70)}}, false},
		"a write without an answer, first seen after its server was gone": {[]heard{first, {begin: 3, until: 4, o: bulk}, {begin: 5, end: 6, o: list, after: []int{0}}, {begin: 7, end: 8, o: list, after: []int{0, 1}}}, false},
		"a write without an answer, undone later":                         {[]heard{first, {begin: 3, until: 9, o: bulk}, {begin: 5, end: 6, o: list, after: []int{0, 1}}, {begin: 7, end: 8, o: list, after: []int{0}}}, false},
		"a write with an ETag":                                            {[]heard{first, {begin: 3, end: 4, o: get, after: []int{0}, tag: "x"}, {begin: 5, end: 6, o: patch(1), after: []int{0}, tag: "y", match: 1}}, true},
		"two writes with one ETag":                                        {[]heard{first, {begin: 3, end: 4, o: get, after: []int{0}, tag: "x"}, {begin: 5, end: 8, o: patch(1), after: []int{0}, tag: "y", match: 1}, {begin: 6, end: 7, o: patch(2), after: []int{0}, tag: "z", match: 1}}, false},
		"two writes with one ETag, one refused":                           {[]heard{first, {begin: 3, end: 4, o: get, after: []int{0}, tag: "x"}, {begin: 5, end: 8, o: patch(1), after: []int{0}, tag: "y", match: 1}, {begin: 6, end: 7, o: patch(2), match: 1, failed: true}}, true},
		"a write refused without another one":                             {[]heard{first, {begin: 3, end: 4, o: get, after: []int{0}, tag: "x"}, {begin: 6, end: 7, o: patch(2), match: 1, failed: true}}, false},
		"an ETag that changes without a write":                            {[]heard{first, {begin: 3, end: 4, o: get, after: []int{0}, tag: "x"}, {begin: 5, end: 6, o: get, after: []int{0}, tag: "y"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var calls []*historyCall
			for _, g := range c.calls {
				l := pairLot{"x1x", "x1x"}
				call := &historyCall{pairOperation: pairOperation{"", g.o.method, l.within(g.o.target), l.within(g.o.body)}, begin: g.begin, end: g.end, until: g.until}
				if err := call.ask(); err != nil {
					t.Fatal(err)
				}
				calls = append(calls, call)
			}
			for i, g := range c.calls {
				s := historyState{world: *oracle.New(classes)}
				for _, n := range g.after {
					s.do(calls[n])
				}
				if answer := s.do(calls[i]); g.failed {
					calls[i].status = http.StatusPreconditionFailed
				} else if g.end > 0 {
					calls[i].status, calls[i].body, calls[i].tag = answer.Status, canonical(answer.Body, isList(calls[i].request)), g.tag
				}
				if g.match > 0 {
					calls[i].match, calls[i].seen = calls[g.match].tag, calls[g.match].body
				}
			}
			if h := explain(classes, calls); h.explains != c.explains {
				t.Errorf("got an explanation: %t, want %t; %s", h.explains, c.explains, h)
			}
		})
	}
}
