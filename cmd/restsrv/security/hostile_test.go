package security

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"restsrv/cmd/restsrv/apptest"
)

const jsonType = "application/json"

// hostileTime is the default duration of TestHostileDocuments. RESTSRV_HOSTILE sets another
// duration.
const hostileTime = 10 * time.Second

// documentCPU is the CPU time that the server may use for one request. documentCPUShort is the
// limit for a short run together with other tests. It is higher, because caches are empty, and a
// garbage collection for earlier requests counts for the current request.
const (
	documentCPU      = time.Second
	documentCPUShort = 4 * time.Second
)

// TestHostileDocuments sends generated documents, one after the other, to all places that read
// JSON, forms or queries. It measures the CPU time that the server uses for each document. The
// documents contain long numbers and texts, deep nesting, many names, values and records, and
// mixtures of these. Many are almost as large as the place accepts. Each failure message contains
// the seed of the document.
func TestHostileDocuments(t *testing.T) {
	t.Parallel()
	limit, most := hostileTime, documentCPUShort
	if text := os.Getenv("RESTSRV_HOSTILE"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("RESTSRV_HOSTILE: %v", err)
		}
		limit, most = d, documentCPU
	}
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("the CPU time of a process is read from /proc")
	}
	p := startHostile(t)
	client := &http.Client{Timeout: 2 * time.Minute}
	worst := map[string]measured{}
	statuses := map[int]int{}
	begin := time.Now()
	seed := uint64(1)
	if text := os.Getenv("RESTSRV_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("RESTSRV_SEED: %v", err)
		}
		seed, limit = n, 0
	}
	for ; ; seed++ {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 14)), done: func() {}}
		target := hostileTargets[seed%uint64(len(hostileTargets))]
		q := target.request(g, p.URL)
		if limit == 0 {
			t.Logf("seed %d: %s %s, %d bytes: %.200s", seed, q.Method, q.URL.Path, q.ContentLength, beginning(q))
		}
		before := cpuTime(t, p)
		status := sendHostile(t, client, q, seed, target.name)
		took := cpuTime(t, p) - before
		g.done()
		statuses[status]++
		if took > worst[target.name].cpu {
			worst[target.name] = measured{took, seed}
		}
		if took > most {
			t.Errorf("seed %d, %s: the server took %v of CPU for a request of %d bytes, answered %d; want at most %v", seed, target.name, took, q.ContentLength, status, most)
		}
		if status == http.StatusInternalServerError && !target.script {
			t.Errorf("seed %d, %s: answered 500; want an error that the client can correct", seed, target.name)
		}
		if time.Since(begin) >= limit {
			break
		}
		if seed%uint64(len(hostileTargets)) == 0 { // stored objects would make later searches slower
			clearHostile(t, client, p)
		}
	}
	t.Logf("%d documents, answers %v", seed, statuses)
	for name, m := range worst {
		t.Logf("%s: at most %v of CPU, seed %d", name, m.cpu, m.seed)
	}
	if t.Failed() {
		t.Logf("log of the server:\n%.4000s", p.Log())
	}
}

// beginning returns the first 200 bytes of the body, or the query.
func beginning(q *http.Request) string {
	if q.GetBody == nil {
		return q.URL.RawQuery
	}
	body, err := q.GetBody()
	if err != nil {
		return err.Error()
	}
	defer body.Close()
	text, _ := io.ReadAll(io.LimitReader(body, 200))
	return string(text)
}

// measured is the CPU time for the document with a seed.
type measured struct {
	cpu  time.Duration
	seed uint64
}

func sendHostile(t *testing.T, client *http.Client, q *http.Request, seed uint64, name string) int {
	t.Helper()
	answer, err := client.Do(q)
	if err != nil {
		t.Errorf("seed %d, %s: %.300v", seed, name, err)
		return 0
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		t.Errorf("seed %d, %s: got the error %v while reading the response", seed, name, err)
	}
	return answer.StatusCode
}

