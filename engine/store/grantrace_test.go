package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/query"
	"restsrv/engine/store"
	"restsrv/engine/store/storetest"
)

// TestConcurrentGrants checks that grants and their objects change as if requests were served one after the other. The
// clients of two servers grant, delete, create and rename at random. There must be an order of their requests that
// explains all responses and the final rows. In this order, a request must come before all requests that began after
// it had ended.
func TestConcurrentGrants(t *testing.T) {
	const rounds = 120
	for _, variant := range []string{"one row each", "with links"} {
		t.Run(variant, func(t *testing.T) {
			onBoth(t, func(t *testing.T, p place) {
				seed := rand.Uint64()
				w := openRace(t, p, variant == "with links", rand.New(rand.NewPCG(seed, 0)))
				wrong := 0
				for n := range rounds {
					from := w.prepare()
					requests := w.play(w.plan())
					to := w.state()
					if w.failed.Load() {
						t.Fatalf("seed %d, round %d:\n%s", seed, n, history(requests))
					}
					if !explains(requests, from, to) {
						if wrong++; wrong == 1 {
							t.Errorf("seed %d, round %d: no order of the requests explains their answers and the final rows\nbefore: %v\n%safter:  %v", seed, n, from, history(requests), to)
						}
					}
				}
				if wrong > 0 {
					t.Errorf("no order explains %d of %d rounds", wrong, rounds)
				}
			})
		})
	}
}

const (
	raceIDs         = "abc"
	raceSubjects    = "uv"
	racePermissions = "rw"
)

// raceState is the set of existing objects and the set of grants, as bits.
type raceState struct {
	objects uint8
	grants  uint16
}

func (s raceState) exists(id int) bool { return s.objects&(1<<id) != 0 }

func grantBit(subject, id, permission int) uint16 {
	return 1 << ((id*len(raceSubjects)+subject)*len(racePermissions) + permission)
}

// grantsOn returns the bits of all grants on an object.
func grantsOn(id int) uint16 { return 0xf << (4 * id) }

func (s raceState) String() string {
	var b strings.Builder
	for id := range raceIDs {
		if s.exists(id) {
			b.WriteString(" " + raceIDs[id:id+1])
		}
	}
	for i := range 12 {
		if s.grants&(1<<i) != 0 {
			fmt.Fprintf(&b, " %c-%c-%c", raceSubjects[i/2%2], racePermissions[i%2], raceIDs[i/4])
		}
	}
	return b.String()
}

// request is one call of a client.
type request struct {
	client       int
	kind         string
	id, to       int
	subject      int
	permissions  []int
	delay, pause int // in microseconds: before the request, and within its transaction
	answer       string
	begin, end   time.Time
}

func (r *request) String() string {
	s := fmt.Sprintf("%s %c", r.kind, raceIDs[r.id])
	switch r.kind {
	case "rename":
		s += fmt.Sprintf(" to %c", raceIDs[r.to])
	case "grant", "update and grant":
		s += fmt.Sprintf(" to %c %d permissions", raceSubjects[r.subject], len(r.permissions))
	case "delete all":
		s = r.kind
	}
	return s
}

func history(requests []*request) string {
	var b strings.Builder
	first := requests[0].begin
	for _, r := range requests {
		if r.begin.Before(first) {
			first = r.begin
		}
	}
	for _, r := range requests {
		fmt.Fprintf(&b, "client %d, %6d to %6d µs: %s: %s\n", r.client, r.begin.Sub(first).Microseconds(), r.end.Sub(first).Microseconds(), r, r.answer)
	}
	return b.String()
}

