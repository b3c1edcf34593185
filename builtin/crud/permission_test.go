package crud

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/service"
)

// gate is a repository of albums in which "title" is hidden and the account has only the
// permissions in may. It records the calls.
type gate struct {
	engine.Repository
	class *engine.Class
	views *engine.Views
	may   engine.Permission
	other string // id of an item that the account may not write
	asked []string
}

func (g *gate) Class(name string) (*engine.Class, error) {
	if name != "album" {
		return nil, engine.NoClass(name)
	}
	return g.class, nil
}
func (g *gate) Classes() []*engine.Class { return []*engine.Class{g.class} }

func (g *gate) View(_ context.Context, c *engine.Class) (*engine.Class, error) {
	return g.views.Of(c), nil
}

func (g *gate) Allow(_ context.Context, _ *engine.Class, p engine.Permission) error {
	if g.may&p == 0 {
		return engine.Denied()
	}
	return nil
}

func (g *gate) done(what string, c *engine.Class) (*engine.Item, error) {
	g.asked = append(g.asked, what)
	return &engine.Item{Class: g.views.Of(c), ID: "a", Values: make(engine.Values, len(c.Properties))}, nil
}

func (g *gate) Get(_ context.Context, c *engine.Class, _ string, _ ...*engine.Load) (*engine.Item, error) {
	return g.done("get", c)
}
func (g *gate) Create(_ context.Context, c *engine.Class, _ engine.Values, _ engine.WriteOptions) (*engine.Item, error) {
	return g.done("create", c)
}
func (g *gate) Update(_ context.Context, c *engine.Class, id string, v engine.Values, _ engine.WriteOptions) (*engine.Item, error) {
	if g.other != "" && id == g.other {
		return nil, engine.Denied()
	}
	if !slices.ContainsFunc(v, func(value any) bool { return value != engine.Absent }) {
		return g.done("nothing", c)
	}
	return g.done("update", c)
}
func (g *gate) Delete(_ context.Context, c *engine.Class, _ string, _ *engine.Match) error {
	_, err := g.done("delete", c)
	return err
}
func (g *gate) List(context.Context, *engine.Query, func(*engine.Item) error) error {
	_, err := g.done("list", g.class)
	return err
}

// send sends a request to a new crud service whose repository is the gate.
func (g *gate) send(t *testing.T, method, path, contentType, body string, files engine.FileStorage) string {
	t.Helper()
	svc, err := New(&service.Env{Meta: g, Data: g, Files: files, Log: slog.New(slog.DiscardHandler)}, service.Options{})
	if err != nil {
		t.Fatal(err)
	}
	path, query, _ := strings.Cut(path, "?")
	parts := strings.Split(path, "/")[1:]
	r := &service.Request{Service: "crud", Method: method, Path: path, RawQuery: query, Header: http.Header{"Content-Type": {contentType}},
		Params: []service.Param{{Name: "class", Value: parts[0]}, {Name: "id", Value: parts[len(parts)-1]}}, Account: engine.Anonymous, Body: strings.NewReader(body)}
	for _, route := range svc.Routes() {
		if route.Method != method || strings.Count(route.Path, "/") != len(parts) || strings.HasSuffix(route.Path, "_search") {
			continue
		}
		resp, err := route.Handler(context.Background(), r)
		if err != nil {
			e := err.(*engine.Error)
			return fmt.Sprintf("%d %s %s", e.Code, e.Reason, e.Message)
		}
		if resp == nil {
			return "ok"
		}
		return fmt.Sprintf("ok %s %q", resp.Body, resp.Header)
	}
	t.Fatalf("no route for %s %s", method, path)
	return ""
}

func newGate(t *testing.T, may engine.Permission) *gate {
	return &gate{class: album(t), may: may, views: engine.NewViews(func(p *engine.Property) bool { return p.Name == "title" })}
}

// TestPermissionBeforeInput checks an account that has the permission on no object of the class:
// it is refused before any error about the input, and no files are stored. The account is allowed
// to know that the class exists.
func TestPermissionBeforeInput(t *testing.T) {
	const denied = "the account may not do this"
	for _, test := range []struct {
		method, path string
		takes        engine.Permission
		does         string
	}{
		{"POST", "/album", engine.MayUse, "create"},
		{"PATCH", "/album/a", engine.MayWrite, "update"},
		{"PUT", "/album/a", engine.MayWrite, "update"},
		{"DELETE", "/album/a", engine.MayDelete, "delete"},
	} {
		for _, may := range []engine.Permission{0, engine.MayRead, engine.MayAll &^ test.takes, test.takes, engine.MayAll} {
			for name, in := range map[string][2]string{
				"good":   {"application/json", `{"id":"a"}`},
				"no":     {"application/json", `{"id":`},
				"type":   {"text/plain", `x`},
				"file":   {"multipart/form-data; boundary=XX", part(`name="cover"; filename="a.png"`, "xyz") + "--XX--\r\n"},
				"inline": {"application/json", `{"cover":"aGk="}`},
			} {
				g, files := newGate(t, may), &sink{}
				got := g.send(t, test.method, test.path, in[0], in[1], files)
				if may&test.takes == 0 {
					if !strings.HasSuffix(got, denied) || len(g.asked) > 0 || len(files.stored) > 0 {
						t.Errorf("%s %s with %s, %s: got %s, calls %v, %d files, want a refusal", test.method, test.path, may, name, got, g.asked, len(files.stored))
					}
					continue
				}
				if name == "good" && (!strings.HasPrefix(got, "ok") || fmt.Sprint(g.asked) != "["+test.does+"]") {
					t.Errorf("%s %s with %s: got %s, calls %v, want the call %s", test.method, test.path, may, got, g.asked, test.does)
				}
				if name == "file" && test.takes != engine.MayDelete && len(files.stored) != 1 {
					t.Errorf("%s %s with %s: got %d stored files, want 1", test.method, test.path, may, len(files.stored))
				}
			}
		}
		nowhere := strings.Replace(test.path, "album", "nothing", 1)
		if got := newGate(t, 0).send(t, test.method, nowhere, "application/json", `{`, nil); !strings.Contains(got, "unknown-class") {
			t.Errorf("%s %s: got %s, want unknown-class", test.method, nowhere, got)
		}
	}
}

