package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

func TestReadAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		in     string
		status int
		body   string
		fault  string
	}{
		"length":        {in: "HTTP/1.1 200 OK\r\nContent-Type: a\r\ncontent-length: 5\r\n\r\nhello", status: 200, body: "hello"},
		"chunks":        {in: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n", status: 200, body: "abc0123456789"},
		"failure":       {in: "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno", status: 404, body: "no"},
		"no content":    {in: "HTTP/1.1 204 No Content\r\n\r\n", status: 204},
		"no length":     {in: "HTTP/1.1 200 OK\r\n\r\nhello", fault: "neither a length nor chunks"},
		"not HTTP":      {in: "SSH-2.0-OpenSSH\r\n", fault: "status line"},
		"no status":     {in: "HTTP/1.1 abc OK\r\n", fault: "status line"},
		"bad length":    {in: "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", fault: "length"},
		"bad chunk":     {in: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", fault: "chunk size"},
		"cut in body":   {in: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", fault: "EOF"},
		"cut in header": {in: "HTTP/1.1 200 OK\r\nConte", fault: "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			in := bufio.NewReader(strings.NewReader(c.in + "HTTP/1.1 next"))
			if c.fault == "EOF" {
				in = bufio.NewReader(strings.NewReader(c.in))
			}
			var body bytes.Buffer
			status, err := readAnswer(in, &body)
			if c.fault != "" {
				if err == nil || !strings.Contains(err.Error(), c.fault) {
					t.Fatalf("error %v, expected one with %q", err, c.fault)
				}
				return
			}
			if err != nil || status != c.status || body.String() != c.body {
				t.Fatalf("got %d %q %v, expected %d %q", status, body.String(), err, c.status, c.body)
			}
			if rest, _ := in.ReadString(0); rest != "HTTP/1.1 next" {
				t.Fatalf("left %q, expected the next answer untouched", rest)
			}
		})
	}
}

// TestRequests fills the request of each scenario twice and parses it with net/http. Its
// Content-Length must be right, and the numbers must differ.
func TestRequests(t *testing.T) {
	n := &counters{rows: 100_000}
	for _, s := range scenarios(authLine(), 1) {
		for side, original := range map[string]*template{"left": s.left, "right": s.right} {
			if original == nil && s.find != nil {
				continue
			}
			ask, seen := original.copy(), map[string]bool{}
			var values [numbers]int
			for range 3 {
				n.draw(ask, &values)
				ask.fill(&values)
				seen[string(ask.raw)] = true
				in := bufio.NewReader(bytes.NewReader(ask.raw))
				r, err := http.ReadRequest(in)
				if err != nil {
					t.Fatalf("%s, %s: %v", s.name, side, err)
				}
				if r.Method == http.MethodGet {
					continue
				}
				var body any
				if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
					t.Fatalf("%s, %s: body: %v", s.name, side, err)
				}
				if rest := in.Buffered(); rest != 0 {
					t.Errorf("%s, %s: %d bytes behind the body", s.name, side, rest)
				}
			}
			if len(ask.slots) > 0 && len(seen) == 1 {
				t.Errorf("%s, %s: every sending is the same", s.name, side)
			}
		}
	}
}

func TestBulkIsHalfNew(t *testing.T) {
	n := &counters{rows: 2000}
	n.fresh.Store(2000)
	body := bulkBody(bulkNew, oldBlock, newBlock)
	var values [numbers]int
	n.draw(body, &values)
	body.fill(&values)
	var list []struct {
		ID    string `json:"_id"`
		Group string `json:"group"`
	}
	if err := json.Unmarshal(body.raw, &list); err != nil {
		t.Fatal(err)
	}
	ids, fresh := map[string]bool{}, 0
	for _, r := range list {
		ids[r.ID] = true
		if r.ID >= idPrefix+"000000002000" {
			fresh++
		}
		// the group of a row never changes: 100 consecutive rows share one
		if want := groupPrefix + "00" + r.ID[len(idPrefix):len(r.ID)-2]; r.Group != want {
			t.Fatalf("%s has group %s, expected %s", r.ID, r.Group, want)
		}
	}
	if len(ids) != bulkSize || fresh != bulkNew {
		t.Fatalf("%d ids, %d of them new; expected %d and %d", len(ids), fresh, bulkSize, bulkNew)
	}
}

func TestParseStat(t *testing.T) {
	got, err := parseStat([]byte("42 (a ) b) S 1 42 42 0 -1 4194304 9 8 7 6 150 25 3 2 20 0 7 0 336911 3133440 390"))
	if err != nil || got != 1800*time.Millisecond {
		t.Fatalf("got %v %v, expected 1.8s", got, err)
	}
	for _, bad := range []string{"", "42 (a) S 1 2 3", "42 (a) S 1 42 42 0 -1 4194304 9 8 7 6 x 25 3 2 20 0 7"} {
		if got, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q: got %v, expected an error", bad, got)
		}
	}
}

