package write

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/store/storetest"
)

// randomTrees runs random writes and queries on random trees of classes, and compares the results with a model that
// has a map for each object. Descendant classes declare inherited attributes again, with random types, letter case,
// targets of references and uniqueness. The environment variable TREES is the number of trees.
func randomTrees(t *testing.T, open storetest.Open) {
	rounds, err := strconv.Atoi(os.Getenv("TREES"))
	if err != nil {
		rounds = 4
	}
	for seed := range rounds {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			g := &grove{T: t, Rand: rand.New(rand.NewPCG(uint64(seed), 15)), objects: map[string]*leaf{}}
			g.grow()
			g.Repository = open(t, append(slices.Clone(g.classes), g.targets...))
			g.settle()
			for step := 0; step < 120 && !t.Failed(); step++ {
				g.step()
			}
			g.compare()
		})
	}
}

// grove is a random tree of classes, a repository of these classes, and the model of the objects in the repository.
type grove struct {
	*testing.T
	*rand.Rand
	engine.Repository
	classes []*engine.Class
	objects map[string]*leaf
	created int
	targets []*engine.Class         // target classes of references: the key of the first is a text, the key of the second a number
	there   map[*engine.Class][]any // keys of the objects of targets
}

// leaf is the model of an object.
type leaf struct {
	class    *engine.Class
	values   map[string]any
	sequence int
}

var groveTypes = []engine.PropertyType{engine.String, engine.Text, engine.GUID, engine.Int, engine.DecimalNum, engine.Boolean, engine.Reference}

func (g *grove) grow() {
	g.targets = []*engine.Class{storetest.NewClass("spot", storetest.Prop("id", engine.String), storetest.Prop("name", engine.String)), storetest.NewClass("lot", storetest.Prop("no", engine.Int), storetest.Prop("name", engine.String))}
	g.there = map[*engine.Class][]any{}
	properties := func(own ...*engine.Property) []*engine.Property {
		for _, name := range []string{"x", "y", "z", "X"} {
			if g.IntN(2) > 0 {
				continue
			}
			p := storetest.Prop(name, groveTypes[g.IntN(len(groveTypes))])
			p.Indexed, p.Unique = g.IntN(3) == 0, p.Type != engine.Text && g.IntN(8) == 0
			if p.Type == engine.Reference {
				p.Target = g.targets[g.IntN(2)]
			}
			own = append(own, p)
		}
		return own
	}
	g.classes = []*engine.Class{storetest.NewClass("root", properties(storetest.Prop("id", engine.String))...)}
	for i := range 2 + g.IntN(5) {
		ancestor := g.classes[g.IntN(len(g.classes))]
		g.classes = append(g.classes, storetest.Extend(ancestor, fmt.Sprint("c", i), properties()...))
	}
	storetest.Link(append(slices.Clone(g.classes), g.targets...)...)
}

// settle creates objects to which references may point.
func (g *grove) settle() {
	for _, key := range []any{"1", "true"} {
		g.found(g.targets[0], key)
	}
	for _, key := range []any{int64(0), int64(1)} {
		g.found(g.targets[1], key)
	}
}

func (g *grove) found(c *engine.Class, key any) {
	storetest.Create(g.T, g, c, c.Key[0], key)
	g.there[c] = append(g.there[c], key)
}

// unique returns the columns with unique values. A column has unique values if an attribute in the column is unique in
// at least one class.
func (g *grove) unique() map[string]bool {
	all := map[string]bool{}
	for _, c := range g.classes {
		for _, p := range c.Properties {
			if p.Unique {
				all[column(p)] = true
			}
		}
	}
	return all
}

// column identifies the column of an attribute. Two attributes share a column if they have the same name and the same
// kind (see kindOf).
func column(p *engine.Property) string { return p.Name + " " + kindOf(p.ValueType()) }