// TestRowBeforeFiles checks an account that may change some objects of the class but not this
// one: the form is not read, so its files are not stored.
func TestRowBeforeFiles(t *testing.T) {
	form := part(`name="cover"; filename="a.png"`, "xyz") + "--XX--\r\n"
	for contentType, body := range map[string]string{"multipart/form-data; boundary=XX": form, "application/json": `{"cover":"aGk="}`} {
		for id, want := range map[string]string{"mine": "ok 1 [nothing update]", "theirs": "denied 0 []"} {
			g, files := newGate(t, engine.MayWrite), &sink{}
			g.other = "theirs"
			got := "ok"
			if answer := g.send(t, "PATCH", "/album/"+id, contentType, body, files); !strings.HasPrefix(answer, "ok") {
				got = strings.Fields(answer)[1]
			}
			if got = fmt.Sprint(got, " ", len(files.stored), " ", g.asked); got != want {
				t.Errorf("%s of %s: %s, want %s", contentType, id, got, want)
			}
		}
	}
}

// TestHiddenInRequests checks that a hidden attribute behaves like an unknown name in every part
// of a request: the answers and warnings are equal except for the name.
func TestHiddenInRequests(t *testing.T) {
	ask := func(views *engine.Views, name string, ask [4]string) string {
		g := newGate(t, engine.MayAll)
		g.views = views
		for i := range ask {
			ask[i] = strings.ReplaceAll(ask[i], "NAME", name)
		}
		return strings.ReplaceAll(g.send(t, ask[0], ask[1], ask[2], ask[3], &sink{}), name, "NAME") + fmt.Sprint(g.asked)
	}
	hiding := func(name string) *engine.Views {
		return engine.NewViews(func(p *engine.Property) bool { return p.Name == name })
	}
	for _, request := range [][4]string{
		{"GET", "/album?NAME=x", "", ""}, {"GET", "/album?NAME=x&NAME=y", "", ""}, {"GET", "/album?NAME.x=x", "", ""}, {"GET", "/album?_sort=NAME", "", ""}, {"GET", "/album?_sort=-id,NAME", "", ""},
		{"GET", "/album?_fields=NAME", "", ""}, {"GET", "/album?_eager=NAME", "", ""}, {"GET", `/album?_filter={"NAME":1}`, "", ""}, {"GET", `/album?_filter={"eq":["$NAME","x"]}`, "", ""},
		{"GET", "/album/a?_fields=NAME", "", ""}, {"GET", "/album/a?_eager=NAME", "", ""}, {"SEARCH", "/album", "application/json", `{"filter":{"NAME":"x"}}`},
		{"SEARCH", "/album", "application/json", `{"filter":{"not":[{"in":["$NAME",["x"]]}]}}`}, {"SEARCH", "/album", "application/json", `{"sort":{"NAME":1}}`}, {"SEARCH", "/album", "application/json", `{"forceEnrichment":[["NAME"]]}`},
		{"POST", "/album", "application/json", `{"NAME":"x"}`}, {"PATCH", "/album/a", "application/json", `{"NAME":{"x":1}}`}, {"POST", "/album?_fields=NAME", "application/json", `{}`},
		{"PATCH", "/album/a", "multipart/form-data; boundary=XX", part(`name="NAME"`, "x") + "--XX--\r\n"}, {"PATCH", "/album/a", "multipart/form-data; boundary=XX", part(`name="NAME"; filename="x"`, "x") + "--XX--\r\n"},
	} {
		for _, name := range []string{"title", "cover", "pages", "tags"} {
			hidden, unknown := ask(hiding(name), name, request), ask(hiding(name), "absnt", request)
			if hidden != unknown {
				t.Errorf("%q with %s: want the same response for a hidden and an unknown name, got\nhidden  %s\nunknown %s", request, name, hidden, unknown)
			}
			if name == "title" && !strings.Contains(request[1], "_eager") && !strings.Contains(request[3], "forceEnrichment") && !strings.Contains(request[1], ".x") && ask(nil, name, request) == unknown {
				t.Errorf("%q: a visible and an unknown name have the same answer, so this test cannot fail", request)
			}
		}
	}
}
