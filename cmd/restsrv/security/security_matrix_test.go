package security

// The matrix of hidden data combines every path that reads data with every way to mention hidden
// data: a hidden attribute, or an item that the account may not read. security_paths_test.go
// lists the paths, and security_mentions_test.go the ways.
//
// The account ann@local sends the same requests twice. Between the two rounds, all data that are
// hidden from her change: the values, the files and the items. Status, headers and body must be
// the same, byte by byte. A request with a hidden attribute must get the same response as a
// request with an attribute that does not exist. The administrator sends the requests too, which
// proves that they do read the hidden data.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/engine/store/postgres/pgtest"
)

// probe is a request of the matrix.
type probe struct {
	via          string // path through which data are read
	name         string // name that the request mentions, with its hidden part in brackets; "" if it mentions no name
	method       string
	target, body string
	header       []string
	blind        bool // the administrator gets the same answer, because the request acts for ann
}

func (p probe) String() string {
	return fmt.Sprintf("%s %s %s %s %v", p.via, p.method, p.target, p.body, p.header)
}

// unknown returns the same request with an unknown name instead of the hidden one.
func (p probe) unknown() (q probe, hidden, absent string) {
	hidden = hiddenName(p.name)
	absent = absentName(hidden)
	p.target = strings.ReplaceAll(p.target, hidden, absent)
	p.body = strings.ReplaceAll(p.body, hidden, absent)
	return p, hidden, absent
}

// hiddenName returns the part of a name in brackets.
func hiddenName(name string) string {
	_, rest, _ := strings.Cut(name, "[")
	rest, _, _ = strings.Cut(rest, "]")
	return rest
}

// absentName returns a name that does not exist. It has the same length and letter case as the
// hidden name like.
func absentName(like string) string {
	switch {
	case like == strings.ToLower(like):
		return "absent"
	case like == strings.ToUpper(like):
		return "ABSENT"
	}
	return "Absent"
}

// secretWorld is a server with hidden data that the test changes.
type secretWorld struct {
	*apptest.Case
	client *http.Client
	marks  map[string]string // values for {name} in requests
}