func TestParseMemory(t *testing.T) {
	now, peak, err := parseMemory([]byte("Name:\tfloor\nVmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\n"))
	if err != nil || now != 1<<20 || peak != 2<<20 {
		t.Fatalf("got %d %d %v, expected 1 and 2 MiB", now, peak, err)
	}
	for _, bad := range []string{"", "VmRSS:\t 1 kB\n", "VmRSS:\t x kB\nVmHWM:\t 1 kB\n"} {
		if _, _, err := parseMemory([]byte(bad)); err == nil {
			t.Errorf("%q: expected an error", bad)
		}
	}
}

func TestMiddleAndTail(t *testing.T) {
	if got := median([]float64{9, 1, 5}); got != 5 {
		t.Errorf("median of three is %v, expected 5", got)
	}
	if got := median([]float64{9, 1, 5, 7}); got != 6 {
		t.Errorf("median of four is %v, expected 6", got)
	}
	if got := median[float64](nil); got != 0 {
		t.Errorf("median of nothing is %v, expected 0", got)
	}
	values := make([]int, 200)
	for i := range values {
		values[i] = 200 - i
	}
	for share, want := range map[float64]int{0.99: 198, 0.5: 100, 1: 200, 0.001: 1} {
		if got := percentile(values, share); got != want {
			t.Errorf("percentile %v is %d, expected %d", share, got, want)
		}
	}
	if got := percentile([]int(nil), 0.99); got != 0 {
		t.Errorf("percentile of nothing is %d, expected 0", got)
	}
}

