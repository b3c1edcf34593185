package acceptor_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"restsrv/builtin/acceptor"
	"restsrv/engine"
	"restsrv/engine/replay"
	"restsrv/engine/service"
	"restsrv/engine/store"
	"restsrv/engine/store/sqlite"
)

// classes is a MetaRepository with the given classes.
type classes []*engine.Class

func (cs classes) Class(name string) (*engine.Class, error) {
	for _, c := range cs {
		if c.FullName == name {
			return c, nil
		}
	}
	return nil, engine.NoClass(name)
}

func (cs classes) Classes() []*engine.Class { return cs }

// fixture is an acceptor with a real database.
type fixture struct {
	*testing.T
	data    *store.Store
	replays service.Replays
	handler service.Handler
	note    *engine.Class
}

func open(t *testing.T, options service.Options) *fixture {
	t.Helper()
	ctx := context.Background()
	note := &engine.Class{Name: "note", Namespace: "n", Key: []string{"id"}, Properties: []*engine.Property{
		{Name: "id", Type: engine.GUID, Autoassigned: true}, {Name: "title", Type: engine.String, Nullable: true, OrderNumber: 1}}}
	if err := note.Init(); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(t.TempDir(), "test.db"), Synchronous: "normal"})
	if err != nil {
		t.Fatal(err)
	}
	keys := replay.Class()
	f := &fixture{T: t, note: note}
	if f.data, err = store.Open(ctx, db, store.Config{Classes: []*engine.Class{note, keys}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.data.Close(); err != nil {
			t.Error(err)
		}
	})
	f.replays = replay.New(replay.Config{Data: f.data, Class: keys})
	all := service.Options{"dataRepo": f.data, "metaRepo": classes{note}}
	for name, o := range options {
		all[name] = o
	}
	svc, err := acceptor.New(&service.Env{Replays: f.replays, Log: slog.New(slog.DiscardHandler)}, all)
	if err != nil {
		t.Fatal(err)
	}
	f.handler = svc.Routes()[0].Handler
	return f
}

// post sends a body with the given headers: names and values alternate.
func (f *fixture) post(body string, header ...string) (*service.Response, error) {
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return f.handler(context.Background(), &service.Request{Service: "acceptor", Method: "POST", Path: "/", Header: h,
		Account: &engine.Account{ID: "a@local"}, Body: strings.NewReader(body)})
}

func (f *fixture) count() int64 {
	f.Helper()
	n, err := f.data.Count(context.Background(), &engine.Query{Class: f.note, Count: -1})
	if err != nil {
		f.Fatal(err)
	}
	return n
}

// lines is a converter for bodies that have one title in each line.
type lines struct{ silent bool }

func (lines) Parse(_ context.Context, r *service.Request, body any) (any, error) {
	text, ok := body.(string)
	if !ok {
		return body, nil
	}
	if r.Header.Get("X-Refuse") != "" {
		return nil, engine.Errorf(engine.Invalid, "converter", "refused")
	}
	var all []any
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		all = append(all, engine.Fields{{Name: "_class", Value: "note@n"}, {Name: "title", Value: line}})
	}
	return all, nil
}

func (l lines) Respond(_ context.Context, _ *service.Request, items []*engine.Item) (*service.Response, error) {
	if l.silent {
		return nil, nil
	}
	var b strings.Builder
	for _, it := range items {
		b.WriteString(it.Get("title").(string) + ";")
	}
	return &service.Response{Status: 201, ContentType: "text/plain", Body: []byte(b.String())}, nil
}

