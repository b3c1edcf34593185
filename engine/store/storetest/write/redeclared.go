package write

import (
	"slices"
	"testing"

	"restsrv/engine"
	"restsrv/engine/store/storetest"
)

var redeclaredTests = []storetest.Test{
	{Name: "one storage, several types", Run: redeclaredAlike},
	{Name: "reading own types", Run: redeclaredReading},
	{Name: "filters, sorting and aggregates", Run: redeclaredQueries},
	{Name: "writing through an ancestor", Run: redeclaredWriting},
	{Name: "many items through an ancestor", Run: redeclaredAll},
	{Name: "changing the class", Run: redeclaredClass},
	{Name: "unique values and indexes", Run: redeclaredUnique},
	{Name: "references and collections", Run: redeclaredReferences},
	{Name: "members that point nowhere", Run: redeclaredMembers},
	{Name: "changed keys", Run: redeclaredRekey},
	{Name: "words", Run: redeclaredWords},
	{Name: "trackers", Run: redeclaredTrackers},
	{Name: "names that differ in letter case", Run: letterCase},
	{Name: "random trees", Run: randomTrees},
}

// zoo is a repository with a tree of classes that declare the attribute x with different types: thing and plain as a
// string, number (below thing) as an int, text (below number) as a text, and flag (below thing) as a boolean.
type zoo struct {
	engine.Repository
	thing, plain, number, text, flag *engine.Class
}

func newZoo(change ...func(*engine.Property)) *zoo {
	z := &zoo{}
	z.thing = storetest.NewClass("thing", storetest.Prop("id", engine.String), storetest.Prop("x", engine.String, change...))
	z.plain = storetest.Extend(z.thing, "plain", storetest.Prop("y", engine.Int))
	z.number = storetest.Extend(z.thing, "number", storetest.Prop("x", engine.Int, change...))
	z.text = storetest.Extend(z.number, "text", storetest.Prop("x", engine.Text, change...))
	z.flag = storetest.Extend(z.thing, "flag", storetest.Prop("x", engine.Boolean), storetest.Prop("y", engine.String))
	return z
}

func (z *zoo) classes() []*engine.Class {
	return []*engine.Class{z.thing, z.plain, z.number, z.text, z.flag}
}

func openZoo(t *testing.T, open storetest.Open) *zoo {
	z := newZoo()
	z.Repository = open(t, z.classes())
	storetest.Create(t, z, z.thing, "id", "a", "x", "one")
	storetest.Create(t, z, z.plain, "id", "b", "x", "2", "y", int64(7))
	storetest.Create(t, z, z.number, "id", "c", "x", int64(2))
	storetest.Create(t, z, z.text, "id", "d", "x", "two")
	storetest.Create(t, z, z.flag, "id", "e", "x", true, "y", "7")
	return z
}

func redeclaredAlike(t *testing.T, open storetest.Open) {
	other := storetest.NewClass("other", storetest.Prop("id", engine.GUID))
	thing := storetest.NewClass("thing", storetest.Prop("id", engine.String), storetest.Prop("x", engine.String, storetest.Indexed))
	note := storetest.Extend(thing, "note", storetest.Prop("x", engine.HTML))
	link := storetest.Extend(thing, "link", storetest.Ref("x", other))
	guid := storetest.Extend(link, "guid", storetest.Prop("x", engine.GUID))
	r := open(t, []*engine.Class{other, thing, note, link, guid})
	storetest.Create(t, r, other, "id", "o")
	for _, c := range []*engine.Class{thing, note, link, guid} {
		storetest.Create(t, r, c, "id", c.Name, "x", "o")
	}
	storetest.CheckSame(t, "found", storetest.ListIDs(t, r, storetest.Where(thing, engine.OpEq, "x", "o")), []string{"thing", "note", "link", "guid"})
	storetest.CheckSame(t, "links", storetest.ListIDs(t, r, storetest.Where(link, engine.OpEq, "x", "o")), []string{"link", "guid"})
	if _, err := r.Update(t.Context(), other, "o", storetest.NewValues(other, "id", "p"), engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"thing": "o", "note": "o", "link": "p", "guid": "o"} {
		storetest.CheckSame(t, "x of "+id+" after the key has changed", storetest.Get(t, r, thing, id).Get("x"), any(want))
	}
}

