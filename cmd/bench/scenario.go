package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Sizes of saves: the number of records in a bulk save, the number of new records among them, and
// the number of records in a large save.
const (
	bulkSize  = 1000
	bulkNew   = bulkSize / 2
	largeSize = 10_000
)

// Values of the attributes of a record. Their lengths are typical.
const (
	idPrefix    = "00000000-0000-4000-8000-"
	groupPrefix = "group-"
	bodyText    = "Came by post, was read on the same day and is now waiting for the second signature."
)

// target is the goal of a scenario. The zero value means that it has none.
type target struct {
	ratio float64       // processor time of the right server divided by that of the left
	extra time.Duration // used instead of ratio: maximum of the additional processor time of the right server
}

// scenario is a request to measure, with the expected form of the answer.
type scenario struct {
	name  string
	must  target
	left  *template     // request to the floor
	right *template     // request to restsrv
	own   bool          // set if left is also sent to restsrv, which is then compared with itself
	items int           // number of elements if the answer is an array; 0 if it is an object
	write bool          // set if it is also measured with synchronous=FULL
	limit int           // maximum number of requests per round; 0 means no limit
	warm  time.Duration // time before the first round; 0 means warmUp

	connections int // number of connections; 0 means the number on the command line

	// find returns the request to restsrv, if it depends on data of the server. It is then used
	// instead of the field right. Otherwise find is nil.
	find func(ctx context.Context, p *process) (*template, error)
}

// These functions return requests or parts of requests:
//
//   - path returns a path below /rest/.
//   - item and group return a path with a slot for a row or a group.
//   - get and patchOne return a complete request.
func path(s string) *template { return new(template).text("/rest/" + s) }
func item(service string) *template {
	return path(service+"/note@bench/"+idPrefix).number(anyRow, 0)
}
func group(s string) *template  { return path(s+"group="+groupPrefix).number(anyGroup, 0) }
func get(p *template) *template { return ask("GET", p, "", nil) }
func patchOne() *template {
	return ask("PATCH", item("crud"), "", new(template).text(`{"title":"Title `).number(serial, 0).text(`"}`))
}

// scenarios returns the scenarios in the order of the table. Bulk saves are last, because they make
// the tables grow. auth is the header line with the credentials of the administrator.
func scenarios(auth string, bulkLimit int) []scenario {
	both := func(name string, ratio float64, t *template, items int) scenario {
		return scenario{name: name, must: target{ratio: ratio}, left: t, right: t, items: items}
	}
	patch := both("PATCH one, re-read answer", 1.4, patchOne(), 0)
	patch.write = true
	bulk := both("bulk of 1000, half new", 1.5, ask("POST", path("acceptor"), auth, bulkBody(bulkNew, oldBlock, newBlock)), bulkSize)
	bulk.write, bulk.limit = true, bulkLimit
	one := both("GET one", 1.5, get(item("crud")), 0)
	one.warm = 2 * time.Second // until most pages of the table are cached
	all := []scenario{
		both("static answer", 1.4, get(path("static")), 0),
		one,
		both("list of 5", 1.3, get(path("crud/note@bench/")), 5),
		both("list of 100", 1.0, get(path("crud/note@bench/?_count=100")), 100),
		both("20 by indexed text", 1.2, get(group("crud/note@bench/?_count=20&")), 20),
		both("JS hello", 1.6, get(path("hello?name=Ada")), 0),
		both("JS query of 20", 1.1, get(group("query?")), 20),
		{name: "GET one, password seen before (floor = restsrv, anonymous)", must: target{extra: 3 * time.Microsecond}, own: true,
			left: get(item("crud")), right: ask("GET", item("signed"), auth, nil)},
	}
	all = slices.Concat(all, scriptScenarios(), ownScenarios(), accessScenarios(auth))
	crowded := both(fmt.Sprintf("PATCH one, %d connections", crowd), 0, patchOne(), 0)
	crowded.write, crowded.connections = true, crowd
	return append(all, patch, crowded, bulk, largeSave("updates", auth, oldBlock), largeSave("new", auth, newBlock))
}

