package write

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/store/storetest"
)

var raceTests = []storetest.Test{
	{Name: "pairs of writes", Run: func(t *testing.T, open storetest.Open) {
		Races(t, func(t *testing.T, classes []*engine.Class) [2]engine.Repository {
			r := open(t, classes)
			return [2]engine.Repository{r, r}
		})
	}},
	{Name: "an item that is always there", Run: alwaysThere},
	{Name: "members of an item that another write creates", Run: membersOfCreated},
}

// Races runs pairs of writes at the same time, on two repositories that open returns for one database. The outcome of
// a pair consists of both responses and the stored data, including links to missing items. It should be an outcome
// that is also possible if the writes run one after the other, in either order; Races finds these outcomes by running
// the writes in this way. The environment variable RESTSRV_RACES is the number of races for each pair of writes.
func Races(t *testing.T, open func(t *testing.T, classes []*engine.Class) [2]engine.Repository) {
	w := newRaces()
	w.repos = open(t, []*engine.Class{w.town, w.person, w.group})
	rounds, thorough := 3, false
	if n, err := strconv.Atoi(os.Getenv("RESTSRV_RACES")); err == nil {
		rounds, thorough = n, true
	}
	seed := rand.Uint64()
	w.random = rand.New(rand.NewPCG(seed, 0))
	some := w.random.IntN(3)
	writes := w.writes()
	for i, a := range writes {
		for j, b := range writes[:i+1] {
			many := rounds
			if !thorough && !(a.refers && b.ends || b.refers && a.ends) {
				if many = 1; (i+j)%3 != some {
					continue
				}
			}
			w.race(t, a, b, many)
		}
	}
	if t.Failed() {
		t.Logf("seed %d", seed)
	}
}

// races contains the classes and repositories of Races. count is the number of races so far. It is the beginning of
// the ids of the items in a race.
type races struct {
	repos               [2]engine.Repository
	random              *rand.Rand
	town, person, group *engine.Class
	count               int
}

func newRaces() *races {
	w := &races{}
	w.town = storetest.NewClass("town", storetest.Prop("id", engine.String), storetest.Prop("name", engine.String))
	w.person = storetest.NewClass("person", storetest.Prop("id", engine.String), storetest.Prop("name", engine.String), storetest.Ref("town", w.town))
	w.group = storetest.NewClass("group", storetest.Prop("id", engine.String), storetest.LinkCollection("people", w.person))
	storetest.AddProperties(w.town, storetest.BackProperty(engine.Collection, "people", w.person, "town"))
	storetest.AddProperties(w.person, storetest.LinkCollection("groups", w.group))
	groups, people := w.person.Property("groups"), w.group.Property("people")
	groups.Mirror, people.Mirror = people, groups
	storetest.Link(w.town, w.person, w.group)
	return w
}

// raceWrite is one of the writes in a race. refers is true if it stores a reference or a link. ends is true if it
// deletes an item or changes the id of an item.
type raceWrite struct {
	name         string
	refers, ends bool
	do           func(ctx context.Context, r engine.Repository, id func(string) string) (*engine.Item, error)
}