// clearHostile deletes the objects that earlier requests created. Then it waits 100 ms, so that
// work after the last answer does not count for the next request.
func clearHostile(t *testing.T, client *http.Client, p *apptest.Process) {
	t.Helper()
	answer, err := client.Post(p.URL+"/rest/svc/clear", jsonType, nil)
	if err != nil {
		t.Fatalf("deleting all objects: %v", err)
	}
	defer answer.Body.Close()
	if text, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusOK {
		t.Fatalf("deleting all objects: got %d %.300s, want 200", answer.StatusCode, text)
	}
	time.Sleep(100 * time.Millisecond)
}

// cpuTime returns the CPU time that a process has used so far, in steps of 10 ms.
func cpuTime(t *testing.T, p *apptest.Process) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Cmd.Process.Pid))
	if err != nil {
		t.Fatalf("the server has ended: %v\n%s", err, p.Log())
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// startHostile starts a server on which anonymous has all permissions.
func startHostile(t *testing.T) *apptest.Process {
	t.Helper()
	dir := apptest.WriteApplication(t, map[string]string{
		"deploy.json": `{"namespace": "s", "classes": [
			{"name": "doc", "key": ["id"], "semantic": "text", "properties": [{"name": "id", "type": "guid", "autoassigned": true},
				{"name": "text", "type": "text"}, {"name": "line", "type": "string", "indexed": true, "search": true}, {"name": "n", "type": "int"}, {"name": "r", "type": "real"}, {"name": "d", "type": "decimal"},
				{"name": "at", "type": "datetime"}, {"name": "yes", "type": "boolean"}, {"name": "set", "type": "set"}, {"name": "when", "type": "period"},
				{"name": "geo", "type": "geo"}, {"name": "plan", "type": "schedule"}, {"name": "any", "type": "custom"}, {"name": "page", "type": "html"},
				{"name": "next", "type": "reference", "refClass": "doc"}, {"name": "all", "type": "collection", "itemsClass": "doc"}]}],
			"objects": [{"_class": "doc@s", "id": "1", "line": "one", "n": 1}],
			"globals": {"scripts": {"fetch": {"hosts": ["*"], "private": true}}},
			"modules": {"rest": {"globals": {"di": {
				"crud": {"module": "builtin/crud"}, "workflows": {"module": "builtin/workflows"}, "meta": {"module": "builtin/meta"},
				"acceptor": {"module": "builtin/acceptor", "options": {"dataRepo": "ion://securedDataRepo", "metaRepo": "ion://metaRepo", "plain": "plain.js"}},
				"svc": {"module": "svc.js"}},
			"authMode": {"crud": "none", "workflows": "none", "meta": "none", "acceptor": "none", "svc": "none"}}}}}`,
		"svc.js": `module.exports = {
			'POST /echo': (req) => req.body,
			'POST /text': (req) => { const v = JSON.parse(String(req.body)); return {kind: typeof v, size: JSON.stringify(v).length} },
			'POST /number': (req) => { const s = String(req.body); return [Number(s), parseFloat(s), parseInt(s), s.length < 100000 && String(BigInt(s.trim()))] },
			'POST /shared': (req) => { shared.set('v', req.body); return shared.get('v') },
			'POST /list': (req) => dataRepo.getList('doc@s', {filter: req.body, count: 5}),
			'POST /save': (req) => dataRepo.createItem('doc@s', req.body),
			'POST /clear': async () => { for (const d of await dataRepo.getList('doc@s', {count: 1000})) await dataRepo.deleteItem('doc@s', d.getItemId()) },
			'GET /fetch': async (req) => (await fetch(req.query.from)).json(),
			'GET /query': (req) => req.query};`,
		"plain.js": `exports.parse = (data) => [].concat(data);`,
	})
	grant := exec.Command(apptest.Binary(t), "acl", "grant", "anonymous", "*", "full")
	grant.Dir = dir
	if out, err := grant.CombinedOutput(); err != nil {
		t.Fatalf("restsrv acl grant: %v\n%s", err, out)
	}
	return apptest.Start(t, dir)
}

// hostileTarget is a place that reads documents, such as a service or a header.
type hostileTarget struct {
	name   string
	script bool // errors of the script have status 500
	// request returns a request with a document that g generates.
	request func(g *generator, server string) *http.Request
}

const (
	bodyLimit     = 10 << 20
	acceptorLimit = 32 << 20
	queryLimit    = 48 << 10
)

// sends returns a target that sends a generated document as the body.
func sends(name, method, path, contentType string, limit int, document func(g *generator, size int) string) hostileTarget {
	return hostileTarget{name, runsScript(path), func(g *generator, server string) *http.Request {
		body := document(g, g.size(limit))
		if len(body) > limit {
			body = body[:limit]
		}
		q, _ := http.NewRequest(method, server+path, strings.NewReader(body))
		q.Header.Set("Content-Type", contentType)
		q.SetBasicAuth("admin@local", apptest.AdminPassword)
		return q
	}}
}

// with returns the target with a header in its requests. Each request uses one of the values.
func (h hostileTarget) with(header string, values ...string) hostileTarget {
	request := h.request
	h.request = func(g *generator, server string) *http.Request {
		q := request(g, server)
		q.Header.Set(header, g.pick(values...))
		return q
	}
	return h
}

// ofScript marks a target with requests that run a script.
func (h hostileTarget) ofScript() hostileTarget {
	h.script = true
	return h
}

// fetches returns a target with a script that fetches a document from another server.
func fetches(name, path string, limit int, document func(g *generator, size int) string) hostileTarget {
	return hostileTarget{name, true, func(g *generator, server string) *http.Request {
		body := document(g, g.size(limit))
		other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) }))
		g.done = other.Close
		q, _ := http.NewRequest("GET", server+path+url.QueryEscape(other.URL), nil)
		return q
	}}
}