// largeSave returns a scenario that saves so many records that the use of memory matters. Either
// all records are new, or all exist.
func largeSave(which, auth string, block number) scenario {
	t := ask("POST", path("acceptor"), auth, bulkBody(largeSize, block))
	return scenario{name: "acceptor of 10,000, " + which, must: target{ratio: 1.5}, left: t, right: t, items: largeSize, limit: 4, connections: 1}
}

// ownScenarios returns comparisons of restsrv with itself, for requests that the floor does not
// support.
func ownScenarios() []scenario {
	plain := get(path("crud/note@bench/?_count=20"))
	entry := func(serial number, author string) *template {
		return ask("POST", path("crud/entry@bench"), "", new(template).text(`{"id":"made-`).number(serial, 0).
			text(`","title":"Title","author":`+author+`,"topic":"topic-000000000001"}`))
	}
	nested := new(template).text(`{"id":"made-`).number(serial, 0).text(`","title":"Ada","body":"Born of the entry"}`)
	nestedEntry := new(template).text(`{"id":"made-`).number(serial, 0).text(`","title":"Title","author":`).join(nested).text(`,"topic":"topic-000000000001"}`)
	return []scenario{
		{name: "list of 100 with 2 paths, _eager (floor = restsrv, without)", must: target{ratio: 2}, own: true, items: 100,
			left: get(path("crud/entry@bench/?_count=100")), right: get(path("crud/entry@bench/?_count=100&_eager=author|topic"))},
		{name: "keyset page of 20 in the middle (floor = restsrv, first 20)", own: true, items: 20,
			left: plain, find: middlePage},
		{name: "list of 20 with _total (floor = restsrv, without)", own: true, items: 20,
			left: plain, right: get(path("crud/note@bench/?_count=20&_total=1"))},
		{name: "create with a nested new object (floor = restsrv, with a reference)", own: true, write: true,
			left: entry(serial, `"author-000000000001"`), right: ask("POST", path("crud/entry@bench"), "", nestedEntry)},
	}
}

// bulkBody returns the body of a bulk save with size records of each block.
func bulkBody(size int, blocks ...number) *template {
	t := new(template).text("[")
	t.block = size
	group := map[number]number{oldBlock: oldGroup, newBlock: newGroup}
	for i, block := range blocks {
		for j := range size {
			if i+j > 0 {
				t.text(",")
			}
			t.text(`{"_id":"`+idPrefix).number(block, j).text(`","_class":"note@bench","_classVer":null,"title":"Title `).
				number(serial, 0).text(`","group":"`+groupPrefix).number(group[block], j/groupSize).text(`","body":"` + bodyText + `"}`)
		}
	}
	return t.text("]")
}

// sendOnce sends t once and returns the body of the answer. It returns an error if the status is
// not 200.
func sendOnce(ctx context.Context, p *process, t *template) ([]byte, error) {
	c, err := dial(ctx, p.addr)
	if err != nil {
		return nil, err
	}
	defer c.conn.Close()
	c.conn.SetDeadline(time.Now().Add(patience))
	t = t.copy()
	p.numbers.fill(t)
	var body bytes.Buffer
	status, err := c.exchange(t.raw, &body)
	if err == nil && status != 200 {
		err = fmt.Errorf("status %d: %s", status, excerpt(body.String()))
	}
	return body.Bytes(), err
}

// probeOnce sends request t once and checks the form of the answer: an array with the given number
// of items, or an object if items is 0.
func probeOnce(ctx context.Context, p *process, t *template, items int) error {
	body, err := sendOnce(ctx, p, t)
	if err != nil {
		return err
	}
	list := make([]map[string]any, 1)
	if items == 0 {
		err = json.Unmarshal(body, &list[0])
	} else {
		err = json.Unmarshal(body, &list)
	}
	if err != nil || len(list) != max(items, 1) || slices.ContainsFunc(list, func(o map[string]any) bool { return len(o) == 0 }) {
		return fmt.Errorf("an answer of %d items, want %d: %s", len(list), items, excerpt(string(body)))
	}
	return nil
}

// excerpt shortens a text to one line for messages.
func excerpt(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 200 {
		s = s[:200] + "..."
	}
	return strconv.Quote(s)
}
