package write

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/store/storetest"
)

var entryTests = []storetest.Test{
	{Name: "texts that share an index", Run: sharedEntries},
	{Name: "random texts that share indexes", Run: randomEntries},
	{Name: "texts that come from elsewhere", Run: lateEntries},
	{Name: "ids that share an index of links", Run: linkEntries},
	{Name: "long values of other types", Run: otherEntries},
	{Name: "entries of the greatest size", Run: fullEntries},
	{Name: "keys of several types", Run: keyEntries},
}

// entries returns a class with indexes that contain several texts.
func entries() *engine.Class {
	c := storetest.NewClass("entry", storetest.Prop("id", engine.String), storetest.Prop("a", engine.String), storetest.Prop("b", engine.Text), storetest.Prop("c", engine.URL), storetest.Prop("n", engine.Int),
		storetest.Prop("d", engine.DecimalNum), storetest.Prop("e", engine.String), storetest.Prop("when", engine.DateTime))
	c.Indexes = []engine.CompositeIndex{{Properties: []string{"a", "n"}}, {Properties: []string{"b", "c"}, Unique: true}, {Properties: []string{"d", "e", "when", "n"}}}
	return c
}

// tooLarge checks that err reports a value that is too long for the attribute.
func tooLarge(t *testing.T, what string, err error, attribute string) {
	t.Helper()
	storetest.CheckSame(t, what, storetest.CheckError(t, err, engine.Invalid, "size").Attribute, attribute)
}

func sharedEntries(t *testing.T, open storetest.Open) {
	c := entries()
	r := open(t, []*engine.Class{c})
	ctx := t.Context()
	half, long := storetest.NoiseText(storetest.MaxIndexed/2), storetest.NoiseText(storetest.MaxIndexed)
	storetest.Create(t, r, c, "id", "1", "a", long, "n", int64(1), "b", half, "c", half)
	_, err := r.Create(ctx, c, storetest.NewValues(c, "id", "2", "a", long+"x"), engine.WriteOptions{})
	tooLarge(t, "create", err, "a")
	_, err = r.Create(ctx, c, storetest.NewValues(c, "id", "2", "b", half, "c", half+"x"), engine.WriteOptions{})
	tooLarge(t, "create, together", err, "c")
	_, err = r.Update(ctx, c, "1", storetest.NewValues(c, "c", half+"x"), engine.WriteOptions{})
	tooLarge(t, "update of one", err, "c")
	_, err = r.Update(ctx, c, "1", storetest.NewValues(c, "b", half+"x"), engine.WriteOptions{})
	tooLarge(t, "update of the other", err, "c")
	_, err = r.Save(ctx, []engine.Record{storetest.NewRecord(c, "3"), storetest.NewRecord(c, "1", "c", half+"x")})
	if e := storetest.CheckError(t, err, engine.Invalid, "size"); e.Index != 1 {
		t.Errorf("save: got an error about record %d, want 1", e.Index)
	}
	_, err = r.UpdateAll(ctx, storetest.All(c), storetest.NewValues(c, "c", half+"x"))
	storetest.CheckError(t, err, engine.Invalid, "size")
	storetest.Update(t, r, c, "1", "b", nil)
	storetest.Update(t, r, c, "1", "c", long)
	_, err = r.Update(ctx, c, "1", storetest.NewValues(c, "b", "x"), engine.WriteOptions{})
	storetest.CheckError(t, err, engine.Invalid, "size")
	e := storetest.Create(t, r, c, "id", "4", "d", engine.Decimal(strings.Repeat("9", 1000)), "e", storetest.NoiseText(2000), "when", engine.Instant(1), "n", int64(1))
	_, err = r.Update(ctx, c, "4", storetest.NewValues(c, "e", storetest.NoiseText(2200)), engine.WriteOptions{})
	storetest.CheckError(t, err, engine.Invalid, "size")
	storetest.CheckSame(t, "it stays", storetest.Get(t, r, c, "4").Revision, e.Revision)
	storetest.CheckSame(t, "objects", storetest.ListIDs(t, r, storetest.All(c)), []string{"1", "4"})
}