// writes returns all writes of Races. When a race begins, there are the towns t and v, the persons p and q, and the
// group g. The person q lives in t and is a member of g.
func (w *races) writes() []raceWrite {
	type ids = func(string) string
	strict := engine.WriteOptions{Handling: engine.Strict}
	change := func(name string, refers, ends bool, c *engine.Class, of string, o engine.WriteOptions, v func(id ids) engine.Values) raceWrite {
		return raceWrite{name, refers, ends, func(ctx context.Context, r engine.Repository, id ids) (*engine.Item, error) {
			return r.Update(ctx, c, id(of), v(id), o)
		}}
	}
	set := func(c *engine.Class, property string, value func(id ids) any) func(id ids) engine.Values {
		return func(id ids) engine.Values { return storetest.NewValues(c, property, value(id)) }
	}
	to := func(name string) func(ids) any { return func(id ids) any { return id(name) } }
	text := func(s string) func(ids) any { return func(ids) any { return s } }
	joining := func(name string) func(ids) any { return func(id ids) any { return storetest.AddLinks(id(name)) } }
	remove := func(name string, c *engine.Class, of string) raceWrite {
		return raceWrite{name, false, true, func(ctx context.Context, r engine.Repository, id ids) (*engine.Item, error) {
			return nil, r.Delete(ctx, c, id(of), nil)
		}}
	}
	whole := func(name string, refers, ends bool, do func(ctx context.Context, r engine.Repository, id ids) error) raceWrite {
		return raceWrite{name, refers, ends, func(ctx context.Context, r engine.Repository, id ids) (*engine.Item, error) {
			return nil, do(ctx, r, id)
		}}
	}
	none := engine.WriteOptions{}
	return []raceWrite{
		change("refer", true, false, w.person, "p", strict, set(w.person, "town", to("t"))),
		change("refer again", true, false, w.person, "q", strict, set(w.person, "town", to("t"))),
		{"create", true, false, func(ctx context.Context, r engine.Repository, id ids) (*engine.Item, error) {
			return r.Create(ctx, w.person, storetest.NewValues(w.person, "id", id("r"), "town", id("t")), strict)
		}},
		change("link", true, false, w.group, "g", strict, set(w.group, "people", joining("p"))),
		change("link from the other side", true, false, w.person, "p", strict, set(w.person, "groups", joining("g"))),
		change("unlink", false, false, w.group, "g", none, set(w.group, "people", func(id ids) any { return storetest.RemoveLinks(id("q")) })),
		change("replace links", true, false, w.group, "g", strict, set(w.group, "people", func(id ids) any { return storetest.ReplaceLinks(id("p")) })),
		change("join", true, false, w.town, "t", none, set(w.town, "people", joining("p"))),
		change("leave", true, false, w.town, "t", none, set(w.town, "people", func(ids) any { return storetest.ReplaceLinks() })),
		change("move", true, false, w.person, "q", strict, set(w.person, "town", to("v"))),
		change("patch town", false, false, w.town, "t", none, set(w.town, "name", text("patched"))),
		change("patch person", false, false, w.person, "q", none, set(w.person, "name", text("patched"))),
		change("nested", true, false, w.person, "p", strict, set(w.person, "town", func(id ids) any {
			return storetest.NestedRecord(w.town, "id", id("t"), "name", "nested")
		})),
		change("rename town", false, true, w.town, "t", none, set(w.town, "id", to("u"))),
		change("rename person", false, true, w.person, "p", none, set(w.person, "id", to("r"))),
		change("rename member", false, true, w.person, "q", none, set(w.person, "id", to("r"))),
		change("rename group", false, true, w.group, "g", none, set(w.group, "id", to("h"))),
		remove("delete town", w.town, "t"),
		remove("delete person", w.person, "p"),
		remove("delete member", w.person, "q"),
		remove("delete group", w.group, "g"),
		whole("save many", true, false, func(ctx context.Context, r engine.Repository, id ids) error {
			first, second := storetest.NewRecord(w.person, id("q"), "town", id("t")), storetest.NewRecord(w.person, id("p"), "town", id("v"))
			first.Handling, second.Handling = engine.Strict, engine.Strict
			_, err := r.Save(ctx, []engine.Record{first, second})
			return err
		}),
		whole("swap towns", false, true, func(ctx context.Context, r engine.Repository, id ids) error {
			_, err := r.Save(ctx, []engine.Record{storetest.NewRecord(w.town, id("t"), "id", id("u")), storetest.NewRecord(w.town, "", "id", id("t"), "name", "new")})
			return err
		}),
		whole("update all", false, false, func(ctx context.Context, r engine.Repository, id ids) error {
			_, err := r.UpdateAll(ctx, storetest.Where(w.person, engine.OpEq, "town", id("t")), storetest.NewValues(w.person, "name", "all"))
			return err
		}),
		whole("delete all", false, true, func(ctx context.Context, r engine.Repository, id ids) error {
			_, err := r.DeleteAll(ctx, storetest.Where(w.person, engine.OpEq, "town", id("t")))
			return err
		}),
		whole("transaction", true, false, func(ctx context.Context, r engine.Repository, id ids) error {
			return storetest.InTransaction(ctx, r, func(ctx context.Context) error {
				if _, err := r.Get(ctx, w.town, id("t")); err != nil {
					return err
				}
				_, err := r.Update(ctx, w.person, id("p"), storetest.NewValues(w.person, "town", id("t")), strict)
				return err
			})
		}),
	}
}