func runsScript(path string) bool { return strings.HasPrefix(path, "/rest/svc") }

// asks returns a target that sends a generated document as the query.
func asks(name, path string, document func(g *generator, size int) string) hostileTarget {
	return hostileTarget{name, runsScript(path), func(g *generator, server string) *http.Request {
		query := document(g, g.size(queryLimit/2))
		if len(query) > queryLimit {
			query = query[:queryLimit]
		}
		q, _ := http.NewRequest("GET", server+path, nil)
		q.URL.RawQuery = query
		return q
	}}
}

var hostileTargets = []hostileTarget{
	sends("crud create", "POST", "/rest/crud/doc@s", jsonType, bodyLimit, (*generator).record),
	sends("crud update", "PATCH", "/rest/crud/doc@s/1", jsonType, bodyLimit, (*generator).record),
	sends("crud any JSON", "POST", "/rest/crud/doc@s", jsonType, bodyLimit, (*generator).document),
	sends("search", "SEARCH", "/rest/crud/doc@s", jsonType, bodyLimit, func(g *generator, size int) string {
		return `{"filter":` + g.filter(size) + `,"count":5}`
	}),
	sends("search options", "POST", "/rest/crud/doc@s/_search", jsonType, bodyLimit, func(g *generator, size int) string {
		return fmt.Sprintf(`{%q:%s}`, g.pick("sort", "fields", "eager", "search", "count", "offset", "after", "filter", "forceEnrichment"), g.document(size))
	}),
	sends("acceptor records", "POST", "/rest/acceptor", jsonType, acceptorLimit, func(g *generator, size int) string {
		n, valid := 1+g.IntN(4000), g.IntN(2) == 0
		all := make([]string, 0, n)
		for i := range n {
			if valid {
				name := g.pick("text", "line", "any", "set", "geo", "plan", "d")
				all = append(all, fmt.Sprintf(`{"_class":"doc@s","id":"r%d",%q:%s}`, i, name, g.valid(name, size/n-40)))
				continue
			}
			all = append(all, `{"_class":"doc@s",`+g.record(size / n)[1:])
		}
		return "[" + strings.Join(all, ",") + "]"
	}),
	sends("acceptor any JSON", "POST", "/rest/acceptor", jsonType, acceptorLimit, (*generator).document),
	// There are only a few keys, so many requests are refused or get the stored answer.
	sends("acceptor repeated", "POST", "/rest/acceptor", jsonType, acceptorLimit, func(g *generator, size int) string {
		return "[" + `{"_class":"doc@s",` + g.record(size)[1:] + "]"
	}).with("Idempotency-Key", "a", "b", "c", strings.Repeat("d", 100)),
	sends("acceptor converter", "POST", "/rest/acceptor", jsonType, acceptorLimit, (*generator).document).with("Svc-Converter", "plain").ofScript(),
	sends("workflows", "PUT", "/rest/workflows/doc@s/1", jsonType, bodyLimit, (*generator).document),
	sends("token", "POST", "/rest/token", jsonType, bodyLimit, func(g *generator, size int) string {
		return fmt.Sprintf(`{"name":%s,"lifetime":%s}`, g.text(size), g.number(size))
	}),
	sends("script body", "POST", "/rest/svc/echo", jsonType, bodyLimit, (*generator).document),
	sends("script JSON.parse", "POST", "/rest/svc/text", "text/plain", bodyLimit, (*generator).document),
	sends("script numbers", "POST", "/rest/svc/number", "text/plain", bodyLimit, (*generator).number),
	sends("script shared", "POST", "/rest/svc/shared", jsonType, bodyLimit, (*generator).document),
	sends("script filter", "POST", "/rest/svc/list", jsonType, bodyLimit, (*generator).filter),
	sends("script save", "POST", "/rest/svc/save", jsonType, bodyLimit, (*generator).record),
	sends("script form", "POST", "/rest/svc/echo", "application/x-www-form-urlencoded", bodyLimit, (*generator).form),
	sends("crud multipart", "POST", "/rest/crud/doc@s", "multipart/form-data; boundary=b", bodyLimit, (*generator).multipart),
	sends("script multipart", "POST", "/rest/svc/echo", "multipart/form-data; boundary=b", bodyLimit, (*generator).multipart),
	sends("sign-in", "POST", "/auth", "application/x-www-form-urlencoded", bodyLimit, (*generator).form),
	asks("list _filter", "/rest/crud/doc@s", func(g *generator, size int) string { return "_filter=" + url.QueryEscape(g.filter(size)) }),
	asks("list attribute", "/rest/crud/doc@s", func(g *generator, size int) string {
		return g.pick(hostileNames...) + "=" + url.QueryEscape(g.pick(g.number(size), g.text(size), g.document(size)))
	}),
	asks("list options", "/rest/crud/doc@s", func(g *generator, size int) string {
		name := g.pick("_fields", "_sort", "_eager", "_search", "_after", "_count", "_offset")
		if g.IntN(2) == 0 {
			return name + "=" + url.QueryEscape(g.names(size))
		}
		return name + "=" + url.QueryEscape(g.text(size))
	}),
	asks("script query", "/rest/svc/query", (*generator).form),
	fetches("script fetch", "/rest/svc/fetch?from=", bodyLimit, (*generator).document),
	asks("meta query", "/rest/meta/listMeta", (*generator).form),
}

