package crud

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/service"
)

// shelf is a repository of books b0 to bn, and also the MetaRepository of the class of the books.
type shelf struct {
	engine.Repository
	class   *engine.Class
	books   int
	queries []engine.Query
}

func (s *shelf) Class(string) (*engine.Class, error) { return s.class, nil }
func (s *shelf) Classes() []*engine.Class            { return []*engine.Class{s.class} }

func (s *shelf) List(_ context.Context, q *engine.Query, visit func(*engine.Item) error) error {
	s.queries = append(s.queries, *q)
	if q.Total != nil {
		*q.Total = int64(s.books)
	}
	first := q.Offset
	if q.After != nil {
		first = int(q.After.Sequence) + 1
	}
	at := &engine.Position{} // shared by all items, because real repositories reuse the memory
	for i := first; i < s.books && (q.Count < 0 || i < first+q.Count); i++ {
		it := &engine.Item{Class: s.class, ID: fmt.Sprint("b", i), Values: engine.Values{fmt.Sprint("b", i)}}
		if q.WantPosition {
			at.Sequence = int64(i)
			it.Position = at
		}
		if err := visit(it); err != nil {
			return err
		}
	}
	return nil
}

// plainCursors are cursors without encryption.
type plainCursors struct{}

func (plainCursors) Encode(_ *engine.Query, page []engine.Position, _ *engine.Position) string {
	return fmt.Sprint("<", page[len(page)-1].Sequence, ">")
}

func (plainCursors) Decode(_ *engine.Query, cursor string) (*engine.Position, error) {
	at := &engine.Position{}
	if _, err := fmt.Sscanf(cursor, "<%d>", &at.Sequence); err != nil {
		return nil, engine.Errorf(engine.Invalid, "cursor", "no cursor")
	}
	return at, nil
}

func newShelf(t *testing.T, books int) (*shelf, service.Handler) {
	t.Helper()
	s := &shelf{books: books, class: &engine.Class{Name: "book", Key: []string{"id"}, Properties: []*engine.Property{{Name: "id", Type: engine.String}}}}
	if err := s.class.Init(); err != nil {
		t.Fatal(err)
	}
	svc, err := New(&service.Env{Meta: s, Data: s, Cursors: plainCursors{}, Log: slog.New(slog.DiscardHandler)}, service.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range svc.Routes() {
		if r.Method == http.MethodGet && r.Path == "/:class" {
			return s, r.Handler
		}
	}
	t.Fatal("there is no route for lists")
	return nil, nil
}

func ask(list service.Handler, query string) (*service.Response, error) {
	return list(context.Background(), &service.Request{Service: "crud", Path: "/book", RawQuery: query, Header: http.Header{},
		Params: []service.Param{{Name: "class", Value: "book"}}, Account: engine.Anonymous})
}

// TestNextPage follows Link through all pages, in both ways of paging, and checks that every
// object occurs once.
func TestNextPage(t *testing.T) {
	for _, books := range []int{0, 1, 3, 4, 6, 7} {
		for _, start := range []string{"_count=3", "_after=&_count=3"} {
			s, list := newShelf(t, books)
			var bodies []string
			for next, pages := start, 0; next != ""; pages++ {
				resp, err := ask(list, next)
				if err != nil || pages > books {
					t.Fatalf("%d books, %s: got %v after too many pages or an error", books, next, err)
				}
				if body := strings.Trim(string(resp.Body), "[]"); body != "" {
					bodies = append(bodies, body)
				}
				link := resp.Header.Get("Link")
				next, _ = strings.CutSuffix(strings.TrimPrefix(link, "</rest/crud/book?"), `>; rel="next"`)
				if link != "" && !strings.HasPrefix(link, "</rest/crud/book?") {
					t.Fatalf("got the Link %s, want one to the same list", link)
				}
			}
			for i, want := range s.ids() {
				if got := strings.Count(strings.Join(bodies, ","), `"_id":"`+want+`"`); got != 1 {
					t.Errorf("%d books, %s: book %d occurs %d times, want 1", books, start, i, got)
				}
			}
			for _, q := range s.queries {
				if strings.HasPrefix(start, "_after") && (q.Offset != 0 || !q.WantPosition) {
					t.Errorf("%s: got a query without a position: %+v", start, q)
				}
			}
		}
	}
}

func (s *shelf) ids() (all []string) {
	for i := range s.books {
		all = append(all, fmt.Sprint("b", i))
	}
	return all
}

// TestTotalOfAll checks that the total covers all pages and is read together with the page.
func TestTotalOfAll(t *testing.T) {
	s, list := newShelf(t, 9)
	resp, err := ask(list, "_after=<4>&_count=2&_total=1")
	if err != nil || resp.Header.Get("X-Total-Count") != "9" {
		t.Fatalf("got %+v, %v, want a total of 9", resp, err)
	}
	if len(s.queries) != 1 {
		t.Errorf("the list takes %d readings, want 1", len(s.queries))
	}
}

// TestAfterRefused checks invalid combinations of paging parameters.
func TestAfterRefused(t *testing.T) {
	_, list := newShelf(t, 9)
	for _, query := range []string{"_after=x", "_after=<4>&_offset=1", "_after=&_after="} {
		if _, err := ask(list, query); err == nil || engine.CodeOf(err) != engine.Invalid {
			t.Errorf("%s: got %v, want Invalid", query, err)
		}
	}
}
