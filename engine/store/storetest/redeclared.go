package storetest

import (
	"slices"
	"testing"

	"restsrv/engine"
)

var redeclaredTests = []test{
	{"one storage, several types", redeclaredAlike},
	{"reading own types", redeclaredReading},
	{"filters, sorting and aggregates", redeclaredQueries},
	{"writing through an ancestor", redeclaredWriting},
	{"many items through an ancestor", redeclaredAll},
	{"changing the class", redeclaredClass},
	{"unique values and indexes", redeclaredUnique},
	{"references and collections", redeclaredReferences},
	{"members that point nowhere", redeclaredMembers},
	{"changed keys", redeclaredRekey},
	{"words", redeclaredWords},
	{"trackers", redeclaredTrackers},
	{"names that differ in letter case", letterCase},
	{"random trees", randomTrees},
}

// zoo is a tree of classes that declare x with different types: a string in thing, an int in count
// below it, a string again in list below count, and a boolean in flag beside them.
type zoo struct {
	engine.Repository
	thing, plain, number, text, flag *engine.Class
}

func newZoo(change ...func(*engine.Property)) *zoo {
	z := &zoo{}
	z.thing = NewClass("thing", Prop("id", engine.String), Prop("x", engine.String, change...))
	z.plain = Extend(z.thing, "plain", Prop("y", engine.Int))
	z.number = Extend(z.thing, "number", Prop("x", engine.Int, change...))
	z.text = Extend(z.number, "text", Prop("x", engine.Text, change...))
	z.flag = Extend(z.thing, "flag", Prop("x", engine.Boolean), Prop("y", engine.String))
	return z
}

func (z *zoo) classes() []*engine.Class {
	return []*engine.Class{z.thing, z.plain, z.number, z.text, z.flag}
}

func openZoo(t *testing.T, open Open) *zoo {
	z := newZoo()
	z.Repository = open(t, z.classes())
	create(t, z, z.thing, "id", "a", "x", "one")
	create(t, z, z.plain, "id", "b", "x", "2", "y", int64(7))
	create(t, z, z.number, "id", "c", "x", int64(2))
	create(t, z, z.text, "id", "d", "x", "two")
	create(t, z, z.flag, "id", "e", "x", true, "y", "7")
	return z
}

func redeclaredAlike(t *testing.T, open Open) {
	other := NewClass("other", Prop("id", engine.GUID))
	thing := NewClass("thing", Prop("id", engine.String), Prop("x", engine.String, indexed))
	note := Extend(thing, "note", Prop("x", engine.HTML))
	link := Extend(thing, "link", Ref("x", other))
	guid := Extend(link, "guid", Prop("x", engine.GUID))
	r := open(t, []*engine.Class{other, thing, note, link, guid})
	create(t, r, other, "id", "o")
	for _, c := range []*engine.Class{thing, note, link, guid} {
		create(t, r, c, "id", c.Name, "x", "o")
	}
	same(t, "found", ids(t, r, where(thing, engine.OpEq, "x", "o")), []string{"thing", "note", "link", "guid"})
	same(t, "links", ids(t, r, where(link, engine.OpEq, "x", "o")), []string{"link", "guid"})
	if _, err := r.Update(t.Context(), other, "o", values(other, "id", "p"), engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"thing": "o", "note": "o", "link": "p", "guid": "o"} {
		same(t, "x of "+id+" after the key has changed", get(t, r, thing, id).Get("x"), any(want))
	}
}

