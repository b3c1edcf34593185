package applications

import (
	"cmp"
	"encoding/base64"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/engine/store/postgres/pgtest"
)

var updateTranscripts = flag.Bool("update", false, "write testdata/transcripts.txt")

// TestTranscripts sends restsrv all requests that were once sent to IONDV, with the same
// application and in the same order. For each exchange it reports whether the answer is equal to
// the recorded answer, or which decisions explain the difference (see
// testdata/transcripts/decisions.txt). The report must be equal to testdata/transcripts.txt on
// both databases. -update writes that file.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	apptest.FindDevelopAndTest(t)
	golden := filepath.Join("../testdata", "transcripts.txt")
	for _, database := range []struct {
		kind string
		open func() string
	}{
		{"sqlite", func() string { return "sqlite:" + filepath.Join(t.TempDir(), "test.db") }},
		{"postgres", func() string { return pgtest.Database(t) }},
	} {
		t.Run(database.kind, func(t *testing.T) {
			got := replayAll(t, database.open)
			if *updateTranscripts && database.kind == "sqlite" {
				apptest.WriteFile(t, golden, got)
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the report differs from %s (-update writes it anew):\n%s", golden, apptest.FirstDifference(got, string(want)))
			}
		})
	}
}

// replayed is a server to which the recorded requests are sent.
type replayed struct {
	*testing.T
	*apptest.Client
	known   counterparts
	session string // header Cookie of the last account that signed in
}

// replayAll sends all requests and returns the report.
func replayAll(t *testing.T, database func() string) string {
	shared := filepath.Join(apptest.Root, "..", "shared")
	record, err := readRecord(filepath.Join(shared, "reference", "iondv-transcripts.md"))
	if err != nil {
		t.Fatal(err)
	}
	out := report{rules: readDecisions(t)}
	var r *replayed
	for i, e := range record {
		secured := strings.HasPrefix(e.section, "CRUD over the secured repository")
		if i == 0 || secured && record[i-1].section != e.section { // it was recorded with a separate database
			r = newReplay(t, database())
		}
		if secured && record[i-1].section != e.section {
			r.secured()
		}
		got := r.ask(e)
		out.add(e, got, r.known.differences(e, got))
	}
	if out.wrongs > 0 {
		t.Errorf("got %d wrong responses, want none", out.wrongs)
	}
	for _, rule := range out.idle() {
		t.Errorf("got a rule that explains no difference: %s", rule)
	}
	return out.String()
}

func newReplay(t *testing.T, db string) *replayed {
	dir := apptest.DevelopAndTest.Original(t)
	apptest.CopyFiles(t, filepath.Join("../testdata", "transcripts"), dir)
	return &replayed{T: t, known: counterparts{}, Client: apptest.NewClient(t, dir, db)}
}

// secured creates the state of the database for the last section of the record: operator@local has
// one more role, and the objects have moved in their workflows.
func (r *replayed) secured() {
	demo := func(q *http.Request) { q.SetBasicAuth("demo@local", apptest.ApplicationPassword) }
	if a := r.Call("PATCH", "/rest/crud-sec/workflowBase@develop-and-test/1", `{"person":"demo@local","result":"Done"}`, demo); a.Status != http.StatusOK {
		r.Fatal(a, a.Body)
	}
	r.MustRun("acl", "role", "add", "reader")
	r.MustRun("acl", "grant", "reader", "c:::reportCity@develop-and-test", "read")
	r.MustRun("user", "role", "add", "operator@local", "reader")
	r.Eventually("the role", func() bool {
		return r.Call("GET", "/rest/crud-sec/reportCity@develop-and-test/1", "", func(q *http.Request) { q.SetBasicAuth("operator@local", apptest.ApplicationPassword) }).Status == 200
	})
}

// ask sends a request of the record.
func (r *replayed) ask(e *recorded) replied {
	r.Helper()
	path, body := r.here(e, e.path), r.here(e, e.body)
	q, err := http.NewRequestWithContext(r.Context(), e.method, r.URL+path, strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	for _, h := range e.header {
		q.Header.Set(h[0], cmp.Or(r.known[h[1]], r.here(e, h[1])))
	}
	if q.Header.Get("Cookie") != "" {
		q.Header.Set("Cookie", r.session)
	}
	q.Header.Set("Accept-Encoding", "identity")
	resp, err := r.HTTP.Do(q)
	if err != nil {
		r.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		r.Fatal(err)
	}
	if c := resp.Cookies(); len(c) > 0 && e.path == "/auth" {
		r.session = c[0].Name + "=" + c[0].Value
	}
	got := replied{resp.StatusCode, resp.Header, string(text)}
	if tag := e.answered["etag"]; tag != "" {
		r.known[tag] = got.header.Get("ETag")
	}
	return got
}

var stood = regexp.MustCompile(`<[^<>\s]+>`)

// here replaces the abbreviations in the record: <user:password> in base64, and tokens of earlier
// answers. If the exchange that issued a token was not recorded, here requests a token now. It
// requests codes for the client, and other tokens for demo@local.
func (r *replayed) here(e *recorded, s string) string {
	return stood.ReplaceAllStringFunc(s, func(name string) string {
		switch inner := strings.Trim(name, "<>"); {
		case r.known[name] != "":
			return r.known[name]
		case strings.Contains(inner, ":"):
			return base64.StdEncoding.EncodeToString([]byte(inner))
		case inner == "session":
			return name
		case strings.HasSuffix(s, "code="+name):
			to := r.Call("POST", "/oauth2/grant?client_id=ext@system&response_type=code&state=123", "", func(q *http.Request) { q.Header.Set("Cookie", r.session) }).To
			u, err := url.Parse(to)
			if err != nil || u.Query().Get("code") == "" {
				r.Fatalf("line %d: no code for %s in %q", e.line, name, to)
			}
			r.known[name] = u.Query().Get("code")
		default:
			r.known[name] = demoToken(r.Client.Process, r.T)
		}
		return r.known[name]
	})
}