func TestRows(t *testing.T) {
	took := func(cpu time.Duration, n int) sample {
		return sample{answered: n, cpu: cpu, rates: []float64{float64(n)}, latencies: []time.Duration{time.Millisecond}}
	}
	broken := took(time.Second, 10_000)
	broken.failed, broken.fault = 3, "status 503"
	var out bytes.Buffer
	rows := []row{
		{scenario: scenario{name: "read", must: target{ratio: 1.5}}, normal: pair{left: took(time.Second, 50_000), right: took(time.Second, 40_000)}},
		{scenario: scenario{name: "write", must: target{ratio: 1.4}}, normal: pair{left: took(time.Second, 20_000), right: broken},
			full: &pair{left: took(time.Second, 5_000), right: took(time.Second, 4_000)}},
		{scenario: scenario{name: "signed", must: target{extra: 3 * time.Microsecond}}, normal: pair{left: took(time.Second, 50_000), right: took(time.Second, 40_000)}},
		{scenario: scenario{name: "gone", must: target{ratio: 1}}, normal: pair{problem: "restsrv: status 404"}},
		{scenario: scenario{name: "free"}, normal: pair{left: took(time.Second, 50_000), right: took(time.Second, 25_000)}},
	}
	rows[0].normal.left.database, rows[0].normal.right.database = 2*time.Second, time.Second
	printRows(&out, rows, false)
	got := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"| read | 20.0 | 25.0 | 1.25 | 1.5 | yes | 50000 | 40000 | 1.0 ms | 1.0 ms | 0/0 | | | |",
		"| write | 50.0 | 100 | 2.00 | 1.4 | no | 20000 | 10000 | 1.0 ms | 1.0 ms | 0/3 | 200 / 250 | 1.25 | 5000 / 4000 |",
		"| signed | 20.0 | 25.0 | +5.0 µs | +3.0 µs | no |",
		"| gone | - | - | - | 1.0 | - |",
		"| free | 20.0 | 40.0 | 2.00 | | | 50000 |",
		"! write: 3 of 10003 requests to restsrv failed, the first with: status 503",
		"! gone: not measured: restsrv: status 404",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
	width := 0
	for i, line := range strings.Split(out.String(), "\n")[:6] {
		if n := len([]rune(line)); i == 0 {
			width = n
		} else if n != width {
			t.Errorf("line %d is %d wide, the head %d", i, n, width)
		}
	}
	out.Reset()
	printRows(&out, rows, true)
	got = strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{"| floor db µs | restsrv db µs |", "| read | 20.0 | 25.0 | 1.25 | 1.5 | yes | 50000 | 40000 | 1.0 ms | 1.0 ms | 0/0 | 40.0 | 25.0 |"} {
		if !strings.Contains(got, want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
}

func TestEntryRecords(t *testing.T) {
	var list []map[string]any
	if err := json.Unmarshal(entryRecords().raw, &list); err != nil {
		t.Fatal(err)
	}
	known, seen := map[any]bool{}, map[any]int{}
	for _, r := range list {
		known[r["_id"]] = true
		seen[r["_class"]]++
		for _, reference := range []string{"author", "topic"} {
			if id, ok := r[reference]; ok && !known[id] {
				t.Fatalf("%s of %s is %s, which does not come before it", reference, r["_id"], id)
			}
		}
	}
	if seen["author@bench"] != authors || seen["topic@bench"] != topics || seen["entry@bench"] != entries {
		t.Fatalf("got %v, expected %d authors, %d topics, %d entries", seen, authors, topics, entries)
	}
}

func TestGrowthLines(t *testing.T) {
	took := func(cpu, database time.Duration) sample {
		return sample{answered: 1000, cpu: cpu, database: database, latencies: []time.Duration{time.Millisecond}}
	}
	const ms = time.Millisecond
	all := []*growth{
		{name: "first", at: [len(sizes)]sample{took(40*ms, 10*ms), took(40*ms, 10*ms), took(60*ms, 40*ms)}},
		{name: "far", must: 1.1, after: 1, at: [len(sizes)]sample{took(40*ms, 10*ms), took(40*ms, 10*ms), took(60*ms, 60*ms)}},
		{name: "one", must: 2, at: [len(sizes)]sample{took(40*ms, 10*ms), took(40*ms, 10*ms), took(60*ms, 40*ms)}},
		{name: "left out"},
	}
	var out bytes.Buffer
	printTable(&out, growthLines(all, true))
	got := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"| first | 40.0 / 10.0 | 1.00 ms | 40.0 / 10.0 | 1.00 ms | 60.0 / 40.0 | 1.00 ms | 2.00 | | | |",
		"| far | 40.0 / 10.0 | 1.00 ms | 40.0 / 10.0 | 1.00 ms | 60.0 / 60.0 | 1.00 ms | 2.40 | 1.20 | 1.1 | no |",
		"| one | 40.0 / 10.0 | 1.00 ms | 40.0 / 10.0 | 1.00 ms | 60.0 / 40.0 | 1.00 ms | 2.00 | | 2.0 | yes |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(got, "left out") {
		t.Errorf("what was not measured is in the table:\n%s", out.String())
	}
}

// TestDatabases opens the databases of -db: a missing PostgreSQL is left out,
// unless only PostgreSQL was asked for.
func TestDatabases(t *testing.T) {
	t.Setenv("RESTSRV_TEST_POSTGRES", "dbname=nowhere") // no address that restsrv takes
	for db, want := range map[string]string{"sqlite": "SQLite", "both": "SQLite", "postgres": ""} {
		all, missing, err := openDatabases(&settings{db: db})
		var names []string
		for _, d := range all {
			names = append(names, d.name)
		}
		if strings.Join(names, " ") != want || (missing != nil) != (db == "both") || (err != nil) != (db == "postgres") {
			t.Errorf("-db %s: got %v, missing %v, error %v", db, names, missing, err)
		}
	}
}

func TestParentOf(t *testing.T) {
	if got, err := parentOf([]byte("42 (a ) b) S 7 42 42 0")); err != nil || got != 7 {
		t.Fatalf("got %d %v, expected 7", got, err)
	}
	for _, bad := range []string{"", "42 (a) S", "42 (a) S x 1"} {
		if got, err := parentOf([]byte(bad)); err == nil {
			t.Errorf("%q: got %d, expected an error", bad, got)
		}
	}
}

func TestDurableTable(t *testing.T) {
	took := func(cpu time.Duration, n int) sample {
		return sample{answered: n, cpu: cpu, rates: []float64{float64(n)}, latencies: []time.Duration{time.Millisecond}}
	}
	g := &program{name: "restsrv", dir: t.TempDir()}
	trace := "7 fdatasync(4) = 0\n8 fdatasync(5 <unfinished ...>\n7 fsync(4)  = 0\n8 <... fdatasync resumed>) = 0\n7 +++ exited with 0 +++\n"
	log := "level=DEBUG msg=statement sql=\"BEGIN IMMEDIATE\"\nlevel=DEBUG msg=statement sql=COMMIT\n"
	for file, text := range map[string]string{g.traceFile(): trace, g.logFile(): log} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := g.tracedFlushes(); err != nil || n != 3 {
		t.Errorf("%d flushes, %v; expected 3", n, err)
	}
	if n, err := g.loggedCommits(); err != nil || n != 1 {
		t.Errorf("%d commits, %v; expected 1", n, err)
	}
	var out bytes.Buffer
	printDurable(&out, []*durable{
		{name: "few", connections: 16, pair: pair{left: took(time.Second, 10_000), right: took(time.Second, 8_000)}, answered: 70, flushed: 10},
		{name: "many", connections: shareAt, pair: pair{left: took(time.Second, 10_000), right: took(time.Second, 9_500)}, answered: 79, flushed: 10},
	}, "so counted")
	got := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"| few | 100 | 125 | 1.25 | 1.1 | no | 7.0 | | | 10000 | 8000 |",
		"| many | 100 | 105 | 1.05 | 1.1 | yes | 7.9 | 8 | no | 10000 | 9500 |",
		"Flushes are so counted.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
}