// randomEntries writes texts of random lengths by all kinds of writes. A text should be accepted exactly if its length
// in bytes is within the limit, even if the database could compress a longer text.
func randomEntries(t *testing.T, open storetest.Open) {
	random := rand.New(rand.NewPCG(13, 13))
	c := entries()
	r := open(t, []*engine.Class{c})
	letter := []string{"a", "\u00e4", "\u4e2d", "\U0001f600"}
	text := func() any {
		switch n := []int{0, 3, 1290, 1300, 1310, 2590, 2600}[random.IntN(7)] + random.IntN(12); random.IntN(4) {
		case 0:
			return nil
		case 1:
			s := letter[random.IntN(4)]
			return strings.Repeat(s, n/len(s)) // this text compresses well
		default:
			return storetest.NoiseText(n)
		}
	}
	held := map[string]map[string]any{}
	fit := func(v map[string]any) bool {
		size := func(name string) int { s, _ := v[name].(string); return len(s) }
		return size("a") <= storetest.MaxIndexed && size("b")+size("c") <= storetest.MaxIndexed
	}
	accepted, refused := 0, 0
	for step := range 400 {
		id := fmt.Sprint(random.IntN(6))
		given, after := []any{}, map[string]any{}
		for name, v := range held[id] {
			after[name] = v
		}
		for _, name := range []string{"a", "b", "c"} {
			if random.IntN(2) == 0 {
				after[name] = text()
				given = append(given, name, after[name])
			}
		}
		if duplicate(held, id, after) {
			continue
		}
		var err error
		switch {
		case held[id] == nil:
			_, err = r.Create(t.Context(), c, storetest.NewValues(c, append(given, "id", id)...), engine.WriteOptions{})
		case len(given) == 0:
			continue
		case step%3 == 0:
			_, err = r.Update(t.Context(), c, id, storetest.NewValues(c, given...), engine.WriteOptions{})
		case step%3 == 1:
			_, err = r.Save(t.Context(), []engine.Record{storetest.NewRecord(c, id, given...)})
		default:
			q := storetest.All(c)
			q.Filter = storetest.Compare(engine.OpEq, c.Property("id"), id)
			_, err = r.UpdateAll(t.Context(), q, storetest.NewValues(c, given...))
		}
		switch {
		case fit(after) && err != nil:
			t.Fatalf("step %d: %v", step, err)
		case !fit(after):
			storetest.CheckError(t, err, engine.Invalid, "size")
			refused++
		default:
			held[id] = after
			accepted++
		}
	}
	if accepted < 50 || refused < 50 {
		t.Errorf("%d writes were accepted and %d refused, want 50 of each at least", accepted, refused)
	}
}

// duplicate reports whether an object other than id has the same texts b and c as after. These two attributes have a
// unique index.
func duplicate(held map[string]map[string]any, id string, after map[string]any) bool {
	for other, v := range held {
		if other != id && v["b"] != nil && v["c"] != nil && v["b"] == after["b"] && v["c"] == after["c"] {
			return true
		}
	}
	return false
}

// lateEntries checks that the limit includes texts that the client does not give, such as default values.
func lateEntries(t *testing.T, open storetest.Open) {
	target := storetest.NewClass("target", storetest.Prop("id", engine.String))
	c := storetest.NewClass("late", storetest.Prop("id", engine.String), storetest.Prop("s", engine.String, storetest.ByDefault("default")), storetest.Ref("ref", target))
	c.Indexes = []engine.CompositeIndex{{Properties: []string{"s", "ref"}}}
	back := storetest.Prop("lates", engine.Collection)
	back.Target, back.Back, back.OrderNumber, back.Definition = c, c.Property("ref"), 2, target.FullName
	target.Properties = append(target.Properties, back)
	if err := target.Init(); err != nil {
		t.Fatal(err)
	}
	storetest.Link(target, c)
	r := open(t, []*engine.Class{target, c})
	ctx := t.Context()
	_, err := r.Create(ctx, c, storetest.NewValues(c, "id", "1", "ref", storetest.NoiseText(storetest.MaxIndexed-3)), engine.WriteOptions{})
	tooLarge(t, "a default", err, "ref")
	_, err = r.Create(ctx, c, storetest.NewValues(c, "id", "1", "s", "", "ref", storetest.NoiseText(storetest.MaxIndexed+1)), engine.WriteOptions{})
	tooLarge(t, "a reference that a collection looks through", err, "ref")
	_, err = r.Create(ctx, c, storetest.NewValues(c, "id", "1", "s", storetest.NoiseText(2000), "ref", storetest.NestedRecord(target, "id", storetest.NoiseText(700))), engine.WriteOptions{})
	storetest.CheckError(t, err, engine.Invalid, "size")
	storetest.Create(t, r, target, "id", "t")
	storetest.Create(t, r, c, "id", "2", "s", storetest.NoiseText(2000), "ref", "t")
	_, err = r.Update(ctx, target, "t", storetest.NewValues(target, "id", storetest.NoiseText(700)), engine.WriteOptions{})
	storetest.CheckError(t, err, engine.Invalid, "size")
	storetest.Update(t, r, target, "t", "id", storetest.NoiseText(600))
	storetest.CheckSame(t, "followed", storetest.Get(t, r, c, "2").Get("ref"), any(storetest.NoiseText(600)))
}