func newSecretWorld(t *testing.T, db string) *secretWorld {
	c := apptest.NewCase(t, db)
	c.WriteFile("string-list.js", apptest.ReadFile(t, "../../../scripts/string-list.js"))
	for _, name := range []string{"deploy.json", "probe.js"} {
		c.WriteFile(name, apptest.ReadFile(t, filepath.Join("../testdata/security", name)))
	}
	for name, text := range shownFiles {
		c.WriteFile(name, text)
	}
	w := &secretWorld{Case: c, marks: map[string]string{}, client: &http.Client{
		Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 8},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	t.Cleanup(w.StopServer)
	w.StartServer()
	w.fill()
	w.rights()
	w.StopServer() // the next server starts with all grants
	w.StartServer()
	w.signIn()
	return w
}

// rights creates the accounts and the grants of ann. She has no grant for secrets.
func (w *secretWorld) rights() {
	for _, account := range []string{"ann@local", "eve@local"} {
		if out, err := w.Run("restsrv user add -force "+account, "secret\n"); err != nil {
			w.Fatal(err, out)
		}
	}
	for _, grant := range []string{"ann@local i:::person@m@p1 read write", "ann@local i:::person@m@p2 read write", "ann@local i:::manager@m@m1 read",
		"ann@local c:::team@m read", "ann@local c:::note@m use", "ann@local ws:::gen-ws-token use", "OWNER c:::note@m read write",
		"eve@local c:::person@m read write", "eve@local c:::manager@m read write", "eve@local c:::team@m read", "eve@local c:::note@m read write use"} {
		w.MustRun(append([]string{"acl", "grant"}, strings.Fields(grant)...)...)
	}
	for _, attribute := range []string{"person@m.salary", "person@m.remark", "person@m.report", "person@m.passport.number", "person@m.grants", "manager@m.reward", "team@m.budget", "note@m.cipher"} {
		if out, err := w.Run("restsrv acl resource declare a:::"+attribute, ""); err != nil {
			w.Fatal(err, out)
		}
	}
}

// data are all items in the first and in the second state. "" means that the item does not exist
// in this state. ann may find out only values that are the same in both states.
var data = []struct{ class, id, alpha, beta string }{
	{"team", "t1", `"title":"Red","budget":100`, `"title":"Red","budget":900`},
	{"team", "t2", `"title":"Blue","budget":200`, `"title":"Blue","budget":50`},
	{"secret", "s1", `"code":"alpha"`, `"code":"beta"`},
	{"secret", "s2", `"code":"alpha"`, ``},
	{"secret", "s3", ``, `"code":"beta"`},
	{"person", "p3", `"name":"alpha","rank":100,"title":"alpha","salary":100,"vault":"s1"`, `"name":"beta","rank":900,"title":"beta","salary":900,"vault":null`},
	{"person", "p1", `"name":"Ann","rank":1,"title":"same","boss":"p3","team":"t1","vault":"s1","salary":100,"remark":"alpha","passport$number":"alpha","passport$place":"Oslo"`,
		`"name":"Ann","rank":1,"title":"same","boss":"p3","team":"t1","vault":"s1","salary":900,"remark":"beta","passport$number":"beta"`},
	{"person", "p2", `"name":"Bob","rank":2,"title":"same","boss":"p1","team":"t2","salary":200,"remark":"none","passport$number":"none"`,
		`"name":"Bob","rank":2,"title":"same","boss":"p1","team":"t2","salary":50,"remark":"alpha","passport$number":"alpha"`},
	{"manager", "m2", `"name":"alpha","rank":100,"reward":100,"car":"alpha"`, `"name":"beta","rank":900,"reward":900,"car":"beta"`},
	{"manager", "m1", `"name":"Max","rank":3,"title":"same","boss":"m2","team":"t1","salary":100,"reward":100,"car":"Volvo","remark":"alpha","passport$number":"alpha"`,
		`"name":"Max","rank":3,"title":"same","boss":"m2","team":"t1","salary":900,"reward":900,"car":"Volvo","remark":"beta","passport$number":"beta"`},
	{"person", "p4", `"name":"alpha","rank":100,"title":"alpha","boss":"p1","team":"t1","salary":100`, ``},
	{"person", "p5", ``, `"name":"beta","rank":900,"title":"beta","boss":"p2","team":"t2","salary":900`},
	{"note", "n1", `"title":"one","owner":"ann@local","author":"p1","cipher":"alpha"`, `"title":"one","owner":"ann@local","author":"p1","cipher":"beta"`},
	{"note", "n2", `"title":"two","owner":"ann@local","author":"p3","cipher":"none"`, `"title":"two","owner":"ann@local","author":"p3","cipher":"alpha"`},
	{"note", "n3", `"title":"alpha","owner":"bob@local","author":"p1"`, `"title":"beta","owner":"bob@local","author":"p2"`},
	{"note", "n4", `"title":"alpha","owner":"bob@local","author":"p1"`, ``},
	{"note", "n5", ``, `"title":"beta","owner":"bob@local","author":"p1"`},
}

// fill creates the first state. It also changes each item once, because the change to the second
// state does so as well.
func (w *secretWorld) fill() {
	for _, d := range data {
		if d.alpha != "" {
			w.admin(200, "POST", "/rest/crud/"+d.class+"@m", fmt.Sprintf(`{"id":%q,%s}`, d.id, d.alpha))
		}
	}
	for _, d := range data {
		if d.alpha != "" {
			w.admin(200, "PATCH", "/rest/crud/"+d.class+"@m/"+d.id, "{"+d.alpha+"}")
		}
	}
	w.admin(200, "PATCH", "/rest/crud/person@m/p1", `{"photo":{"name":"p.txt","body":"cGhvdG8="}}`)
	w.rest([]string{"n1", "n3"}, []string{"n2"}, "alpha")
}

// rest sets collections and files.
func (w *secretWorld) rest(grants, others []string, file string) {
	put := func(id, body string) string { return w.admin(200, "PATCH", "/rest/crud/person@m/"+id, body) }
	list := func(ids []string) string {
		text, _ := json.Marshal(ids)
		return string(text)
	}
	put("p1", fmt.Sprintf(`{"grants":%s,"likes":["n1","n3"]}`, list(grants)))
	put("p2", fmt.Sprintf(`{"grants":%s,"likes":["n3"],"report":null}`, list(others)))
	answer := put("p1", fmt.Sprintf(`{"report":{"name":%q,"body":"YWxwaGE="}}`, file+".txt"))
	var p struct{ Report, Photo struct{ ID string } }
	if err := json.Unmarshal([]byte(answer), &p); err != nil || p.Report.ID == "" {
		w.Fatalf("got %s, %v, want an object with a report", answer, err)
	}
	w.marks["report"], w.marks["photo"] = p.Report.ID, p.Photo.ID
}

// change makes the changes from the first to the second state.
func (w *secretWorld) change() {
	for _, d := range data {
		at := "/rest/crud/" + d.class + "@m/" + d.id
		switch {
		case d.alpha == "":
			w.admin(200, "POST", "/rest/crud/"+d.class+"@m", fmt.Sprintf(`{"id":%q,%s}`, d.id, d.beta))
		case d.beta == "":
			w.admin(200, "DELETE", at, "")
		default:
			w.admin(200, "PATCH", at, "{"+d.beta+"}")
		}
	}
	w.rest([]string{"n2"}, []string{"n1", "n2"}, "beta")
}

// admin sends a request as the administrator and returns the answer.
func (w *secretWorld) admin(status int, method, target, body string) string {
	w.Helper()
	r := w.request(probe{method: method, target: target, body: body}, "admin@local")
	got, text := w.do(r)
	if got.StatusCode != status {
		w.Fatalf("%s %s %s: got %d, want %d: %s", method, target, body, got.StatusCode, status, text)
	}
	return text
}

// signIn gets one credential of each kind for ann.
func (w *secretWorld) signIn() {
	w.marks["token"] = w.text(probe{method: "GET", target: "/rest/token"})
	resp, _ := w.do(w.request(probe{method: "POST", target: "/auth", body: "username=ann&password=secret", header: []string{"Content-Type: application/x-www-form-urlencoded"}}, ""))
	w.marks["session"] = resp.Cookies()[0].Name + "=" + resp.Cookies()[0].Value
	const verifier = "0123456789012345678901234567890123456789012"
	digest := sha256.Sum256([]byte(verifier))
	resp, _ = w.do(w.request(probe{method: "POST", target: "/oauth2/grant?client_id=app&response_type=code&redirect_uri=http%3A%2F%2F127.0.0.1%2Fcb&code_challenge_method=S256&code_challenge=" + base64.RawURLEncoding.EncodeToString(digest[:]),
		header: []string{"Cookie: {session}"}}, ""))
	to, err := resp.Location()
	if err != nil {
		w.Fatalf("grant: got %s, %v, want a redirect", resp.Status, err)
	}
	form := url.Values{"grant_type": {"authorization_code"}, "client_id": {"app"}, "redirect_uri": {"http://127.0.0.1/cb"}, "code_verifier": {verifier}, "code": {to.Query().Get("code")}}
	_, text := w.do(w.request(probe{method: "POST", target: "/oauth2/token", body: form.Encode(), header: []string{"Content-Type: application/x-www-form-urlencoded"}}, ""))
	var got struct {
		Access string `json:"access_token"`
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil || got.Access == "" {
		w.Fatalf("token request: got %s, %v, want an access token", text, err)
	}
	w.marks["bearer"] = got.Access
}

func (w *secretWorld) text(p probe) string {
	w.Helper()
	resp, text := w.do(w.request(p, "ann@local"))
	if resp.StatusCode != 200 {
		w.Fatalf("%v: got %d, want 200: %s", p, resp.StatusCode, text)
	}
	return text
}

// request returns the HTTP request of a probe. It authenticates as the account unless the header of
// the probe contains credentials.
func (w *secretWorld) request(p probe, account string) *http.Request {
	mark := func(s string) string {
		for name, value := range w.marks {
			s = strings.ReplaceAll(s, "{"+name+"}", value)
		}
		return s
	}
	r, err := http.NewRequestWithContext(context.Background(), p.method, "http://"+w.Addr+mark(p.target), strings.NewReader(mark(p.body)))
	if err != nil {
		w.Fatal(err)
	}
	r.Header.Set("X-Request-Id", "matrix")
	if p.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if account != "" {
		r.SetBasicAuth(account, "secret")
	}
	for _, h := range p.header {
		name, value, _ := strings.Cut(mark(h), ": ")
		if name == "Cookie" || name == "auth-token" {
			r.Header.Del("Authorization")
		}
		r.Header.Set(name, value)
	}
	return r
}

func (w *secretWorld) do(r *http.Request) (*http.Response, string) {
	resp, err := w.client.Do(r)
	if err != nil {
		w.Error(err)
		return &http.Response{}, ""
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		w.Error(err)
	}
	return resp, string(body)
}

// revisionOfTag matches the random revision in an ETag, which each write of an item changes.
var revisionOfTag = regexp.MustCompile(`(?m)^(Etag: ")[0-9a-z]+`)

// answer returns all parts of an answer that can reveal data, without the marks.
func (w *secretWorld) answer(p probe, account string) string {
	resp, body := w.do(w.request(p, account))
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d\n", resp.StatusCode)
	for _, name := range slices.Sorted(maps.Keys(resp.Header)) {
		if name != "Date" {
			fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(resp.Header[name], "\n"))
		}
	}
	text := revisionOfTag.ReplaceAllString(b.String(), "${1}…") + "\n" + body
	for name, value := range w.marks {
		text = strings.ReplaceAll(text, value, "{"+name+"}")
	}
	return text
}

// all sends the probes as an account and returns the answers in their order.
func (w *secretWorld) all(probes []probe, account string) []string {
	answers := make([]string, len(probes))
	next := make(chan int)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for i := range next {
				answers[i] = w.answer(probes[i], account)
			}
		})
	}
	for i := range probes {
		next <- i
	}
	close(next)
	workers.Wait()
	return answers
}

