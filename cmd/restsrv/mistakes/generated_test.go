package mistakes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/cmd/restsrv/command"
	"restsrv/engine"
	"restsrv/engine/server"
	"restsrv/engine/server/appdata"
	"restsrv/engine/store/postgres/pgtest"
	"restsrv/engine/transfer"
)

// TestGeneratedApplications creates random applications and plants one to ten mistakes in each.
// It checks that
//
//   - an application with mistakes starts without -strict and does not start with -strict, and
//     an application without mistakes starts in both cases,
//   - check -json reports each planted mistake, in its file,
//   - no request gets status 500 or invalid JSON,
//   - no account has more permissions than without the mistakes,
//   - a database that was filled before the mistakes were planted still has all its values.
//
// It tries RESTSRV_APPLICATIONS applications (25; 1,000 if RESTSRV_LONG=1) of the seed
// RESTSRV_SEED (1), every tenth also on PostgreSQL, and begins with the application of number
// RESTSRV_APPLICATION (0).
func TestGeneratedApplications(t *testing.T) {
	t.Parallel()
	total := 25
	if os.Getenv("RESTSRV_LONG") != "" {
		total = 1000
	}
	total = environmentNumber("RESTSRV_APPLICATIONS", total)
	if apptest.RaceDetector {
		total = min(total, 3)
	}
	w := &generatedRun{T: t, planted: map[string]int{}}
	for i := environmentNumber("RESTSRV_APPLICATION", 0); i < total; i++ {
		w.number = i
		w.try("")
		if i%10 == 0 && !apptest.RaceDetector {
			w.try(pgtest.Database(t))
		}
	}
	t.Logf("%d applications, %d mistakes of %d rules, %d requests", total, w.mistakes, len(w.planted), w.requests)
}

// generatedRun checks generated applications, one after the other.
type generatedRun struct {
	*testing.T
	number             int
	what               string // planted mistakes
	planted            map[string]int
	mistakes, requests int
}

func (w *generatedRun) errorf(format string, args ...any) {
	w.Helper()
	w.Errorf("application %d, %s: %s", w.number, w.what, fmt.Sprintf(format, args...))
}