var hostileNames = []string{"id", "text", "line", "n", "r", "d", "at", "yes", "set", "when", "geo", "plan", "any", "page", "next", "all"}

// generator generates hostile documents.
type generator struct {
	*rand.Rand
	done func() // closes the server that the request uses
}

// size picks the approximate length of a document: up to 1000 bytes, up to a
// twentieth of the limit, or, half of the time, near the limit.
func (g *generator) size(limit int) int {
	switch g.IntN(4) {
	case 0:
		return 1 + g.IntN(1000)
	case 1:
		return 1 + g.IntN(limit/20)
	}
	return limit - 100 - g.IntN(limit/4)
}

func (g *generator) pick(of ...string) string { return of[g.IntN(len(of))] }

// fill joins texts with commas, up to a size in bytes and a number of texts.
func (g *generator) fill(size, most int, item func(i int) string) string {
	var b strings.Builder
	for i := 0; i < most; i++ {
		s := item(i)
		if b.Len()+len(s)+1 > size && i > 0 {
			break
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(s)
	}
	return b.String()
}

const unbounded = 1 << 30

// number generates a number of about this size.
func (g *generator) number(size int) string {
	size = max(size, 4)
	digits := func(n int) string { return strings.Repeat(strconv.Itoa(1+g.IntN(9)), max(1, n)) }
	switch g.IntN(9) {
	case 0:
		return "-" + digits(size-1)
	case 1:
		return "0." + digits(size-2)
	case 2:
		return "1e" + digits(min(size, 1+g.IntN(12)))
	case 3:
		return "1e-" + digits(min(size, 1+g.IntN(12)))
	case 4:
		return digits(size/2) + "." + digits(size/2)
	case 5:
		return digits(min(size, 2000)) + g.pick("e999", "e-999", "E+99", "e308")
	case 6:
		return "1" + strings.Repeat("0", max(0, size-1))
	case 7:
		return "0." + strings.Repeat("0", max(0, size-3)) + "1"
	}
	return digits(size)
}

// text generates a JSON string of about this size.
func (g *generator) text(size int) string {
	unit := g.pick("a", `\u0041`, `\\`, `\n`, `\ud83d\ude00`, `\ud800`, "ж", "😀", "%", "((", ".*", "a|", "\u00a0", "1", "\t", "\xff", `\u0000`, "a ", "<b>", "$", "[", "A=")
	return `"` + strings.Repeat(unit, max(1, size/len(unit))) + `"`
}

// names generates a list of attribute names and paths, in the form of _fields or _sort.
func (g *generator) names(size int) string {
	unit := g.pick("n", "-line", "next.next.n", "all", "next", "x", "a.b.c", "next.all.next")
	return g.pick("", "[") + strings.Repeat(unit+g.pick(",", "|", "."), max(1, size/(len(unit)+1)))
}

// nest generates nested arrays or objects.
func (g *generator) nest(size int) string {
	size = max(size, 1)
	depth := min(size/8+1, []int{60, 500, 520, 5_000, 1 << 20}[g.IntN(5)])
	open, end := "[", "]"
	if g.IntN(2) == 0 {
		open, end = `{"a":`, "}"
	}
	if g.IntN(6) == 0 {
		end = ""
	}
	return strings.Repeat(open, depth) + "1" + strings.Repeat(end, depth)
}

// object generates an object with as many names as fit the size.
func (g *generator) object(size int) string {
	kind := g.IntN(6)
	pad := strings.Repeat("k", g.IntN(40))
	value := g.pick("1", "null", `""`, "{}", "[]", "[[]]", `{"a":1}`)
	n := unbounded
	return "{" + g.fill(size, n, func(i int) string {
		switch kind {
		case 0:
			return `"a":` + value
		case 1:
			return fmt.Sprintf(`"%s%d":%s`, pad, i, value)
		case 2:
			return fmt.Sprintf(`"%d":%s`, 4_000_000-i, value)
		case 3:
			return fmt.Sprintf(`"%s.%d":%s`, g.pick(hostileNames...), i%50, value)
		case 4:
			return fmt.Sprintf(`"_%s%d":%s`, pad, i, value)
		}
		return fmt.Sprintf(`"%s":%s`, g.pick(hostileNames...), value)
	}) + "}"
}

// array generates an array with as many elements as fit the size.
func (g *generator) array(size int) string {
	one := g.pick("1", "null", `""`, "{}", "[]", `"1"`, "0.1", "1e300", `{"a":1}`, `{"_id":"1"}`, "[[[]]]", "true", "-0", `"2020-01-01"`, "12345678901234567890")
	if g.IntN(3) == 0 {
		return "[" + g.fill(size, unbounded, func(i int) string { return strconv.Quote(strconv.Itoa(i)) }) + "]"
	}
	return "[" + g.fill(size, unbounded, func(int) string { return one }) + "]"
}

// document generates JSON of any kind. Sometimes it cuts off the end.
func (g *generator) document(size int) string {
	size = max(size, 1)
	switch g.IntN(10) {
	case 0:
		return "[" + g.number(size) + "]"
	case 1:
		return "[" + g.text(size) + "]"
	case 2:
		return g.nest(size)
	case 3, 4:
		return g.object(size)
	case 5, 6:
		return g.array(size)
	case 7:
		return g.filter(size)
	case 8:
		return g.mix(size, 0)
	}
	s := g.mix(size, 0)
	return s[:g.IntN(len(s)+1)] // cut off
}

// mix generates nested arrays and objects with long numbers and texts.
func (g *generator) mix(size, depth int) string {
	if size < 20 || depth > 400 {
		return g.pick("1", "null", `"x"`, "{}")
	}
	parts := 1 + g.IntN(6)
	one := func(i int) string {
		n := size / parts
		switch g.IntN(5) {
		case 0:
			return g.number(min(n, 1+g.IntN(3000)))
		case 1:
			return g.text(n)
		}
		return g.mix(n-10, depth+1)
	}
	if g.IntN(2) == 0 {
		return "[" + g.fill(size, parts, one) + "]"
	}
	return "{" + g.fill(size, parts, func(i int) string {
		return fmt.Sprintf(`"%s":%s`, g.pick(append(hostileNames, "x", "_class", "")...), one(i))
	}) + "}"
}

// valid generates a value of about this size that the attribute accepts.
func (g *generator) valid(name string, size int) string {
	size = max(size, 8)
	word := func(unit string) string { return `"` + strings.Repeat(unit, max(1, size/len(unit))) + `"` }
	switch name {
	case "id":
		return strconv.Quote(strconv.FormatUint(g.Uint64(), 36))
	case "text", "page":
		return word(g.pick("a", `
`, "ж", "<b>x</b>", `A`, "a "))
	case "line":
		size = min(size, 1000)
		return word(g.pick("a", "word "))
	case "any":
		return g.pick(g.array(size), g.object(size), word("x"))
	case "set":
		return "[" + g.fill(size, unbounded, func(i int) string { return strconv.Itoa(i) }) + "]"
	case "geo":
		return `{"type":"LineString","coordinates":[` + g.fill(size, unbounded, func(int) string { return "[1.5,2.5]" }) + "]}"
	case "plan":
		return "[" + g.fill(size, unbounded, func(int) string { return `{"description":"d","occurs":[{"month":2}]}` }) + "]"
	case "all":
		return "[" + g.fill(size, 5000, func(i int) string { return g.pick(`"1"`, `{"line":"x"}`, strconv.Quote(strconv.Itoa(i))) }) + "]"
	case "d":
		return strings.Repeat("9", min(1000, max(1, size)))
	case "next":
		return `{"n":1,"next":{"n":2}}`
	}
	return "null"
}

// record generates an object of the class with hostile values.
func (g *generator) record(size int) string {
	n := 1 + g.IntN(4)
	if g.IntN(2) == 0 {
		return "{" + g.fill(size, n, func(int) string {
			name := g.pick(hostileNames...)
			return fmt.Sprintf(`"%s":%s`, name, g.valid(name, size/n-20))
		}) + "}"
	}
	return "{" + g.fill(size, n, func(int) string {
		share := size/n - 20
		value := ""
		switch g.IntN(7) {
		case 0:
			value = g.number(share)
		case 1:
			value = g.text(share)
		case 2:
			value = strconv.Quote(g.number(share))
		case 3:
			value = g.array(share)
		case 4:
			value = g.object(share)
		case 5:
			value = `{"add":` + g.array(share) + `,"remove":["1"]}`
		default:
			value = g.document(share)
		}
		return fmt.Sprintf(`"%s":%s`, g.pick(append(hostileNames, "unknown", "_id", "__class")...), value)
	}) + "}"
}

// filter generates a filter in one of the two filter languages.
func (g *generator) filter(size int) string {
	size = max(size, 1)
	name := g.pick(hostileNames...)
	one := func(i int) string {
		return g.pick(`{"eq":["$n",1]}`, `{"n":{"$gt":`+strconv.Itoa(i)+`}}`, `{"line":{"$regex":"^a"}}`, `{"next.next.n":1}`, `{"like":["$line","a"]}`, `{"contains":["$all",{"eq":["$n",1]}]}`)
	}
	switch g.IntN(9) {
	case 0:
		return fmt.Sprintf(`{%q:{"$in":%s}}`, name, g.array(size-20))
	case 1:
		return fmt.Sprintf(`{"in":["$%s",%s]}`, name, g.array(size-20))
	case 2:
		return fmt.Sprintf(`{%q:[%s]}`, g.pick("and", "or", "$and", "$or", "nor", "$nor"), g.fill(size-20, unbounded, one))
	case 3:
		depth := min(size/20+1, 1+g.IntN(600))
		op := g.pick(`{"not":[`, `{"and":[`, `{"$and":[`)
		return strings.Repeat(op, depth) + one(1) + strings.Repeat("]}", depth)
	case 4:
		return fmt.Sprintf(`{%q:{"$regex":%s}}`, g.pick("line", "text", "n"), g.text(size-20))
	case 5:
		return fmt.Sprintf(`{%q:%s}`, name, g.pick(g.number(size), g.text(size), strconv.Quote(g.number(size))))
	case 6:
		return fmt.Sprintf(`{"eq":["$%s",{%q:[%s]}]}`, name, g.pick("add", "concat", "mul", "sub", "dateAdd", "round", "format"), g.fill(size-20, unbounded, func(int) string { return g.pick("1", "$n", `"a"`, "1e100") }))
	case 7:
		return g.object(size)
	}
	return fmt.Sprintf(`{"gt":["$%s",%s]}`, name, g.number(size))
}

// form generates a URL-encoded form, or a query.
func (g *generator) form(size int) string {
	kind, long := g.IntN(7), strings.Repeat("x", g.IntN(30))
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		switch kind {
		case 0:
			fmt.Fprintf(&b, "%s%d=1&", long, i)
		case 1:
			b.WriteString("a=1&")
		case 2:
			b.WriteString("a[]=1&")
		case 3:
			fmt.Fprintf(&b, "a[%d]=1&", i)
		case 4:
			b.WriteString("a" + strings.Repeat("[b]", min(1000, size/3)) + "=1&")
		case 5:
			b.WriteString("a=" + strings.Repeat(g.pick("%41", "+", "%", "%zz", "x"), min(100_000, size/2)) + "&")
		case 6:
			b.WriteString(strings.Repeat(g.pick("&", "=", "[", "]"), 10))
		}
	}
	return b.String()
}