// TestHiddenDataMatrix runs the whole matrix.
func TestHiddenDataMatrix(t *testing.T) {
	if apptest.RaceDetector {
		t.Skip("thousands of requests, one after the other: the run without the race detector makes them")
	}
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); playMatrix(t, "") })
	t.Run("postgres", func(t *testing.T) { t.Parallel(); playMatrix(t, pgtest.Database(t)) })
}

// TestHiddenAttributesMatrix uses an account that may read all persons, teams and notes, but no
// hidden attribute.
func TestHiddenAttributesMatrix(t *testing.T) {
	if apptest.RaceDetector {
		t.Skip("thousands of requests, one after the other: the run without the race detector makes them")
	}
	t.Parallel()
	play := func(t *testing.T, db string) {
		t.Parallel()
		w := newSecretWorld(t, db)
		reads := slices.DeleteFunc(readingProbes(db != ""), func(p probe) bool { return p.blind || strings.HasPrefix(p.target, "/files/{photo}") })
		before := w.all(reads, "eve@local")
		w.unknownAlike(reads, before, "eve@local")
		w.metaTells("eve@local")
		w.changeHidden()
		w.same(reads, before, w.all(reads, "eve@local"))
		count(t, reads)
	}
	t.Run("sqlite", func(t *testing.T) { play(t, "") })
	t.Run("postgres", func(t *testing.T) { play(t, pgtest.Database(t)) })
}