// TestConverter checks that a converter makes the records and the answer, with both names of the
// header and with any type of body.
func TestConverter(t *testing.T) {
	f := open(t, service.Options{"lines": lines{}, "silent": lines{silent: true}})
	for _, header := range []string{"svc-converter", "ion-converter"} {
		resp, err := f.post("tea\ncoffee\n", header, "lines", "Content-Type", "text/plain; charset=utf-8")
		if err != nil || string(resp.Body) != "tea;coffee;" || resp.Status != 201 || resp.ContentType != "text/plain" {
			t.Errorf("%s: got %+v, %v, want the answer of the converter", header, resp, err)
		}
	}
	resp, err := f.post("water", "svc-converter", "silent", "Content-Type", "text/plain")
	if err != nil || !strings.Contains(string(resp.Body), `"title":"water"`) {
		t.Errorf("a converter without an answer: got %s, %v, want the answer of the acceptor", resp.Body, err)
	}
	if resp, err = f.post(`[{"_class":"note@n","title":"json"}]`, "svc-converter", "lines"); err != nil || string(resp.Body) != "json;" {
		t.Errorf("a JSON body: got %+v, %v, want the answer of the converter", resp, err)
	}
	if n := f.count(); n != 6 {
		t.Errorf("got %d saved notes, want 6", n)
	}
	for name, header := range map[string][]string{
		"unknown":          {"svc-converter", "nothing"},
		"no converter":     {"svc-converter", "dataRepo"},
		"refuses":          {"svc-converter", "lines", "X-Refuse", "1", "Content-Type", "text/plain"},
		"makes no records": {"svc-converter", "lines", "Content-Type", "application/octet-stream"},
		"none for text":    {"Content-Type", "text/plain"},
	} {
		if _, err := f.post("x", header...); err == nil || engine.CodeOf(err) != engine.Invalid {
			t.Errorf("%s: got %v, want Invalid", name, err)
		}
	}
	if n := f.count(); n != 6 {
		t.Errorf("got %d saved notes, want 6", n)
	}
}

// TestIdempotencyKey checks that a request takes effect only once for the same key, account,
// service and converter.
func TestIdempotencyKey(t *testing.T) {
	f := open(t, service.Options{"silent": lines{silent: true}})
	const body = `[{"_class":"note@n","title":"tea","colour":"black"}]`
	first, err := f.post(body, "Idempotency-Key", "k")
	if err != nil || first.Header.Get("Idempotency-Replayed") != "" || first.Header.Get("Warning") == "" {
		t.Fatalf("the first request: got %+v, %v", first, err)
	}
	again, err := f.post(body, "Idempotency-Key", "k")
	if err != nil || string(again.Body) != string(first.Body) || again.Header.Get("Idempotency-Replayed") != "true" ||
		again.Header.Get("Warning") != first.Header.Get("Warning") || again.ContentType != first.ContentType {
		t.Errorf("the repetition: got %+v, %v, want the first answer", again, err)
	}
	if _, err := f.post(body+" ", "Idempotency-Key", "k"); engine.CodeOf(err) != engine.Unprocessable {
		t.Errorf("another body: got %v, want Unprocessable", err)
	}
	if _, err := f.post(body, "Idempotency-Key", "k", "svc-converter", "silent"); engine.CodeOf(err) != engine.Unprocessable {
		t.Errorf("another converter: got %v, want Unprocessable", err)
	}
	if _, err := f.post(body, "Idempotency-Key", ""); engine.CodeOf(err) != engine.Invalid || err == nil {
		t.Errorf("an empty key: got %v, want Invalid", err)
	}
	if n := f.count(); n != 1 {
		t.Errorf("got %d saved notes, want 1", n)
	}
	if _, err := f.post(`[{"title":"no class"}]`, "Idempotency-Key", "mended"); engine.CodeOf(err) != engine.Invalid || err == nil {
		t.Errorf("an invalid request: got %v, want Invalid", err)
	}
	if resp, err := f.post(body, "Idempotency-Key", "mended"); err != nil || resp.Header.Get("Idempotency-Replayed") != "" {
		t.Errorf("the corrected request: got %+v, %v, want a new answer", resp, err)
	}
}

// TestCutOff checks a process that ended after it had saved records and before it answered: a
// repetition answers with these records and does not save them again.
func TestCutOff(t *testing.T) {
	f := open(t, nil)
	const body = `[{"_class":"note@n","title":"tea"}]`
	attempt, err := f.replays.Begin(context.Background(), "a@local\nacceptor", "k", []byte("\n"+body))
	if err != nil {
		t.Fatal(err)
	}
	v := engine.NewValues(f.note)
	v[1] = "tea"
	items, err := f.data.Save(context.Background(), []engine.Record{{Class: f.note, Values: v}, attempt.Record()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.post(body, "Idempotency-Key", "k"); engine.CodeOf(err) != engine.Conflict {
		t.Errorf("while the claim is valid: got %v, want Conflict", err)
	}
	_ = attempt.Failed(context.Background(), nil) // as if the claim had expired
	resp, err := f.post(body, "Idempotency-Key", "k")
	if err != nil {
		t.Fatal(err)
	}
	var got []struct {
		ID string `json:"_id"`
	}
	if json.Unmarshal(resp.Body, &got) != nil || len(got) != 1 || got[0].ID != items[0].ID {
		t.Errorf("got %s, want the saved item", resp.Body)
	}
	if n := f.count(); n != 1 {
		t.Errorf("got %d saved notes, want 1", n)
	}
}