// race runs a pair of writes concurrently, several times.
func (w *races) race(t *testing.T, a, b raceWrite, rounds int) {
	t.Helper()
	expected := map[string]string{} // known allowed outcomes, each with the order of the writes that leads to it
	wrong, example := 0, ""
	for range rounds {
		outcome := w.outcome(t, func(id func(string) string) (answers [2]string) {
			var wg sync.WaitGroup
			for i, write := range []raceWrite{a, b} {
				delay := time.Duration(w.random.IntN(1500)) * time.Microsecond
				wg.Go(func() {
					time.Sleep(delay)
					answers[i] = w.answer(t, i, write, id)
				})
			}
			wg.Wait()
			return answers
		})
		for _, order := range []string{"ab", "ba", "a", "b", ""} {
			if expected[outcome] != "" {
				break
			}
			expected[w.inOrder(t, a, b, order)] = "order " + order
		}
		if expected[outcome] == "" {
			wrong++
			example = outcome
		}
	}
	if wrong > 0 {
		t.Errorf("%q and %q at the same time: %d of %d outcomes do not match any order\nfor example: %s\nwant one of: %v", a.name, b.name, wrong, rounds, example, expected)
	}
}

// inOrder returns the outcome of running the writes one after the other. The order "ab" means a, then b. If the text
// order does not contain a write, the write does not run, and its response is "busy", as if other writes had been in
// its way.
func (w *races) inOrder(t *testing.T, a, b raceWrite, order string) string {
	return w.outcome(t, func(id func(string) string) [2]string {
		answers := [2]string{raceBusy, raceBusy}
		for _, which := range order {
			i := int(which - 'a')
			answers[i] = w.answer(t, i, []raceWrite{a, b}[i], id)
		}
		return answers
	})
}

const raceBusy = "busy"

// answer makes a write on repository i and returns its response as text.
func (w *races) answer(t *testing.T, i int, write raceWrite, id func(string) string) string {
	it, err := write.do(t.Context(), w.repos[i], id)
	var known *engine.Error
	switch {
	case err == nil && it == nil:
		return "ok"
	case err == nil && it.Class.Property("town") != nil:
		return fmt.Sprint("ok ", it.ID, " in ", it.Get("town"))
	case err == nil:
		return "ok " + it.ID
	case errors.As(err, &known) && known.Reason != "" && known.Reason != "internal":
		return known.Reason
	}
	t.Errorf("%s: %v", write.name, err)
	return err.Error()
}

// outcome creates the items of a race, runs the race, and returns the responses and the stored data as text.
func (w *races) outcome(t *testing.T, run func(id func(string) string) [2]string) string {
	t.Helper()
	w.count++
	prefix := fmt.Sprintf("%d:", w.count)
	id := func(name string) string { return prefix + name }
	storetest.Save(t, w.repos[0], storetest.NewRecord(w.town, id("t")), storetest.NewRecord(w.town, id("v")), storetest.NewRecord(w.person, id("p")),
		storetest.NewRecord(w.person, id("q"), "town", id("t")), storetest.NewRecord(w.group, id("g"), "people", storetest.AddLinks(id("q"))))
	answers := run(id)
	return strings.ReplaceAll(strings.Join(answers[:], "; ")+" |"+w.stored(t, id), prefix, "")
}

