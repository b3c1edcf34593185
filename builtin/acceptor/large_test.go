package acceptor_test

import (
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/service"
)

// largeBody returns the given number of records of about 250 bytes, numbered
// from first.
func largeBody(first, records int, title string) string {
	var b strings.Builder
	before := '['
	for i := range records {
		fmt.Fprintf(&b, `%c{"_id":"00000000-0000-4000-8000-%012d","_class":"note@n","_classVer":null,"title":"%s %d: came by post, was read on the same day and is now waiting for the second signature."}`,
			before, first+i, title, i)
		before = ','
	}
	return b.String() + "]"
}

// TestLargeSavesAreBounded checks the limit on the memory that a request with 10,000 objects
// allocates in total, for inserts and for updates.
func TestLargeSavesAreBounded(t *testing.T) {
	f := open(t, service.Options{})
	const records, most = 10_000, 32 << 20
	for _, title := range []string{"Made", "Changed"} {
		body := largeBody(0, records, title)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		resp, err := f.post(body)
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(resp.Body), `"title":"`+title+" "); n != records {
			t.Errorf("%s: %d records in the answer, want %d", title, n, records)
		}
		bytes, count := after.TotalAlloc-before.TotalAlloc, after.Mallocs-before.Mallocs
		t.Logf("%s: %d bytes and %d allocations for each of %d records", title, bytes/records, count/records, records)
		if bytes > most {
			t.Errorf("%s: %d MiB were allocated, want less than %d", title, bytes>>20, most>>20)
		}
	}
	if n := f.count(); n != records {
		t.Errorf("%d objects, want %d", n, records)
	}
}

// TestRefusedBodyIsTaken sends a large body whose second record is invalid. The server must read
// the rest of the body, because a client that is still sending does not read the answer.
func TestRefusedBodyIsTaken(t *testing.T) {
	f := open(t, service.Options{})
	body := strings.NewReader(`[{"_class":"note@n"},{"_class":"none@n"},` + largeBody(0, 1000, "Made")[1:])
	_, err := f.handler(t.Context(), &service.Request{Service: "acceptor", Method: "POST", Path: "/", Body: body,
		Header: http.Header{"Content-Type": {"application/json"}}, Account: &engine.Account{ID: "a@local"}})
	var e *engine.Error
	if !errors.As(err, &e) || !e.Bulk || e.Index != 1 {
		t.Errorf("got %v, want an error of record 1", err)
	}
	if body.Len() > 0 {
		t.Errorf("got %d unread bytes of the body, want none", body.Len())
	}
	if n := f.count(); n != 0 {
		t.Errorf("%d objects, want none", n)
	}
}