// linkEntries checks the limit for the two ids of a link, which share an index entry.
func linkEntries(t *testing.T, open storetest.Open) {
	tag := storetest.NewClass("tag", storetest.Prop("id", engine.String))
	c := storetest.NewClass("tagged", storetest.Prop("id", engine.String))
	tags := storetest.Prop("tags", engine.Collection)
	tags.Target, tags.OrderNumber, tags.Definition = tag, 1, c.FullName
	c.Properties = append(c.Properties, tags)
	if err := c.Init(); err != nil {
		t.Fatal(err)
	}
	storetest.Link(tag, c)
	r := open(t, []*engine.Class{tag, c})
	long, longer := storetest.NoiseText(1300), storetest.NoiseText(1301)
	storetest.Create(t, r, tag, "id", long)
	storetest.Create(t, r, tag, "id", longer)
	storetest.Create(t, r, c, "id", long, "tags", storetest.AddLinks(long))
	_, err := r.Update(t.Context(), c, long, storetest.NewValues(c, "tags", storetest.AddLinks(longer)), engine.WriteOptions{})
	storetest.CheckError(t, err, engine.Invalid, "size")
	_, err = r.Save(t.Context(), []engine.Record{storetest.NewRecord(c, "new"+storetest.NoiseText(1300), "tags", storetest.AddLinks(long))})
	storetest.CheckError(t, err, engine.Invalid, "size")
	_, err = r.Update(t.Context(), c, long, storetest.NewValues(c, "id", storetest.NoiseText(1400)), engine.WriteOptions{})
	storetest.CheckError(t, err, engine.Invalid, "size")
	storetest.Update(t, r, c, long, "id", storetest.NoiseText(1299))
}