// differ reports whether unique values still differ if the objects in changed replace the objects with the same ids.
func (g *grove) differ(changed map[string]*leaf) bool {
	unique, seen := g.unique(), map[string]bool{}
	count := func(o *leaf) bool {
		for _, p := range o.class.Properties {
			value := o.values[p.Name]
			if p.Name == "id" || value == nil || !unique[column(p)] {
				continue
			}
			key := fmt.Sprint(column(p), " ", value)
			if seen[key] {
				return false
			}
			seen[key] = true
		}
		return true
	}
	for id, o := range g.objects {
		if changed[id] == nil && !count(o) {
			return false
		}
	}
	for _, o := range changed {
		if !count(o) {
			return false
		}
	}
	return true
}

// above returns c or a random ancestor of c.
func (g *grove) above(c *engine.Class) *engine.Class {
	for c.Ancestor != nil && g.IntN(3) > 0 {
		c = c.Ancestor
	}
	return c
}

func (g *grove) value(p *engine.Property) any {
	if g.IntN(6) == 0 {
		return nil
	}
	n := g.IntN(4)
	switch p.ValueType() {
	case engine.Int:
		return int64(n)
	case engine.DecimalNum:
		return engine.Decimal([]string{"0", "1", "2.5", "-3"}[n])
	case engine.Boolean:
		return n > 1
	}
	return []string{"1", "true", "words", "2.5"}[n]
}

// given returns random values for some attributes of a class.
func (g *grove) given(c *engine.Class) engine.Values {
	v := engine.NewValues(c)
	for i, p := range c.Properties {
		if p.Name != "id" && g.IntN(2) == 0 {
			v[i] = g.value(p)
		}
	}
	return v
}

// asOwn returns the values that the object has after a write of v, where v has values of the ancestor class c. It
// returns false if a value does not fit the object's own class.
func (o *leaf) asOwn(c *engine.Class, v engine.Values) (map[string]any, bool) {
	after := map[string]any{}
	for name, value := range o.values {
		after[name] = value
	}
	for i, p := range c.Properties {
		if v[i] == engine.Absent || p.Name == "id" {
			continue
		}
		value, ok := castAgain(v[i], p.ValueType(), o.class.Property(p.Name).ValueType())
		if !ok {
			return nil, false
		}
		after[p.Name] = value
	}
	return after, true
}

// castAgain casts a value to another type.
func castAgain(v any, from, to engine.PropertyType) (any, bool) {
	if v == nil || kindOf(from) == kindOf(to) {
		return v, true
	}
	text := fmt.Sprint(v)
	switch kindOf(to) {
	case "int":
		n, err := strconv.ParseInt(text, 10, 64)
		return n, err == nil
	case "decimal":
		_, err := strconv.ParseFloat(text, 64)
		return engine.Decimal(text), err == nil
	case "boolean":
		return text == "true", text == "true" || text == "false"
	}
	return text, true
}

func kindOf(t engine.PropertyType) string {
	switch t {
	case engine.Int:
		return "int"
	case engine.DecimalNum:
		return "decimal"
	case engine.Boolean:
		return "boolean"
	}
	return "text"
}

func (g *grove) step() {
	switch g.IntN(12) {
	case 10:
		g.rekey()
	case 11:
		g.unsettle()
	case 0, 1, 2:
		g.write(true)
	case 3, 4, 5:
		g.write(false)
	case 6:
		g.writeAll()
	case 7:
		g.remove()
	default:
		g.query()
	}
}

// write saves a new or an existing object, as an object of its own class or as one of an ancestor.
func (g *grove) write(fresh bool) {
	c := g.classes[g.IntN(len(g.classes))]
	id := fmt.Sprint("o", g.created)
	o := &leaf{class: c, values: map[string]any{}, sequence: g.created}
	if !fresh && len(g.objects) > 0 {
		id = g.any()
		o = g.objects[id]
		c = g.above(o.class)
	} else {
		fresh = true
	}
	v := g.given(c)
	after, fits := o.asOwn(c, v)
	fits = fits && g.differ(map[string]*leaf{id: {class: o.class, values: after}})
	var it *engine.Item
	var err error
	if fresh || g.IntN(2) == 0 {
		var items []*engine.Item
		items, err = g.Save(g.Context(), []engine.Record{{Class: c, ID: id, Values: v}})
		if err == nil {
			it = items[0]
		}
	} else {
		it, err = g.Update(g.Context(), c, id, v, engine.WriteOptions{})
	}
	if fits != (err == nil) {
		g.Fatalf("writing %v to %s of %s through %s: got error %v, want one: %t", v, id, o.class.Name, c.Name, err, !fits)
	}
	if err != nil {
		return
	}
	if fresh {
		g.created++
	}
	o.values, g.objects[id] = after, o
	g.match(id, it)
}