// changeHidden changes only hidden attributes.
func (w *secretWorld) changeHidden() {
	for _, d := range data {
		if d.alpha == "" {
			continue
		}
		hidden := map[string]string{"person": `"salary":901,"remark":"beta","passport$number":"beta"`, "team": `"budget":901`, "note": `"cipher":"beta"`}
		hidden["manager"] = hidden["person"] + `,"reward":901`
		if text := hidden[d.class]; text != "" {
			w.admin(200, "PATCH", "/rest/crud/"+d.class+"@m/"+d.id, "{"+text+"}")
		}
	}
	w.rest([]string{"n2"}, []string{"n1", "n2"}, "beta")
}

func playMatrix(t *testing.T, db string) {
	w := newSecretWorld(t, db)
	reads, writes := readingProbes(db != ""), writingProbes()
	var asked []probe // a part of the probes, enough to check that they request hidden data
	for i, p := range reads {
		if i%4 == 0 || p.via != reads[0].via {
			asked = append(asked, p)
		}
	}
	both := slices.Concat(reads, writes)
	pass := func() (told, seen []string) {
		told = w.all(reads, "ann@local")
		if db == "" { // the requests are the same on both databases
			seen = w.all(asked, "admin@local")
		}
		w.unknownAlike(reads, told, "ann@local")
		for _, p := range writes { // one after the other
			told = append(told, w.answer(p, "ann@local"))
			w.clean(p)
		}
		return told, seen
	}
	before, seenBefore := pass()
	w.metaTells("ann@local")
	w.change()
	after, seenAfter := pass()
	w.same(both, before, after)
	if db == "" {
		w.asksForHidden(asked, seenBefore, seenAfter)
	}
	w.untouched()
	count(t, both)
}

