package crud

import (
	"bytes"
	"context"
	"net/http"
	"testing"

	"restsrv/engine"
	"restsrv/engine/service"
)

// tight is an engine.Memory with few free bytes. Wait makes more bytes free.
type tight struct {
	free  int
	waits []int
	err   error // result of Wait
}

func (m *tight) Try(bytes int) bool { return bytes <= m.free }

func (m *tight) Wait(bytes int) error {
	m.waits = append(m.waits, bytes)
	m.free = bytes
	return m.err
}

// TestListsWaitForMemory checks a list that does not get enough memory: it waits, is read again,
// and has the same answer. The second list of the same kind waits before it is read, because its
// length is known.
func TestListsWaitForMemory(t *testing.T) {
	_, list := newShelf(t, 20_000)
	request := func(m engine.Memory) (*service.Response, error) {
		return list(context.Background(), &service.Request{Method: http.MethodGet, Path: "/book", RawQuery: "_count=1000&_after=",
			Header: http.Header{}, Params: []service.Param{{Name: "class", Value: "book"}}, Answer: m})
	}
	want, err := request(nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(want.Body) <= engine.SmallBytes {
		t.Fatalf("the list has %d bytes, want more than %d", len(want.Body), engine.SmallBytes)
	}
	whole := bytes.Clone(want.Body)
	s, list := newShelf(t, 20_000)
	m := &tight{free: engine.SmallBytes}
	got, err := request(m)
	if err != nil || !bytes.Equal(got.Body, whole) || got.Header.Get("Link") != want.Header.Get("Link") {
		t.Errorf("after waiting: got %d bytes, Link %q, %v, want %d bytes, Link %q", len(got.Body), got.Header.Get("Link"), err, len(whole), want.Header.Get("Link"))
	}
	if len(s.queries) != 2 || len(m.waits) != 1 || m.waits[0] != 4*engine.SmallBytes {
		t.Errorf("got %d readings and waits for %v bytes, want 2 and one for %d", len(s.queries), m.waits, 4*engine.SmallBytes)
	}
	s.queries, m = nil, &tight{free: engine.SmallBytes}
	if got, err = request(m); err != nil || !bytes.Equal(got.Body, whole) {
		t.Errorf("the second time: got %d bytes, %v, want %d", len(got.Body), err, len(whole))
	}
	if len(s.queries) != 1 || len(m.waits) != 1 || m.waits[0] < len(whole) || m.waits[0] > len(whole)*5/4 {
		t.Errorf("the second time: got %d readings and waits for %v bytes, want 1 and one for about %d", len(s.queries), m.waits, len(whole))
	}
	refused := engine.Errorf(engine.Unavailable, "share", "no")
	if _, err := request(&tight{free: engine.SmallBytes, err: refused}); err != error(refused) {
		t.Errorf("when waiting fails: got %v, want %v", err, refused)
	}
}