// serve returns the response to a request and the state after it, if the request is served alone in state s.
func (r *request) serve(s raceState) (string, raceState) {
	exists := s.exists(r.id)
	granted := s
	for _, permission := range r.permissions {
		granted.grants |= grantBit(r.subject, r.id, permission)
	}
	switch {
	case r.kind == "grant":
		return "ok", granted
	case r.kind == "grants":
		return fmt.Sprint(s.grants & grantsOn(r.id)), s
	case r.kind == "delete all":
		n := 0
		for id := range raceIDs {
			if s.exists(id) {
				n++
				s.grants &^= grantsOn(id)
			}
		}
		s.objects = 0
		return fmt.Sprint(n), s
	case r.kind == "create" && exists:
		return "duplicate", s
	case r.kind == "create":
		s.objects |= 1 << r.id
		return "ok", s
	case !exists:
		return "missing", s
	case r.kind == "update and grant":
		return "ok", granted
	case r.kind == "delete":
		s.objects &^= 1 << r.id
		s.grants &^= grantsOn(r.id)
	case r.kind == "rename" && s.exists(r.to):
		return "duplicate", s
	case r.kind == "rename":
		moved := (s.grants & grantsOn(r.id)) >> (4 * r.id)
		s.grants = s.grants&^grantsOn(r.id) | moved<<(4*r.to)
		s.objects = s.objects&^(1<<r.id) | 1<<r.to
	}
	return "ok", s
}

// explains reports whether there is an order of the requests that explains their responses and leads from one state to
// the other. The order must agree with the times of the requests.
func explains(left []*request, from, to raceState) bool {
	if len(left) == 0 {
		return from == to
	}
	for i, r := range left {
		early := true
		for _, other := range left {
			early = early && !other.end.Before(r.begin)
		}
		answer, next := r.serve(from)
		if !early || answer != r.answer {
			continue
		}
		rest := append(append([]*request{}, left[:i]...), left[i+1:]...)
		if explains(rest, next, to) {
			return true
		}
	}
	return false
}

// race has two servers on one database.
type race struct {
	t       *testing.T
	random  *rand.Rand
	servers [2]*raceServer
	failed  atomic.Bool
}

type raceServer struct {
	*store.Store
	doc, permission, policy *engine.Class
}

func openRace(t *testing.T, p place, links bool, random *rand.Rand) *race {
	w := &race{t: t, random: random}
	indexed := func(p *engine.Property) { p.Indexed = true }
	for i := range w.servers {
		s := &raceServer{
			doc: storetest.NewClass("doc", storetest.Prop("id", engine.String), storetest.Prop("title", engine.String)),
			permission: engine.SystemClass("#permission", storetest.Prop("id", engine.String), storetest.Prop("subject", engine.String),
				storetest.Prop("resource", engine.String, indexed), storetest.Prop("permission", engine.String)),
			policy: engine.SystemClass("#policy", storetest.Prop("id", engine.String)),
		}
		if links {
			tag := storetest.NewClass("tag", storetest.Prop("id", engine.String))
			s.doc = storetest.NewClass("doc", storetest.Prop("id", engine.String), storetest.Prop("title", engine.String),
				storetest.Prop("tags", engine.Collection, func(p *engine.Property) { p.Target = tag }))
			s.Store = openAt(t, p, tag, s.doc, s.permission, s.policy)
		} else {
			s.Store = openAt(t, p, s.doc, s.permission, s.policy)
		}
		w.servers[i] = s
	}
	return w
}

// prepare creates some objects and removes some grants before a round.
func (w *race) prepare() raceState {
	s := w.servers[0]
	now := w.state()
	for id := range raceIDs {
		if !now.exists(id) && w.random.IntN(3) > 0 {
			w.answer(s.create(w.t.Context(), id))
		}
		if now.grants&grantsOn(id) != 0 && w.random.IntN(3) > 0 {
			_, err := s.DeleteAll(w.t.Context(), &engine.Query{Class: s.permission, Count: -1, Filter: w.equal(s.permission, "resource", raceResource(id))})
			w.answer("", err)
		}
	}
	return w.state()
}

func (w *race) equal(c *engine.Class, property string, value any) *engine.Filter {
	f, err := query.Equal(c.Property(property), value)
	if err != nil {
		w.t.Fatal(err)
	}
	return f
}

func raceResource(id int) string { return "i:::doc@test@" + raceIDs[id:id+1] }

