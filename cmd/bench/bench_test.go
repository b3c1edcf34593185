package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

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
			for range 3 {
				n.fill(ask)
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
	n.fill(body)
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
		// The group of a row never changes: 100 consecutive rows have the same group.
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

func TestPercentile(t *testing.T) {
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

// TestDatabases opens the databases that -db names. If PostgreSQL is missing, it is left out,
// except if -db names only PostgreSQL.
func TestDatabases(t *testing.T) {
	t.Setenv("RESTSRV_TEST_POSTGRES", "dbname=nowhere") // not an address that restsrv accepts
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