func (g *grove) any() string {
	all := g.ids(func(*leaf) bool { return true })
	return all[g.IntN(len(all))]
}

// ids returns the ids of the objects for which pass returns true, in the order of their creation.
func (g *grove) ids(pass func(*leaf) bool) []string {
	found := []string{}
	for id, o := range g.objects {
		if pass(o) {
			found = append(found, id)
		}
	}
	slices.SortFunc(found, func(a, b string) int { return cmp.Compare(g.objects[a].sequence, g.objects[b].sequence) })
	return found
}

func (g *grove) match(id string, it *engine.Item) {
	o := g.objects[id]
	if it.Class != o.class {
		g.Errorf("%s: got class %s, want %s", id, it.Class.Name, o.class.Name)
	}
	for _, p := range o.class.Properties {
		if want := o.values[p.Name]; p.Name != "id" && it.Get(p.Name) != want {
			g.Errorf("%s of %s, %s: got %#v, want %#v", p.Name, id, it.Class.Name, it.Get(p.Name), want)
		}
	}
}

func (g *grove) writeAll() {
	c := g.classes[g.IntN(len(g.classes))]
	v := g.given(c)
	if !slices.ContainsFunc(v, func(value any) bool { return value != engine.Absent }) {
		return
	}
	after := map[string]*leaf{}
	fits := true
	for id, o := range g.objects {
		if below(o.class, c) {
			all, ok := o.asOwn(c, v)
			after[id], fits = &leaf{o.class, all, o.sequence}, fits && ok
		}
	}
	fits = fits && g.differ(after)
	n, err := g.UpdateAll(g.Context(), storetest.All(c), v)
	if fits != (err == nil) || fits && int(n) != len(after) {
		g.Fatalf("writing %v to all of %s: got %d, %v, want %d, an error: %t", v, c.Name, n, err, len(after), !fits)
	}
	if err == nil {
		for id, o := range after {
			g.objects[id] = o
		}
	}
}

// rekey changes the key of an object of a target class. The references to the object should change too, and all other
// values should stay.
func (g *grove) rekey() {
	c := g.targets[g.IntN(2)]
	if len(g.there[c]) == 0 {
		return
	}
	at := g.IntN(len(g.there[c]))
	old := g.there[c][at]
	key := g.value(c.Properties[0])
	if key == nil || key == old {
		return
	}
	after := map[string]*leaf{}
	for id, o := range g.objects {
		values := maps.Clone(o.values)
		for _, p := range o.class.Properties {
			if p.Type == engine.Reference && p.Target == c && values[p.Name] == old {
				values[p.Name] = key
				after[id] = &leaf{o.class, values, o.sequence}
			}
		}
	}
	fits := !slices.Contains(g.there[c], key) && g.differ(after)
	_, err := g.Update(g.Context(), c, fmt.Sprint(old), storetest.NewValues(c, c.Key[0], key), engine.WriteOptions{})
	if fits != (err == nil) {
		g.Fatalf("changing the key of %s %v to %v: got error %v, want one: %t", c.Name, old, key, err, !fits)
	}
	if err == nil {
		g.there[c] = slices.Replace(g.there[c], at, at+1, key)
		maps.Copy(g.objects, after)
	}
}

// unsettle deletes or creates an object of a target class. References that contain the key of the object should not
// change.
func (g *grove) unsettle() {
	c := g.targets[g.IntN(2)]
	key := g.value(c.Properties[0])
	if key == nil {
		return
	}
	if at := slices.Index(g.there[c], key); at >= 0 {
		if err := g.Delete(g.Context(), c, fmt.Sprint(key), nil); err != nil {
			g.Fatal(err)
		}
		g.there[c] = slices.Delete(g.there[c], at, at+1)
		return
	}
	g.found(c, key)
}