// otherEntries checks types without a length limit for values. Values of any length should be stored, even if the
// class declares an index for them.
func otherEntries(t *testing.T, open storetest.Open) {
	c := storetest.NewClass("other", storetest.Prop("id", engine.String), storetest.Prop("custom", engine.Custom, storetest.Indexed), storetest.Prop("geo", engine.Geo, storetest.Indexed), storetest.Prop("d", engine.DecimalNum, storetest.Indexed))
	r := open(t, []*engine.Class{c})
	json := engine.JSONText(fmt.Sprintf(`{"a":%q}`, strings.ReplaceAll(storetest.NoiseText(5000), `\`, "/")))
	it := storetest.Create(t, r, c, "id", "1", "custom", json, "geo", json, "d", engine.Decimal("-"+strings.Repeat("7", 2000)+"."+strings.Repeat("7", 90)))
	storetest.CheckSame(t, "stored", storetest.Get(t, r, c, "1").Values, it.Values)
}

// fullEntries stores the longest allowed texts in indexes with different numbers of columns. PostgreSQL should accept
// every index entry that is within the limit.
func fullEntries(t *testing.T, open storetest.Open) {
	random := rand.New(rand.NewPCG(13, 32))
	var classes []*engine.Class
	for i := range 24 {
		properties := []*engine.Property{storetest.Prop("id", engine.String)}
		var index engine.CompositeIndex
		for n := range []int{1, 2, 3, 8, 32}[i%5] {
			typ := []engine.PropertyType{engine.String, engine.Int, engine.Boolean, engine.Real, engine.Text, engine.DecimalNum}[random.IntN(6)]
			if n == 0 {
				typ = engine.String
			}
			properties = append(properties, storetest.Prop(fmt.Sprint("p", n), typ))
			index.Properties = append(index.Properties, properties[n+1].Name)
		}
		c := storetest.NewClass(fmt.Sprint("full", i), properties...)
		random.Shuffle(len(index.Properties), func(i, j int) {
			index.Properties[i], index.Properties[j] = index.Properties[j], index.Properties[i]
		})
		index.Unique = i%2 == 0
		c.Indexes = []engine.CompositeIndex{index}
		classes = append(classes, c)
	}
	r := open(t, classes)
	for _, c := range classes {
		fill := func(bytes int) engine.Values {
			v := storetest.NewValues(c, "id", fmt.Sprint(bytes))
			texts := []int{}
			for i, p := range c.Properties[1:] {
				switch p.Type {
				case engine.Int:
					v[i+1] = int64(-i)
				case engine.Boolean:
					v[i+1] = true
				case engine.Real:
					v[i+1] = 1.5
				case engine.DecimalNum:
					v[i+1] = engine.Decimal("123456789.987654321")
					bytes -= 19/2 + 8
				default:
					texts = append(texts, i+1)
				}
			}
			for n, at := range texts {
				size := bytes / (len(texts) - n)
				v[at] = storetest.NoiseText(size)
				bytes -= size
			}
			return v
		}
		_, err := r.Create(t.Context(), c, fill(storetest.MaxIndexed+1), engine.WriteOptions{})
		most := storetest.MaxIndexed
		if e := storetest.CheckError(t, err, engine.Invalid, "size"); strings.Contains(e.Message, "at most") {
			if _, err := fmt.Sscanf(e.Message[strings.Index(e.Message, "at most"):], "at most %d", &most); err != nil {
				t.Fatal(err)
			}
		}
		if most < 2000 || most > storetest.MaxIndexed {
			t.Errorf("%s takes %d bytes", c.Name, most)
		}
		if _, err := r.Create(t.Context(), c, fill(most), engine.WriteOptions{}); err != nil {
			t.Errorf("%s with %d columns and %d bytes: %v", c.Name, len(c.Properties)-1, most, err)
		}
		_, err = r.Create(t.Context(), c, fill(most+1), engine.WriteOptions{})
		storetest.CheckError(t, err, engine.Invalid, "size")
	}
}

// keyEntries checks that the limit of an id that consists of several properties applies to the sum of their lengths.
func keyEntries(t *testing.T, open storetest.Open) {
	c := &engine.Class{Name: "keys", Namespace: "test", Key: []string{"d", "s", "n"}, Properties: []*engine.Property{
		storetest.Prop("d", engine.DecimalNum), storetest.Prop("s", engine.String), storetest.Prop("n", engine.Int), storetest.Prop("title", engine.String)}}
	if err := c.Init(); err != nil {
		t.Fatal(err)
	}
	r := open(t, []*engine.Class{c})
	random := rand.New(rand.NewPCG(13, 3))
	digits := func(n int) engine.Decimal {
		b := []byte("1")
		for range n - 1 {
			b = append(b, byte('1'+random.IntN(9)))
		}
		return engine.Decimal(b)
	}
	it := storetest.Create(t, r, c, "d", digits(1300), "s", storetest.NoiseText(1300), "n", int64(math.MinInt64))
	storetest.CheckSame(t, "stored", storetest.Get(t, r, c, it.ID).Values, it.Values)
	_, err := r.Create(t.Context(), c, storetest.NewValues(c, "d", digits(2000), "s", storetest.NoiseText(601), "n", int64(1)), engine.WriteOptions{})
	tooLarge(t, "create", err, "s")
	_, err = r.Update(t.Context(), c, it.ID, storetest.NewValues(c, "d", digits(1301)), engine.WriteOptions{})
	storetest.CheckError(t, err, engine.Invalid, "size")
	storetest.Update(t, r, c, it.ID, "title", "still there")
}