// try creates an application and checks it on a database. If db is "", it uses SQLite.
func (w *generatedRun) try(db string) {
	w.Helper()
	w.what = "without mistakes"
	r := mathrand.New(mathrand.NewPCG(uint64(environmentNumber("RESTSRV_SEED", 1)), uint64(w.number)))
	g := newGeneratedApp(r)
	dir, broken, folder := w.T.TempDir(), w.T.TempDir(), w.T.TempDir()
	g.write(w.T, dir)
	server := db != ""
	if !server {
		db = "sqlite:" + filepath.Join(folder, "kept.db")
	}
	denied := w.fill(dir, db)
	want := w.export(dir, db)

	expected := map[string]string{}
	w.what = "with"
	for _, i := range r.Perm(len(plantedMistakes))[:1+r.IntN(10)] {
		m := plantedMistakes[i]
		if file := m.plant(g); file != "" {
			expected[m.code+" "+file] = m.code
			w.what += " " + m.code
			w.planted[m.code]++
			w.mistakes++
		}
	}
	g.write(w.T, broken)
	w.check(broken, expected)
	if !server { // the requests are sent to a server on a copy of the database
		copied := filepath.Join(folder, "copy.db")
		text, err := os.ReadFile(filepath.Join(folder, "kept.db"))
		if err != nil {
			w.Fatal(err)
		}
		if err := os.WriteFile(copied, text, 0o600); err != nil {
			w.Fatal(err)
		}
		w.serve(broken, "sqlite:"+copied, g, denied, true)
	}
	if server {
		w.serve(broken, db, g, denied, false)
	} else if b := w.open(broken, db, false, slog.New(slog.DiscardHandler)); b != nil {
		w.close(b)
	}
	if got := w.export(dir, db); !slices.Equal(got, want) {
		w.errorf("the database has other values: got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// open opens a sandbox for an application, on a database.
func (w *generatedRun) open(dir, db string, strict bool, log *slog.Logger) *server.Sandbox {
	w.Helper()
	a, err := server.LoadApplication(filepath.Join(dir, "deploy.json"), strict)
	if err != nil {
		w.errorf("it does not load: %v", err)
		return nil
	}
	b, err := server.OpenSandbox(w.Context(), a, server.SandboxConfig{Database: db, Log: log})
	if err != nil {
		w.errorf("the database refuses it: %v", err)
		return nil
	}
	return b
}

func (w *generatedRun) load(b *server.Sandbox) bool {
	w.Helper()
	if err := b.Load(w.Context()); err != nil {
		w.errorf("it does not start: %v", err)
		return false
	}
	return true
}

// fill fills a database from an application without mistakes. It returns some requests of the
// account guest that are denied.
func (w *generatedRun) fill(dir, db string) (denied []string) {
	w.Helper()
	b := w.open(dir, db, true, slog.New(slog.DiscardHandler))
	if b == nil {
		w.FailNow()
	}
	defer w.close(b)
	done, err := b.Fill(w.Context(), true)
	if err != nil || len(done.Report.Refused)+len(done.Access.Faults)+len(done.Left) > 0 {
		w.errorf("the database cannot be filled: %v %+v %v %v", err, done.Report.Refused, done.Access.Faults, done.Left)
	}
	if !w.load(b) {
		w.FailNow()
	}
	allowed := 0
	for _, c := range b.App().Meta.Classes() {
		for _, request := range guestRequests(c.FullName) {
			if succeeded(request, w.send(b, "guest@oauth", request)) {
				allowed++
			} else {
				denied = append(denied, request)
			}
		}
	}
	if allowed == 0 || len(denied) == 0 {
		w.errorf("the account guest has %d requests allowed and %d denied, want some of both", allowed, len(denied))
	}
	mathrand.New(mathrand.NewPCG(1, uint64(w.number))).Shuffle(len(denied), func(i, j int) { denied[i], denied[j] = denied[j], denied[i] })
	return denied[:min(len(denied), 30)]
}

func (w *generatedRun) close(b *server.Sandbox) {
	w.Helper()
	if err := b.Close(); err != nil {
		w.errorf("close: %v", err)
	}
}

// guestRequests returns requests of the account guest for the objects of a class.
func guestRequests(class string) (all []string) {
	name, _, _ := strings.Cut(class, "@")
	path := "/rest/crud/" + class
	for n := range 3 {
		one := fmt.Sprintf("%s/%s-%d", path, name, n)
		all = append(all, "GET "+one, "PATCH "+one+` {"name":"guest was here"}`, "DELETE "+one,
			fmt.Sprintf(`PUT /rest/workflows/%s/%s-%d ["life@g.age"]`, class, name, n))
	}
	return append(all, "POST "+path+` {"id":"guest"}`)
}

// send sends a request, written as METHOD PATH BODY, and checks that the answer has the right form.
func (w *generatedRun) send(b *server.Sandbox, account, request string) *httptest.ResponseRecorder {
	w.Helper()
	method, rest, _ := strings.Cut(request, " ")
	path, body, _ := strings.Cut(rest, " ")
	answer, fault := askSandbox(w, b, account, method, path, body)
	w.requests++
	if fault != "" {
		w.errorf("%s: %s", request, fault)
	}
	return answer
}

// succeeded reports whether a request was successful. If a transition fails, the body contains an
// error.
func succeeded(request string, answer *httptest.ResponseRecorder) bool {
	if strings.HasPrefix(request, "PUT /rest/workflows/") {
		return answer.Code < 300 && strings.TrimSpace(answer.Body.String()) == "[]"
	}
	return answer.Code < 300
}

// serve starts an application with mistakes and sends requests to it.
func (w *generatedRun) serve(dir, db string, g *generatedApp, denied []string, writing bool) {
	w.Helper()
	var log apptest.Buffer
	b := w.open(dir, db, false, slog.New(slog.NewTextHandler(&log, nil)))
	if b == nil {
		return
	}
	defer w.close(b)
	if !w.load(b) {
		return
	}
	for _, request := range denied {
		if succeeded(request, w.send(b, "guest@oauth", request)) {
			w.errorf("the account guest may do more: %s", request)
		}
	}
	send := func(method, path, body string) *httptest.ResponseRecorder {
		if !writing && method != http.MethodGet {
			return &httptest.ResponseRecorder{}
		}
		return w.send(b, "chief@oauth", method+" "+path+" "+body)
	}
	requester := &mutatedApplication{app: &apptest.Application{WorkflowState: "life@g/young"}}
	classes := b.App().Meta.Classes()
	for _, i := range g.Perm(len(classes))[:min(3, len(classes))] {
		requester.requestClass(classes[i].FullName, send)
		send("GET", "/rest/crud/"+url.PathEscape(g.classes[0].full()), "")
		send("GET", "/rest/meta/getNodes/main", "")
	}
	for _, line := range strings.Split(log.String(), "\n") {
		if strings.Contains(line, "level=ERROR") || strings.Contains(line, "panic") {
			w.errorf("the log has %s", line)
		}
	}
}

// check runs restsrv check. It expects findings with these codes, each in its file. If a finding
// is a mistake, check -strict must refuse the application.
func (w *generatedRun) check(dir string, expected map[string]string) {
	w.Helper()
	checked := func(flags ...string) string {
		var out, failed bytes.Buffer
		args := append([]string{"check", "-config", filepath.Join(dir, "deploy.json")}, flags...)
		err := command.Run(w.Context(), args, command.Stdio{In: strings.NewReader(""), Out: &out, Err: &failed, Env: func(string) string { return "" }})
		if !errors.Is(err, command.ErrDiffers) {
			w.errorf("check: %v %s", err, failed.String())
		}
		return out.String()
	}
	out, mistakes := checked("-json"), false
	found, places := map[string]bool{}, map[string]bool{}
	for _, line := range apptest.TextLines(out) {
		var f struct {
			engine.Fault
			Level string
		}
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			w.errorf("check printed %s: %v", line, err)
		}
		found[f.Code+" "+f.File] = true
		if place := f.Code + " " + f.File + " " + f.Path; f.Path != "" && places[place] {
			w.errorf("check reports %s twice:\n%s", place, out)
		} else {
			places[place] = true
		}
		mistakes = mistakes || f.Level == "mistake"
		if f.Level == "fatal" || f.Level == "mistake" && (f.File == "" || f.Line == 0 || f.Code == "" || f.Resolution == "") {
			w.errorf("check reports %s", line)
		}
	}
	for what := range expected {
		if !found[what] {
			w.errorf("check does not report %s:\n%s", what, out)
		}
	}
	if w.number%2 > 0 {
		return // it takes as much time as the first check
	}
	if strict := checked("-strict"); strings.HasSuffix(strict, "does not run\n") != mistakes {
		w.errorf("there are mistakes: %t, but check -strict prints\n%s", mistakes, strict)
	}
}

// editors matches the editor of an object in an export. The requests of the test change it.
var editors = regexp.MustCompile(`,"_editor":"[^"]*"`)

// export returns the lines with objects from an export of an application.
func (w *generatedRun) export(dir, db string) (objects []string) {
	w.Helper()
	a, err := server.LoadApplication(filepath.Join(dir, "deploy.json"), false)
	if err != nil {
		w.Fatal(err)
	}
	d, err := appdata.Open(w.Context(), a.Config, db, appdata.Options{Classes: a.Meta.Classes(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		w.errorf("the application without mistakes does not start again: %v", err)
		return nil
	}
	defer d.Close()
	var out bytes.Buffer
	if _, err := transfer.Export(context.Background(), transfer.ExportConfig{Data: d.Store, Classes: a.Meta.Classes()}, &out); err != nil {
		w.errorf("export: %v", err)
	}
	return sortedLines(editors.ReplaceAllString(out.String(), ""))
}