// plan returns the requests of three clients. Most requests concern the same object, so that they conflict.
func (w *race) plan() [][]*request {
	any := func(kinds ...string) string { return kinds[w.random.IntN(len(kinds))] }
	common := w.random.IntN(len(raceIDs))
	ask := func(client int, kind string) *request {
		r := &request{client: client, kind: kind, id: common, subject: w.random.IntN(2), delay: w.random.IntN(1200), pause: w.random.IntN(4000)}
		if w.random.IntN(4) == 0 {
			r.id = w.random.IntN(len(raceIDs))
		}
		r.to = (r.id + 1 + w.random.IntN(2)) % len(raceIDs)
		if strings.HasSuffix(kind, "grant") {
			r.permissions = [][]int{{0}, {1}, {0, 1}, {0, 1}}[w.random.IntN(4)]
		}
		return r
	}
	var kinds []string
	switch n := w.random.IntN(40); {
	case n < 16: // a deletion waits for the object while a grant on it is written
		hold, end := ask(0, "hold"), ask(1, any("delete", "delete", "delete all", "rename"))
		grants := []*request{ask(2, "grant"), ask(2, any("get", "grants", "grant")), ask(2, any("get", "grants", "delete"))}
		hold.delay, grants[1].delay, grants[2].delay = 0, 0, 0
		for _, r := range []*request{hold, end, grants[0], grants[1]} {
			r.id, r.to = common, (common+1+w.random.IntN(2))%len(raceIDs)
		}
		return [][]*request{{hold}, {end}, grants}
	case n < 22: // no creates and renames: a statement does not see rows that are newer than the statement
		kinds = []string{"grant", "grant", "grants", "get", "hold", "delete", "delete all"}
	case n == 22: // rare, because PostgreSQL needs a second to detect its deadlock with a deletion
		kinds = []string{"grant", "get", "delete", "update and grant"}
	default:
		kinds = []string{"grant", "grant", "grants", "get", "hold", "hold", "delete", "delete", "create", "rename", "rename"}
	}
	clients := make([][]*request, 3)
	for i := range clients {
		for range 1 + w.random.IntN(3) {
			clients[i] = append(clients[i], ask(i, any(kinds...)))
		}
	}
	return clients
}

// play lets the clients send their requests at the same time.
func (w *race) play(clients [][]*request) (all []*request) {
	var wg sync.WaitGroup
	for i, requests := range clients {
		all = append(all, requests...)
		wg.Go(func() {
			for _, r := range requests {
				time.Sleep(time.Duration(r.delay) * time.Microsecond)
				r.begin = time.Now()
				answer, err := w.servers[i%2].send(w.t.Context(), r)
				for undone := 0; undone < 10 && engine.CodeOf(err) == engine.Unavailable; undone++ { // a deletion was in the way of the request
					answer, err = w.servers[i%2].send(w.t.Context(), r)
				}
				r.end = time.Now()
				r.answer = w.answer(answer, err)
			}
		})
	}
	wg.Wait()
	return all
}

// answer returns the outcome of a request as text.
func (w *race) answer(answer string, err error) string {
	var known *engine.Error
	switch {
	case err == nil:
		return answer
	case engine.CodeOf(err) == engine.NotFound:
		return "missing"
	case errors.As(err, &known) && known.Reason == "duplicate":
		return "duplicate"
	}
	w.failed.Store(true)
	w.t.Errorf("a request failed: %v", err)
	return err.Error()
}

func (s *raceServer) create(ctx context.Context, id int) (string, error) {
	v := engine.NewValues(s.doc)
	v[s.doc.Property("id").Index] = raceIDs[id : id+1]
	_, err := s.Create(ctx, s.doc, v, engine.WriteOptions{})
	return "ok", err
}

func (s *raceServer) update(ctx context.Context, id int, property, value string) error {
	v := engine.NewValues(s.doc)
	v[s.doc.Property(property).Index] = value
	_, err := s.Update(ctx, s.doc, raceIDs[id:id+1], v, engine.WriteOptions{})
	return err
}