func redeclaredReading(t *testing.T, open Open) {
	z := openZoo(t, open)
	want := map[string]any{"a": "one", "b": "2", "c": int64(2), "d": "two", "e": true}
	for _, c := range z.classes() {
		for _, id := range ids(t, z, all(c)) {
			same(t, "x of "+id+" through "+c.Name, get(t, z, c, id).Get("x"), want[id])
		}
		err := z.List(t.Context(), all(c), func(it *engine.Item) error {
			same(t, "listed x of "+it.ID, it.Get("x"), want[it.ID])
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	same(t, "all", ids(t, z, all(z.thing)), []string{"a", "b", "c", "d", "e"})
	items := save(t, z, record(z.thing, "a", "x", nil), record(z.flag, "e", "x", false), record(z.number, "n", "x", int64(9)), record(z.text, "d", "x", "2"))
	checkStored(t, z, items)
	same(t, "saved", []any{items[0].Get("x"), items[1].Get("x"), items[2].Get("x"), items[3].Get("x")}, []any{nil, false, int64(9), "2"})
}

func redeclaredQueries(t *testing.T, open Open) {
	z := openZoo(t, open)
	create(t, z, z.number, "id", "f", "x", int64(-1))
	for _, f := range []struct {
		class  *engine.Class
		filter string
		want   []string
	}{
		{z.thing, `{"eq": ["$x", "2"]}`, []string{"b"}},
		{z.thing, `{"like": ["$x", "o"]}`, []string{"a", "d"}},
		{z.thing, `{"empty": ["$x"]}`, []string{"c", "e", "f"}},
		{z.number, `{"gt": ["$x", 0]}`, []string{"c"}},
		{z.number, `{"lt": ["$x", 2]}`, []string{"f"}},
		{z.number, `{"empty": ["$x"]}`, []string{"d"}},
		{z.text, `{"eq": ["$x", "two"]}`, []string{"d"}},
		{z.flag, `{"eq": ["$x", true]}`, []string{"e"}},
		{z.plain, `{"eq": ["$y", 7]}`, []string{"b"}},
		{z.flag, `{"eq": ["$y", "7"]}`, []string{"e"}},
	} {
		q := all(f.class)
		q.Filter = parsed(t, f.class, f.filter)
		same(t, f.class.Name+" "+f.filter, ids(t, z, q), f.want)
		n, err := z.Count(t.Context(), q)
		if err != nil || n != int64(len(f.want)) {
			t.Errorf("%s %s: counted %d, %v, want %d", f.class.Name, f.filter, n, err, len(f.want))
		}
	}
	sorted := func(c *engine.Class, descending bool) []string {
		q := all(c)
		q.Sort = []engine.Sort{{Property: c.Property("x"), Descending: descending}}
		return ids(t, z, q)
	}
	same(t, "things by x", sorted(z.thing, false), []string{"c", "e", "f", "b", "a", "d"})
	same(t, "numbers by x, descending", sorted(z.number, true), []string{"c", "f", "d"})
	same(t, "sums", rowsOf(t, z, z.number, `{"aggregates": {"n": {"count": ["$x"]}, "sum": {"sum": ["$x"]}}}`), []string{"[2,1]"})
	q := all(z.thing)
	q.Search = "tw"
	same(t, "searched", ids(t, z, q), []string{"d"})
}

func redeclaredWriting(t *testing.T, open Open) {
	z := openZoo(t, open)
	update := func(c *engine.Class, id string, x any) (*engine.Item, error) {
		return z.Update(t.Context(), c, id, values(c, "x", x), engine.WriteOptions{})
	}
	for _, u := range []struct {
		class *engine.Class
		id    string
		x     any
		want  any
	}{
		{z.thing, "a", "new", "new"}, {z.thing, "c", "5", int64(5)}, {z.thing, "d", "text", "text"}, {z.thing, "e", "false", false},
		{z.number, "c", int64(6), int64(6)}, {z.number, "d", int64(6), "6"}, {z.thing, "c", nil, nil},
	} {
		it, err := update(u.class, u.id, u.x)
		if err != nil {
			t.Fatalf("%s through %s: %v", u.id, u.class.Name, err)
		}
		same(t, "updated "+u.id, it.Get("x"), u.want)
		same(t, "stored "+u.id, get(t, z, z.thing, u.id).Get("x"), u.want)
	}
	for _, id := range []string{"c", "e"} {
		_, err := update(z.thing, id, "no number")
		fails(t, err, engine.Invalid, "type")
	}
	items := save(t, z, record(z.thing, "c", "x", "8"), record(z.thing, "a", "x", "a"), record(z.number, "d", "x", int64(8)))
	checkStored(t, z, items)
	same(t, "saved", []any{items[0].Get("x"), items[1].Get("x"), items[2].Get("x")}, []any{int64(8), "a", "8"})
	same(t, "no values in other columns", ids(t, z, where(z.thing, engine.OpEq, "x", "8")), []string{"d"})
}

func redeclaredAll(t *testing.T, open Open) {
	z := openZoo(t, open)
	n, err := z.UpdateAll(t.Context(), where(z.thing, engine.OpNe, "id", "e"), values(z.thing, "x", "3"))
	if err != nil || n != 4 {
		t.Fatalf("got %d, %v", n, err)
	}
	for id, want := range map[string]any{"a": "3", "b": "3", "c": int64(3), "d": "3", "e": true} {
		same(t, "x of "+id, get(t, z, z.thing, id).Get("x"), want)
	}
	_, err = z.UpdateAll(t.Context(), all(z.thing), values(z.thing, "x", "words"))
	fails(t, err, engine.Invalid, "type")
	same(t, "unchanged", get(t, z, z.thing, "a").Get("x"), any("3"))
	if n, err := z.DeleteAll(t.Context(), where(z.number, engine.OpEq, "x", int64(3))); err != nil || n != 1 {
		t.Errorf("deleted %d, %v, want 1", n, err)
	}
	same(t, "left", ids(t, z, all(z.thing)), []string{"a", "b", "d", "e"})
}

func redeclaredClass(t *testing.T, open Open) {
	z := openZoo(t, open)
	save(t, z, record(z.plain, "b", "y", nil))
	items := save(t, z, record(z.number, "b"), record(z.flag, "c", "x", true)) // "2" is a number
	checkStored(t, z, items)
	same(t, "classes", []*engine.Class{items[0].Class, items[1].Class}, []*engine.Class{z.number, z.flag})
	same(t, "x", []any{items[0].Get("x"), items[1].Get("x")}, []any{int64(2), true})
	for id, to := range map[string]*engine.Class{"a": z.number, "b": z.flag, "d": z.flag} {
		before := get(t, z, z.thing, id)
		_, err := z.Save(t.Context(), []engine.Record{record(to, id)})
		fails(t, err, engine.Invalid, "class")
		same(t, "x of "+id, get(t, z, z.thing, id).Get("x"), before.Get("x"))
	}
}

func redeclaredUnique(t *testing.T, open Open) {
	z := newZoo(unique)
	z.thing.Indexes = []engine.CompositeIndex{{Properties: []string{"x", "z"}, Unique: true}}
	for _, c := range z.classes() {
		add(c, Prop("z", engine.Int))
	}
	z.Repository = open(t, z.classes())
	create(t, z, z.thing, "id", "a", "x", "1")
	create(t, z, z.number, "id", "b", "x", int64(1))
	create(t, z, z.flag, "id", "c", "x", true, "z", int64(1))
	create(t, z, z.flag, "id", "d", "x", true, "z", int64(2))
	_, err := z.Create(t.Context(), z.number, values(z.number, "id", "e", "x", int64(1)), engine.WriteOptions{})
	same(t, "attribute", fails(t, err, engine.Invalid, "duplicate").Attribute, "x")
	_, err = z.Create(t.Context(), z.text, values(z.text, "id", "e", "x", "1"), engine.WriteOptions{})
	fails(t, err, engine.Invalid, "duplicate") // shares the column with thing
	_, err = z.Create(t.Context(), z.flag, values(z.flag, "id", "e", "x", true, "z", int64(1)), engine.WriteOptions{})
	fails(t, err, engine.Invalid, "duplicate")
	_, err = z.Update(t.Context(), z.thing, "b", values(z.thing, "x", "1"), engine.WriteOptions{})
	if err != nil {
		t.Errorf("got %v for the unchanged value of b, want no error", err)
	}
}

// crew has people that refer to a ship. In the passenger classes below, ship is a text or a number.
type crew struct {
	engine.Repository
	ship, person, guest, number *engine.Class
}

func openCrew(t *testing.T, open Open) *crew {
	c := &crew{}
	c.ship = NewClass("ship", Prop("id", engine.Int), Prop("name", engine.String))
	c.person = NewClass("person", Prop("id", engine.String), Ref("ship", c.ship))
	c.guest = Extend(c.person, "guest", Prop("ship", engine.String))
	c.number = Extend(c.person, "number", Prop("ship", engine.Collection))
	c.number.Property("ship").Target = c.ship
	add(c.ship, back(engine.Collection, "people", c.person, "ship"))
	Link(c.ship, c.person, c.guest, c.number)
	c.Repository = open(t, []*engine.Class{c.ship, c.person, c.guest, c.number})
	create(t, c, c.ship, "id", int64(1), "name", "Argo")
	create(t, c, c.person, "id", "p", "ship", int64(1))
	create(t, c, c.guest, "id", "g", "ship", "1")
	create(t, c, c.number, "id", "n", "ship", &engine.Links{Add: []any{"1"}})
	return c
}

func redeclaredReferences(t *testing.T, open Open) {
	c := openCrew(t, open)
	q := all(c.person)
	q.Load = []*engine.Load{{Property: c.person.Property("ship"), Shown: true}, {Property: c.number.Property("ship"), Shown: true}}
	err := c.List(t.Context(), q, func(it *engine.Item) error {
		link := it.Link(it.Class.Property("ship"))
		loaded := it.Get("ship")
		if link.Item != nil {
			loaded = link.Item.Get("name")
		}
		if len(link.Items) > 0 {
			loaded = len(link.Items)
		}
		same(t, "ship of "+it.ID, loaded, map[string]any{"p": "Argo", "g": "1", "n": 1}[it.ID])
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for filter, want := range map[string][]string{
		`{"eq": ["$ship.name", "Argo"]}`: {"p"},
		`{"eq": ["$ship", 1]}`:           {"p"},
		`{"empty": ["$ship"]}`:           {"g", "n"},
	} {
		q := all(c.person)
		q.Filter = parsed(t, c.person, filter)
		same(t, filter, ids(t, c, q), want)
	}
	q = all(c.ship)
	q.Filter = parsed(t, c.ship, `{"eq": [{"size": ["$people"]}, 1]}`)
	same(t, "ships with one person", ids(t, c, q), []string{"1"})
	same(t, "people", linkIDs(t, c, c.ship, "1", "people"), []string{"p"})
}

// linkIDs returns the ids of the members of a collection.
func linkIDs(t *testing.T, r engine.Repository, c *engine.Class, id, collection string) (found []string) {
	t.Helper()
	key, _ := c.KeyValues(id)
	q := all(c)
	q.Filter = Compare(engine.OpEq, c.KeyProperties()[0], key[0])
	q.Load = []*engine.Load{{Property: c.Property(collection), Shown: true}}
	err := r.List(t.Context(), q, func(it *engine.Item) error {
		for _, member := range linkOf(it, collection).Items {
			found = append(found, member.ID)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func redeclaredMembers(t *testing.T, open Open) {
	c := openCrew(t, open)
	put := func(members ...any) error {
		_, err := c.Update(t.Context(), c.ship, "1", values(c.ship, "people", &engine.Links{Add: members}), engine.WriteOptions{})
		return err
	}
	for _, id := range []any{"g", "n"} {
		fails(t, put(id), engine.Invalid, "type")
	}
	guest := record(c.guest, "h")
	fails(t, put(&guest), engine.Invalid, "type")
	person := record(c.person, "q")
	if err := put(&person); err != nil {
		t.Fatal(err)
	}
	same(t, "people", linkIDs(t, c, c.ship, "1", "people"), []string{"p", "q"})
	same(t, "guest", get(t, c, c.person, "g").Get("ship"), any("1"))
	_, err := c.Update(t.Context(), c.person, "n", values(c.person, "ship", int64(1)), engine.WriteOptions{})
	fails(t, err, engine.Invalid, "type")
	it, err := c.Update(t.Context(), c.person, "g", values(c.person, "ship", int64(1)), engine.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "guest", it.Get("ship"), any("1"))
}

func redeclaredRekey(t *testing.T, open Open) {
	c := openCrew(t, open)
	if _, err := c.Update(t.Context(), c.ship, "1", values(c.ship, "id", int64(2)), engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	same(t, "person", get(t, c, c.person, "p").Get("ship"), any(int64(2)))
	same(t, "guest", get(t, c, c.person, "g").Get("ship"), any("1"))
	same(t, "members", linkIDs(t, c, c.number, "n", "ship"), []string{"2"})
	if err := c.Delete(t.Context(), c.ship, "2", nil); err != nil {
		t.Fatal(err)
	}
	same(t, "guest", get(t, c, c.person, "g").Get("ship"), any("1"))
}

func redeclaredWords(t *testing.T, open Open) {
	z := newZoo(func(p *engine.Property) { p.Search = true })
	z.Repository = open(t, z.classes())
	create(t, z, z.thing, "id", "a", "x", "apple 42")
	create(t, z, z.number, "id", "b", "x", int64(42))
	create(t, z, z.text, "id", "c", "x", "apples")
	search := func(c *engine.Class, text string) []string {
		q := all(c)
		q.Search = text
		return ids(t, z, q)
	}
	same(t, "appl", search(z.thing, "appl"), []string{"a", "c"})
	same(t, "numbers", search(z.number, "apples"), []string{"c"})
	if _, err := z.Update(t.Context(), z.thing, "b", values(z.thing, "x", "43"), engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	same(t, "42", search(z.thing, "42"), []string{"a"})
}

func redeclaredTrackers(t *testing.T, open Open) {
	thing := NewClass("thing", Prop("id", engine.String), Prop("n", engine.Int), Prop("at", engine.DateTime))
	thing.ChangeTracker = "at"
	number := Extend(thing, "number", Prop("at", engine.Int))
	r := open(t, []*engine.Class{thing, number})
	create(t, r, number, "id", "a", "at", int64(5))
	it, err := r.Update(t.Context(), thing, "a", values(thing, "n", int64(1)), engine.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "at", it.Get("at"), any(int64(5)))
	if n, err := r.UpdateAll(t.Context(), all(thing), values(thing, "n", int64(2))); err != nil || n != 1 {
		t.Fatalf("got %d, %v", n, err)
	}
	q := all(thing)
	q.Filter = parsed(t, thing, `{"empty": ["$at"]}`)
	same(t, "without a time", ids(t, r, q), []string{"a"})
}

func letterCase(t *testing.T, open Open) {
	lower := NewClass("pet", Prop("id", engine.String), Prop("name", engine.String, unique), Prop("Name", engine.Int, unique))
	other := Extend(lower, "dog", Prop("NAME", engine.String))
	upper := NewClass("Pet", Prop("id", engine.String), Prop("name", engine.String))
	for _, c := range []*engine.Class{lower, upper} {
		friends := Prop("friends", engine.Collection)
		friends.Target = c
		add(c, friends)
	}
	r := open(t, []*engine.Class{lower, other, upper})
	create(t, r, lower, "id", "a", "name", "low", "Name", int64(1))
	create(t, r, upper, "id", "a", "name", "up", "friends", &engine.Links{Add: []any{"a"}})
	create(t, r, other, "id", "b", "name", "dog", "Name", int64(2), "NAME", "DOG")
	same(t, "pet", get(t, r, lower, "a").Values[:3], engine.Values{"a", "low", int64(1)})
	same(t, "dog", get(t, r, other, "b").Get("NAME"), any("DOG"))
	same(t, "friends of Pet", linkIDs(t, r, upper, "a", "friends"), []string{"a"})
	same(t, "friends of pet", linkIDs(t, r, lower, "a", "friends"), []string(nil))
	same(t, "pets", ids(t, r, where(lower, engine.OpEq, "Name", int64(2))), []string{"b"})
	same(t, "Pets", ids(t, r, all(upper)), []string{"a"})
	_, err := r.Create(t.Context(), lower, values(lower, "id", "c", "name", "low"), engine.WriteOptions{})
	same(t, "attribute", fails(t, err, engine.Invalid, "duplicate").Attribute, "name")
	_, err = r.Create(t.Context(), lower, values(lower, "id", "c", "Name", int64(2)), engine.WriteOptions{})
	same(t, "attribute", fails(t, err, engine.Invalid, "duplicate").Attribute, "Name")
	if !slices.Equal(ids(t, r, all(lower)), []string{"a", "b"}) {
		t.Error("a duplicate was stored")
	}
}