// same checks that both answers to each probe are equal.
func (w *secretWorld) same(probes []probe, before, after []string) {
	failed := 0
	for i, p := range probes {
		if before[i] == after[i] {
			continue
		}
		if failed++; failed <= 20 {
			w.Errorf("LEAK: %v: the response depends on hidden data:\n%.1500s\nwith other hidden data:\n%.1500s", p, before[i], after[i])
		}
	}
	if failed > 0 {
		w.Errorf("got %d leaking requests of %d, want none", failed, len(probes))
	}
}

// derived matches cursors, and weak ETags, which are checksums of data that the test compares too.
var derived = regexp.MustCompile(`_after=[\w-]+|W/"[^"]*"`)

// unknownAlike checks that a hidden attribute gives the same error as an unknown
// one.
func (w *secretWorld) unknownAlike(probes []probe, told []string, account string) {
	var named []int
	var others []probe
	for i, p := range probes {
		if hiddenName(p.name) != "" {
			q, _, _ := p.unknown()
			named, others = append(named, i), append(others, q)
		}
	}
	failed := 0
	for n, answer := range w.all(others, account) {
		p := probes[named[n]]
		_, hidden, absent := p.unknown()
		want := derived.ReplaceAllString(strings.ReplaceAll(answer, absent, hidden), "…")
		if got := derived.ReplaceAllString(told[named[n]], "…"); got != want {
			if failed++; failed <= 20 {
				w.Errorf("HIDDEN IS NOT AS UNKNOWN: %v\n%.1500s\nof what nothing has\n%.1500s", p, got, want)
			}
		}
	}
	if failed > 0 {
		w.Errorf("got %d mentions of hidden attributes of %d with another response than for an unknown name, want none", failed, len(others))
	}
}

// asksForHidden checks that the probes request hidden data: on every path and for every name, the
// administrator must get at least one answer that differs.
func (w *secretWorld) asksForHidden(probes []probe, before, after []string) {
	differs := map[string]bool{}
	for i, p := range probes {
		for _, k := range []string{"path " + p.via, "name " + p.name} {
			differs[k] = differs[k] || before[i] != after[i] || p.blind || p.name == "" && strings.HasPrefix(k, "name")
		}
	}
	for _, k := range slices.Sorted(maps.Keys(differs)) {
		if !differs[k] {
			w.Errorf("%s: got no probe that reads hidden data, want one", k)
		}
	}
}

// clean removes the objects that a write may have created.
func (w *secretWorld) clean(p probe) {
	if !strings.Contains(p.body, `"w1"`) {
		return
	}
	for _, at := range []string{"note@m/w1", "person@m/w1"} {
		w.do(w.request(probe{method: "DELETE", target: "/rest/crud/" + at}, "admin@local"))
	}
}

// untouched checks that no write has changed data that the account may not write.
func (w *secretWorld) untouched() {
	for _, d := range data {
		if d.beta == "" {
			continue
		}
		var want, got map[string]any
		_ = json.Unmarshal([]byte("{"+d.beta+"}"), &want)
		if err := json.Unmarshal([]byte(w.admin(200, "GET", "/rest/crud/"+d.class+"@m/"+d.id, "")), &got); err != nil {
			w.Fatal(err)
		}
		for name, value := range want {
			if fmt.Sprint(got[name]) != fmt.Sprint(value) {
				w.Errorf("%s of %s: got %v, want %v", name, d.id, got[name], value)
			}
		}
	}
}

// count logs the number of requests of each kind.
func count(t *testing.T, probes []probe) {
	paths, names := map[string]int{}, map[string]int{}
	for _, p := range probes {
		paths[p.via]++
		if p.name != "" {
			names[p.name]++
		}
	}
	t.Logf("%d requests: %d paths x %d names in all their mentions", len(probes), len(paths), len(names))
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		t.Logf("%6d %s", paths[path], path)
	}
}