// stored returns the items of a race as text. It also creates the missing items, because links to missing items are
// not visible.
func (w *races) stored(t *testing.T, id func(string) string) string {
	t.Helper()
	var b strings.Builder
	r := w.repos[0]
	of := func(c *engine.Class, names string, visit func(name string, it *engine.Item)) {
		for _, name := range strings.Fields(names) {
			it, err := r.Get(t.Context(), c, id(name))
			if err != nil {
				storetest.CheckError(t, err, engine.NotFound, "")
				it = nil
			}
			visit(name, it)
		}
	}
	create := func(c *engine.Class, name string) {
		if _, err := r.Create(t.Context(), c, storetest.NewValues(c, "id", id(name)), engine.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	of(w.town, "t u v", func(name string, it *engine.Item) {
		if it != nil {
			fmt.Fprint(&b, " ", name, " ", it.Get("name"))
		}
	})
	of(w.person, "p q r", func(name string, it *engine.Item) {
		if it == nil {
			create(w.person, name)
			return
		}
		fmt.Fprint(&b, " ", name, " ", it.Get("name"), " in ", it.Get("town"))
	})
	of(w.group, "g h", func(name string, it *engine.Item) {
		if it == nil {
			create(w.group, name)
			fmt.Fprint(&b, " no")
		}
		fmt.Fprint(&b, " ", name, storetest.ListMembers(t, r, w.group, id(name), "people"))
	})
	return b.String()
}

// alwaysThere repeatedly deletes or renames an item and creates another item with the same id, in one transaction,
// while other writes use the id. These writes should always find an item.
func alwaysThere(t *testing.T, open storetest.Open) {
	w := newRaces()
	r := open(t, []*engine.Class{w.town, w.person, w.group})
	storetest.Create(t, r, w.town, "id", "t")
	storetest.Create(t, r, w.person, "id", "p")
	const rounds = 40
	ctx := t.Context()
	over := make(chan struct{})
	writes := map[string]func() error{
		"update": func() error {
			_, err := r.Update(ctx, w.town, "t", storetest.NewValues(w.town, "name", "x"), engine.WriteOptions{})
			return err
		},
		"update of any": func() error {
			_, err := r.Update(ctx, w.town, "t", storetest.NewValues(w.town, "name", "x"), engine.WriteOptions{Match: &engine.Match{Any: true}})
			return err
		},
		"refer": func() error {
			_, err := r.Update(ctx, w.person, "p", storetest.NewValues(w.person, "town", "t"), engine.WriteOptions{Handling: engine.Strict})
			return err
		},
		"admit": func() error {
			return engine.Admit(ctx, r, engine.Admission{May: engine.MayWrite, Records: []engine.Record{{Class: w.town, ID: "t", Values: engine.NewValues(w.town)}}})
		},
	}
	var wg sync.WaitGroup
	for name, write := range writes {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-over:
					return
				default:
				}
				if err := write(); err != nil {
					t.Errorf("%s %d: %v", name, n, err)
					return
				}
			}
		})
	}
	for n := range rounds {
		var err error
		if n%2 == 0 {
			err = storetest.InTransaction(ctx, r, func(ctx context.Context) error {
				if err := r.Delete(ctx, w.town, "t", nil); err != nil {
					return err
				}
				_, err := r.Create(ctx, w.town, storetest.NewValues(w.town, "id", "t"), engine.WriteOptions{})
				return err
			})
		} else {
			_, err = r.Save(ctx, []engine.Record{storetest.NewRecord(w.town, "t", "id", fmt.Sprint("old", n)), storetest.NewRecord(w.town, "", "id", "t")})
		}
		var known *engine.Error
		if err != nil && !(errors.As(err, &known) && known.Reason == raceBusy) {
			t.Errorf("round %d: %v", n, err)
		}
	}
	close(over)
	wg.Wait()
}

// membersOfCreated runs several writes at the same time. Two of them save the same two new persons with their groups.
// The other writes add both persons to further groups; in half of the rounds, they wait until the persons are stored.
// The response to a write should contain exactly the groups that this write has given.
func membersOfCreated(t *testing.T, open storetest.Open) {
	w := newRaces()
	r := open(t, []*engine.Class{w.town, w.person, w.group})
	rounds := 20
	if n, err := strconv.Atoi(os.Getenv("RESTSRV_RACES")); err == nil {
		rounds = n
	}
	busy := func(err error) bool {
		var known *engine.Error
		return errors.As(err, &known) && known.Reason == raceBusy
	}
	wrong, example := 0, ""
	for round := range rounds {
		id := func(name string) string { return fmt.Sprint(round, ":", name) }
		storetest.Create(t, r, w.group, "id", id("g"))
		var wg sync.WaitGroup
		var answers [2][]*engine.Item
		begin := time.Now()
		for i := range answers {
			delay := time.Duration(rand.IntN(500)) * time.Microsecond
			wg.Go(func() {
				time.Sleep(delay)
				records := []engine.Record{storetest.NewRecord(w.person, id("p"), "groups", storetest.ReplaceLinks(id("g"))), storetest.NewRecord(w.person, id("q"), "groups", storetest.ReplaceLinks(id("g")))}
				for k := range records {
					records[k].Members = true
				}
				var err error
				if answers[i], err = r.Save(t.Context(), records); err != nil && !busy(err) {
					t.Error(err)
				}
			})
		}
		wg.Go(func() {
			for n := 0; time.Since(begin) < 2*time.Millisecond || n == 0; n++ {
				if it, err := r.Get(t.Context(), w.person, id("q")); round%2 == 0 && (it == nil || err != nil) {
					continue
				}
				if _, err := r.Create(t.Context(), w.group, storetest.NewValues(w.group, "id", id(fmt.Sprint("h", n)), "people", storetest.AddLinks(id("p"), id("q"))), engine.WriteOptions{}); err != nil && !busy(err) {
					t.Error(err)
				}
			}
		})
		wg.Wait()
		groups := w.person.Property("groups")
		for _, answer := range answers {
			for _, it := range answer {
				var ids []string
				for _, member := range it.Links[groups.Index].Items {
					ids = append(ids, member.ID)
				}
				if len(ids) != 1 || ids[0] != id("g") {
					wrong++
					example = fmt.Sprintf("%s has the groups %q, want %q", it.ID, ids, id("g"))
				}
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d answers have groups that their write did not give, for example: %s", wrong, 4*rounds, example)
	}
}