// multipart generates a multipart form with the boundary b.
func (g *generator) multipart(size int) string {
	kind := g.IntN(5)
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		name, value, header := g.pick(hostileNames...), "1", ""
		switch kind {
		case 0:
			name = fmt.Sprint("x", i)
		case 1:
			value = g.number(size)
		case 2:
			value = g.document(size)
		case 3:
			value, header = g.document(size/10), "Content-Type: application/json\r\n"
		case 4:
			header = "X-Long: " + strings.Repeat("y", min(size, 9000)) + "\r\n"
		}
		fmt.Fprintf(&b, "--b\r\nContent-Disposition: form-data; name=%q\r\n%s\r\n%s\r\n", name, header, value)
	}
	return b.String() + "--b--\r\n"
}

// TestHostileGenerator checks that a seed always generates the same document, and that at least
// half of the documents are valid JSON.
func TestHostileGenerator(t *testing.T) {
	valid := 0
	for seed := range uint64(200) {
		one := (&generator{Rand: rand.New(rand.NewPCG(seed, 14))}).document(5000)
		if again := (&generator{Rand: rand.New(rand.NewPCG(seed, 14))}).document(5000); one != again {
			t.Fatalf("seed %d: got two different documents, want equal ones", seed)
		}
		if json.Valid([]byte(one)) {
			valid++
		}
	}
	if valid < 100 {
		t.Errorf("%d of 200 documents are JSON, want at least 100", valid)
	}
}