// grant saves grants as package acl does.
func (s *raceServer) grant(ctx context.Context, r *request) error {
	var records []engine.Record
	for _, permission := range r.permissions {
		subject, name := raceSubjects[r.subject:r.subject+1], racePermissions[permission:permission+1]
		id := strings.Join([]string{subject, raceResource(r.id), name}, "\t")
		records = append(records, engine.Record{Class: s.permission, Values: engine.Values{id, subject, raceResource(r.id), name}})
	}
	_, err := s.Save(ctx, append(records, engine.Record{Class: s.policy, Values: engine.Values{"policy"}}))
	return err
}

func (s *raceServer) send(ctx context.Context, r *request) (string, error) {
	id := raceIDs[r.id : r.id+1]
	switch r.kind {
	case "grant":
		return "ok", s.grant(ctx, r)
	case "grants":
		grants, err := s.grants(ctx)
		return fmt.Sprint(grants & grantsOn(r.id)), err
	case "get":
		_, err := s.Get(ctx, s.doc, id)
		return "ok", err
	case "create":
		return s.create(ctx, r.id)
	case "delete":
		return "ok", s.Delete(ctx, s.doc, id, nil)
	case "delete all":
		n, err := s.DeleteAll(ctx, &engine.Query{Class: s.doc, Count: -1})
		return fmt.Sprint(n), err
	case "rename":
		return "ok", s.update(ctx, r.id, "id", raceIDs[r.to:r.to+1])
	}
	return "ok", s.Transaction(ctx, func(ctx context.Context) error {
		if err := s.update(ctx, r.id, "title", "x"); err != nil {
			return err
		}
		time.Sleep(time.Duration(r.pause) * time.Microsecond)
		if r.kind == "update and grant" {
			return s.grant(ctx, r)
		}
		return nil
	})
}

func (s *raceServer) grants(ctx context.Context) (grants uint16, err error) {
	err = s.List(ctx, &engine.Query{Class: s.permission, Count: -1}, func(it *engine.Item) error {
		resource := it.Text("resource")
		grants |= grantBit(strings.Index(raceSubjects, it.Text("subject")), strings.Index(raceIDs, resource[len(resource)-1:]), strings.Index(racePermissions, it.Text("permission")))
		return nil
	})
	return grants, err
}

// state reads the objects and grants from the database, between two rounds.
func (w *race) state() (now raceState) {
	s := w.servers[0]
	err := s.List(w.t.Context(), &engine.Query{Class: s.doc, Count: -1}, func(it *engine.Item) error {
		now.objects |= 1 << strings.Index(raceIDs, it.ID)
		return nil
	})
	w.answer("", err)
	now.grants, err = s.grants(w.t.Context())
	w.answer("", err)
	return now
}

// TestGrantsWaitForDeletions checks that a grant waits for a transaction that has deleted an object. Other deletions
// must not wait behind the grant for the whole time.
func TestGrantsWaitForDeletions(t *testing.T) {
	w := openRace(t, postgresPlace(t), false, rand.New(rand.NewPCG(1, 1)))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	deleting, other := w.servers[0], w.servers[1]
	for id := range raceIDs {
		w.answer(deleting.create(ctx, id))
	}
	granted := make(chan error, 1)
	err := deleting.Transaction(ctx, func(inner context.Context) error {
		if err := deleting.Delete(inner, deleting.doc, "a", nil); err != nil {
			return err
		}
		go func() { granted <- other.grant(ctx, &request{id: 1, permissions: []int{0}}) }()
		for range 10 { // each waits at most for one attempt of the grant
			if err := other.Delete(ctx, other.doc, "c", nil); err != nil {
				return err
			}
			if _, err := other.create(ctx, 2); err != nil {
				return err
			}
			time.Sleep(10 * time.Millisecond)
		}
		select {
		case err := <-granted:
			t.Errorf("the grant did not wait for the deletion: %v", err)
			granted <- err
		default:
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-granted; err != nil {
		t.Fatalf("the grant after the transaction: %v", err)
	}
	if got, want := w.state(), (raceState{objects: 0b110, grants: grantBit(0, 1, 0)}); got != want {
		t.Errorf("got%v, want%v", got, want)
	}
}