func (g *grove) remove() {
	if len(g.objects) == 0 {
		return
	}
	id := g.any()
	if err := g.Delete(g.Context(), g.above(g.objects[id].class), id, nil); err != nil {
		g.Fatal(err)
	}
	delete(g.objects, id)
}

func below(c, ancestor *engine.Class) bool {
	return c == ancestor || slices.Contains(ancestor.Descendants, c)
}

// seen returns the value that the object has for attribute p of an ancestor class. The value is null if the object's
// own class stores the attribute in another column.
func (o *leaf) seen(p *engine.Property) any {
	if kindOf(o.class.Property(p.Name).ValueType()) != kindOf(p.ValueType()) {
		return nil
	}
	return o.values[p.Name]
}

// query checks a random filter with a random order.
func (g *grove) query() {
	c := g.classes[g.IntN(len(g.classes))]
	if len(c.Properties) == 1 {
		return
	}
	p := c.Properties[1+g.IntN(len(c.Properties)-1)]
	q := storetest.All(c)
	pass := func(o *leaf) bool { return below(o.class, c) }
	want := g.ids(pass)
	what := "all"
	if v := g.value(p); v != nil {
		q.Filter = storetest.Compare(engine.OpEq, p, v)
		want = g.ids(func(o *leaf) bool { return pass(o) && o.seen(p) == v })
		what = fmt.Sprint(p.Name, " = ", v)
	} else {
		q.Sort = []engine.Sort{{Property: p}}
		slices.SortStableFunc(want, func(a, b string) int { return order(g.objects[a].seen(p), g.objects[b].seen(p)) })
		what = "sorted by " + p.Name
	}
	storetest.CheckSame(g.T, c.Name+" "+what, storetest.ListIDs(g.T, g, q), want)
	if n, err := g.Count(g.Context(), q); err != nil || int(n) != len(want) {
		g.Errorf("%s %s: counted %d, %v, want %d", c.Name, what, n, err, len(want))
	}
}

// order compares two values of the same type. Null is the lowest.
func order(a, b any) int {
	switch {
	case a == nil || b == nil:
		return boolToInt(a != nil) - boolToInt(b != nil)
	case a == b:
		return 0
	}
	switch a := a.(type) {
	case int64:
		return cmp.Compare(a, b.(int64))
	case bool:
		return boolToInt(a) - boolToInt(b.(bool))
	case engine.Decimal:
		x, _ := strconv.ParseFloat(string(a), 64)
		y, _ := strconv.ParseFloat(string(b.(engine.Decimal)), 64)
		return cmp.Compare(x, y)
	}
	return strings.Compare(a.(string), b.(string))
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// compare checks all objects, as objects of each class to which they belong.
func (g *grove) compare() {
	for _, c := range g.classes {
		want := g.ids(func(o *leaf) bool { return below(o.class, c) })
		storetest.CheckSame(g.T, "objects of "+c.Name, storetest.ListIDs(g.T, g, storetest.All(c)), want)
		for _, id := range want {
			g.match(id, storetest.Get(g.T, g, c, id))
		}
		for _, p := range c.Properties {
			if p.Type == engine.Reference {
				g.load(c, p)
			}
		}
	}
}

// load checks the objects that are loaded for reference p of class c. For objects of a descendant class that declares
// the attribute with another type, no object should be loaded.
func (g *grove) load(c *engine.Class, p *engine.Property) {
	q := storetest.All(c)
	q.Load = []*engine.Load{{Property: p, Shown: true}}
	for id, it := range storetest.ListLoaded(g.T, g, q) {
		own := it.Class.Property(p.Name)
		var got, want any
		if target := it.Link(own).Item; target != nil {
			got = target.Get(p.Target.Key[0])
		}
		if v := g.objects[id].values[p.Name]; own.Type == engine.Reference && own.Target == p.Target && slices.Contains(g.there[p.Target], v) {
			want = v
		}
		if got != want {
			g.Errorf("%s of %s, %s through %s leads to %v, want %v", p.Name, id, it.Class.Name, c.Name, got, want)
		}
	}
}