func redeclaredReading(t *testing.T, open storetest.Open) {
	z := openZoo(t, open)
	want := map[string]any{"a": "one", "b": "2", "c": int64(2), "d": "two", "e": true}
	for _, c := range z.classes() {
		for _, id := range storetest.ListIDs(t, z, storetest.All(c)) {
			storetest.CheckSame(t, "x of "+id+" through "+c.Name, storetest.Get(t, z, c, id).Get("x"), want[id])
		}
		err := z.List(t.Context(), storetest.All(c), func(it *engine.Item) error {
			storetest.CheckSame(t, "listed x of "+it.ID, it.Get("x"), want[it.ID])
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	storetest.CheckSame(t, "all", storetest.ListIDs(t, z, storetest.All(z.thing)), []string{"a", "b", "c", "d", "e"})
	items := storetest.Save(t, z, storetest.NewRecord(z.thing, "a", "x", nil), storetest.NewRecord(z.flag, "e", "x", false), storetest.NewRecord(z.number, "n", "x", int64(9)), storetest.NewRecord(z.text, "d", "x", "2"))
	storetest.CheckStored(t, z, items)
	storetest.CheckSame(t, "saved", []any{items[0].Get("x"), items[1].Get("x"), items[2].Get("x"), items[3].Get("x")}, []any{nil, false, int64(9), "2"})
}

func redeclaredQueries(t *testing.T, open storetest.Open) {
	z := openZoo(t, open)
	storetest.Create(t, z, z.number, "id", "f", "x", int64(-1))
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
		q := storetest.All(f.class)
		q.Filter = storetest.ParseFilter(t, f.class, f.filter)
		storetest.CheckSame(t, f.class.Name+" "+f.filter, storetest.ListIDs(t, z, q), f.want)
		n, err := z.Count(t.Context(), q)
		if err != nil || n != int64(len(f.want)) {
			t.Errorf("%s %s: counted %d, %v, want %d", f.class.Name, f.filter, n, err, len(f.want))
		}
	}
	sorted := func(c *engine.Class, descending bool) []string {
		q := storetest.All(c)
		q.Sort = []engine.Sort{{Property: c.Property("x"), Descending: descending}}
		return storetest.ListIDs(t, z, q)
	}
	storetest.CheckSame(t, "things by x", sorted(z.thing, false), []string{"c", "e", "f", "b", "a", "d"})
	storetest.CheckSame(t, "numbers by x, descending", sorted(z.number, true), []string{"c", "f", "d"})
	storetest.CheckSame(t, "sums", storetest.ListRows(t, z, z.number, `{"aggregates": {"n": {"count": ["$x"]}, "sum": {"sum": ["$x"]}}}`), []string{"[2,1]"})
	q := storetest.All(z.thing)
	q.Search = "tw"
	storetest.CheckSame(t, "searched", storetest.ListIDs(t, z, q), []string{"d"})
}

func redeclaredWriting(t *testing.T, open storetest.Open) {
	z := openZoo(t, open)
	update := func(c *engine.Class, id string, x any) (*engine.Item, error) {
		return z.Update(t.Context(), c, id, storetest.NewValues(c, "x", x), engine.WriteOptions{})
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
		storetest.CheckSame(t, "updated "+u.id, it.Get("x"), u.want)
		storetest.CheckSame(t, "stored "+u.id, storetest.Get(t, z, z.thing, u.id).Get("x"), u.want)
	}
	for _, id := range []string{"c", "e"} {
		_, err := update(z.thing, id, "no number")
		storetest.CheckError(t, err, engine.Invalid, "type")
	}
	items := storetest.Save(t, z, storetest.NewRecord(z.thing, "c", "x", "8"), storetest.NewRecord(z.thing, "a", "x", "a"), storetest.NewRecord(z.number, "d", "x", int64(8)))
	storetest.CheckStored(t, z, items)
	storetest.CheckSame(t, "saved", []any{items[0].Get("x"), items[1].Get("x"), items[2].Get("x")}, []any{int64(8), "a", "8"})
	storetest.CheckSame(t, "no values in other columns", storetest.ListIDs(t, z, storetest.Where(z.thing, engine.OpEq, "x", "8")), []string{"d"})
}

func redeclaredAll(t *testing.T, open storetest.Open) {
	z := openZoo(t, open)
	n, err := z.UpdateAll(t.Context(), storetest.Where(z.thing, engine.OpNe, "id", "e"), storetest.NewValues(z.thing, "x", "3"))
	if err != nil || n != 4 {
		t.Fatalf("got %d, %v", n, err)
	}
	for id, want := range map[string]any{"a": "3", "b": "3", "c": int64(3), "d": "3", "e": true} {
		storetest.CheckSame(t, "x of "+id, storetest.Get(t, z, z.thing, id).Get("x"), want)
	}
	_, err = z.UpdateAll(t.Context(), storetest.All(z.thing), storetest.NewValues(z.thing, "x", "words"))
	storetest.CheckError(t, err, engine.Invalid, "type")
	storetest.CheckSame(t, "unchanged", storetest.Get(t, z, z.thing, "a").Get("x"), any("3"))
	if n, err := z.DeleteAll(t.Context(), storetest.Where(z.number, engine.OpEq, "x", int64(3))); err != nil || n != 1 {
		t.Errorf("deleted %d, %v, want 1", n, err)
	}
	storetest.CheckSame(t, "left", storetest.ListIDs(t, z, storetest.All(z.thing)), []string{"a", "b", "d", "e"})
}

func redeclaredClass(t *testing.T, open storetest.Open) {
	z := openZoo(t, open)
	storetest.Save(t, z, storetest.NewRecord(z.plain, "b", "y", nil))
	items := storetest.Save(t, z, storetest.NewRecord(z.number, "b"), storetest.NewRecord(z.flag, "c", "x", true)) // possible, because "2" is a number
	storetest.CheckStored(t, z, items)
	storetest.CheckSame(t, "classes", []*engine.Class{items[0].Class, items[1].Class}, []*engine.Class{z.number, z.flag})
	storetest.CheckSame(t, "x", []any{items[0].Get("x"), items[1].Get("x")}, []any{int64(2), true})
	for id, to := range map[string]*engine.Class{"a": z.number, "b": z.flag, "d": z.flag} {
		before := storetest.Get(t, z, z.thing, id)
		_, err := z.Save(t.Context(), []engine.Record{storetest.NewRecord(to, id)})
		storetest.CheckError(t, err, engine.Invalid, "class")
		storetest.CheckSame(t, "x of "+id, storetest.Get(t, z, z.thing, id).Get("x"), before.Get("x"))
	}
}

func redeclaredUnique(t *testing.T, open storetest.Open) {
	z := newZoo(storetest.Unique)
	z.thing.Indexes = []engine.CompositeIndex{{Properties: []string{"x", "z"}, Unique: true}}
	for _, c := range z.classes() {
		storetest.AddProperties(c, storetest.Prop("z", engine.Int))
	}
	z.Repository = open(t, z.classes())
	storetest.Create(t, z, z.thing, "id", "a", "x", "1")
	storetest.Create(t, z, z.number, "id", "b", "x", int64(1))
	storetest.Create(t, z, z.flag, "id", "c", "x", true, "z", int64(1))
	storetest.Create(t, z, z.flag, "id", "d", "x", true, "z", int64(2))
	_, err := z.Create(t.Context(), z.number, storetest.NewValues(z.number, "id", "e", "x", int64(1)), engine.WriteOptions{})
	storetest.CheckSame(t, "attribute", storetest.CheckError(t, err, engine.Invalid, "duplicate").Attribute, "x")
	_, err = z.Create(t.Context(), z.text, storetest.NewValues(z.text, "id", "e", "x", "1"), engine.WriteOptions{})
	storetest.CheckError(t, err, engine.Invalid, "duplicate") // text and thing store x in the same column
	_, err = z.Create(t.Context(), z.flag, storetest.NewValues(z.flag, "id", "e", "x", true, "z", int64(1)), engine.WriteOptions{})
	storetest.CheckError(t, err, engine.Invalid, "duplicate")
	_, err = z.Update(t.Context(), z.thing, "b", storetest.NewValues(z.thing, "x", "1"), engine.WriteOptions{})
	if err != nil {
		t.Errorf("got %v for the unchanged value of b, want no error", err)
	}
}

// crew is a repository of people that refer to a ship. Two descendants of person declare the attribute ship again:
// guest as a string, and number as a collection.
type crew struct {
	engine.Repository
	ship, person, guest, number *engine.Class
}

func openCrew(t *testing.T, open storetest.Open) *crew {
	c := &crew{}
	c.ship = storetest.NewClass("ship", storetest.Prop("id", engine.Int), storetest.Prop("name", engine.String))
	c.person = storetest.NewClass("person", storetest.Prop("id", engine.String), storetest.Ref("ship", c.ship))
	c.guest = storetest.Extend(c.person, "guest", storetest.Prop("ship", engine.String))
	c.number = storetest.Extend(c.person, "number", storetest.Prop("ship", engine.Collection))
	c.number.Property("ship").Target = c.ship
	storetest.AddProperties(c.ship, storetest.BackProperty(engine.Collection, "people", c.person, "ship"))
	storetest.Link(c.ship, c.person, c.guest, c.number)
	c.Repository = open(t, []*engine.Class{c.ship, c.person, c.guest, c.number})
	storetest.Create(t, c, c.ship, "id", int64(1), "name", "Argo")
	storetest.Create(t, c, c.person, "id", "p", "ship", int64(1))
	storetest.Create(t, c, c.guest, "id", "g", "ship", "1")
	storetest.Create(t, c, c.number, "id", "n", "ship", &engine.Links{Add: []any{"1"}})
	return c
}

func redeclaredReferences(t *testing.T, open storetest.Open) {
	c := openCrew(t, open)
	q := storetest.All(c.person)
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
		storetest.CheckSame(t, "ship of "+it.ID, loaded, map[string]any{"p": "Argo", "g": "1", "n": 1}[it.ID])
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
		q := storetest.All(c.person)
		q.Filter = storetest.ParseFilter(t, c.person, filter)
		storetest.CheckSame(t, filter, storetest.ListIDs(t, c, q), want)
	}
	q = storetest.All(c.ship)
	q.Filter = storetest.ParseFilter(t, c.ship, `{"eq": [{"size": ["$people"]}, 1]}`)
	storetest.CheckSame(t, "ships with one person", storetest.ListIDs(t, c, q), []string{"1"})
	storetest.CheckSame(t, "people", linkIDs(t, c, c.ship, "1", "people"), []string{"p"})
}

// linkIDs returns the ids of the members of a collection.
func linkIDs(t *testing.T, r engine.Repository, c *engine.Class, id, collection string) (found []string) {
	t.Helper()
	key, _ := c.KeyValues(id)
	q := storetest.All(c)
	q.Filter = storetest.Compare(engine.OpEq, c.KeyProperties()[0], key[0])
	q.Load = []*engine.Load{{Property: c.Property(collection), Shown: true}}
	err := r.List(t.Context(), q, func(it *engine.Item) error {
		for _, member := range storetest.LinkOf(it, collection).Items {
			found = append(found, member.ID)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func redeclaredMembers(t *testing.T, open storetest.Open) {
	c := openCrew(t, open)
	put := func(members ...any) error {
		_, err := c.Update(t.Context(), c.ship, "1", storetest.NewValues(c.ship, "people", &engine.Links{Add: members}), engine.WriteOptions{})
		return err
	}
	for _, id := range []any{"g", "n"} {
		storetest.CheckError(t, put(id), engine.Invalid, "type")
	}
	guest := storetest.NewRecord(c.guest, "h")
	storetest.CheckError(t, put(&guest), engine.Invalid, "type")
	person := storetest.NewRecord(c.person, "q")
	if err := put(&person); err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "people", linkIDs(t, c, c.ship, "1", "people"), []string{"p", "q"})
	storetest.CheckSame(t, "guest", storetest.Get(t, c, c.person, "g").Get("ship"), any("1"))
	_, err := c.Update(t.Context(), c.person, "n", storetest.NewValues(c.person, "ship", int64(1)), engine.WriteOptions{})
	storetest.CheckError(t, err, engine.Invalid, "type")
	it, err := c.Update(t.Context(), c.person, "g", storetest.NewValues(c.person, "ship", int64(1)), engine.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "guest", it.Get("ship"), any("1"))
}

func redeclaredRekey(t *testing.T, open storetest.Open) {
	c := openCrew(t, open)
	if _, err := c.Update(t.Context(), c.ship, "1", storetest.NewValues(c.ship, "id", int64(2)), engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "person", storetest.Get(t, c, c.person, "p").Get("ship"), any(int64(2)))
	storetest.CheckSame(t, "guest", storetest.Get(t, c, c.person, "g").Get("ship"), any("1"))
	storetest.CheckSame(t, "members", linkIDs(t, c, c.number, "n", "ship"), []string{"2"})
	if err := c.Delete(t.Context(), c.ship, "2", nil); err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "guest", storetest.Get(t, c, c.person, "g").Get("ship"), any("1"))
}

func redeclaredWords(t *testing.T, open storetest.Open) {
	z := newZoo(func(p *engine.Property) { p.Search = true })
	z.Repository = open(t, z.classes())
	storetest.Create(t, z, z.thing, "id", "a", "x", "apple 42")
	storetest.Create(t, z, z.number, "id", "b", "x", int64(42))
	storetest.Create(t, z, z.text, "id", "c", "x", "apples")
	search := func(c *engine.Class, text string) []string {
		q := storetest.All(c)
		q.Search = text
		return storetest.ListIDs(t, z, q)
	}
	storetest.CheckSame(t, "appl", search(z.thing, "appl"), []string{"a", "c"})
	storetest.CheckSame(t, "numbers", search(z.number, "apples"), []string{"c"})
	if _, err := z.Update(t.Context(), z.thing, "b", storetest.NewValues(z.thing, "x", "43"), engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "42", search(z.thing, "42"), []string{"a"})
}

func redeclaredTrackers(t *testing.T, open storetest.Open) {
	thing := storetest.NewClass("thing", storetest.Prop("id", engine.String), storetest.Prop("n", engine.Int), storetest.Prop("at", engine.DateTime))
	thing.ChangeTracker = "at"
	number := storetest.Extend(thing, "number", storetest.Prop("at", engine.Int))
	r := open(t, []*engine.Class{thing, number})
	storetest.Create(t, r, number, "id", "a", "at", int64(5))
	it, err := r.Update(t.Context(), thing, "a", storetest.NewValues(thing, "n", int64(1)), engine.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "at", it.Get("at"), any(int64(5)))
	if n, err := r.UpdateAll(t.Context(), storetest.All(thing), storetest.NewValues(thing, "n", int64(2))); err != nil || n != 1 {
		t.Fatalf("got %d, %v", n, err)
	}
	q := storetest.All(thing)
	q.Filter = storetest.ParseFilter(t, thing, `{"empty": ["$at"]}`)
	storetest.CheckSame(t, "without a time", storetest.ListIDs(t, r, q), []string{"a"})
}

func letterCase(t *testing.T, open storetest.Open) {
	lower := storetest.NewClass("pet", storetest.Prop("id", engine.String), storetest.Prop("name", engine.String, storetest.Unique), storetest.Prop("Name", engine.Int, storetest.Unique))
	other := storetest.Extend(lower, "dog", storetest.Prop("NAME", engine.String))
	upper := storetest.NewClass("Pet", storetest.Prop("id", engine.String), storetest.Prop("name", engine.String))
	for _, c := range []*engine.Class{lower, upper} {
		friends := storetest.Prop("friends", engine.Collection)
		friends.Target = c
		storetest.AddProperties(c, friends)
	}
	r := open(t, []*engine.Class{lower, other, upper})
	storetest.Create(t, r, lower, "id", "a", "name", "low", "Name", int64(1))
	storetest.Create(t, r, upper, "id", "a", "name", "up", "friends", &engine.Links{Add: []any{"a"}})
	storetest.Create(t, r, other, "id", "b", "name", "dog", "Name", int64(2), "NAME", "DOG")
	storetest.CheckSame(t, "pet", storetest.Get(t, r, lower, "a").Values[:3], engine.Values{"a", "low", int64(1)})
	storetest.CheckSame(t, "dog", storetest.Get(t, r, other, "b").Get("NAME"), any("DOG"))
	storetest.CheckSame(t, "friends of Pet", linkIDs(t, r, upper, "a", "friends"), []string{"a"})
	storetest.CheckSame(t, "friends of pet", linkIDs(t, r, lower, "a", "friends"), []string(nil))
	storetest.CheckSame(t, "pets", storetest.ListIDs(t, r, storetest.Where(lower, engine.OpEq, "Name", int64(2))), []string{"b"})
	storetest.CheckSame(t, "Pets", storetest.ListIDs(t, r, storetest.All(upper)), []string{"a"})
	_, err := r.Create(t.Context(), lower, storetest.NewValues(lower, "id", "c", "name", "low"), engine.WriteOptions{})
	storetest.CheckSame(t, "attribute", storetest.CheckError(t, err, engine.Invalid, "duplicate").Attribute, "name")
	_, err = r.Create(t.Context(), lower, storetest.NewValues(lower, "id", "c", "Name", int64(2)), engine.WriteOptions{})
	storetest.CheckSame(t, "attribute", storetest.CheckError(t, err, engine.Invalid, "duplicate").Attribute, "Name")
	if !slices.Equal(storetest.ListIDs(t, r, storetest.All(lower)), []string{"a", "b"}) {
		t.Error("a duplicate was stored")
	}
}
