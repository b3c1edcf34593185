package consistency

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"restsrv/cmd/restsrv/oracle"
	"restsrv/engine"
)

// oracleRandom generates the requests of a sequence. Ids come from small sets (oraclePools), so
// that many requests use the same objects, and an id is used again after its object was deleted.
type oracleRandom struct {
	*rand.Rand
	world   *oracle.World
	classes []*engine.Class
	depth   int              // depth of nested objects
	renamed bool             // the request already contains a change of a key
	numbers map[string]bool  // by class: true if the server generates the numbers in this request, false if the request contains them
	named   []*oracle.Object // objects that the request contains so far
}

func newOracleRandom(seed uint64, classes []*engine.Class) *oracleRandom {
	return &oracleRandom{Rand: rand.New(rand.NewPCG(seed, 14)), classes: classes}
}

func (g *oracleRandom) chance(percent int) bool { return g.IntN(100) < percent }

func oneOf[T any](g *oracleRandom, all ...T) T { return all[g.IntN(len(all))] }

// request generates the next request for the current state of the model.
func (g *oracleRandom) request(w *oracle.World) oracle.Request {
	g.world, g.depth, g.renamed, g.numbers, g.named = w, 0, false, map[string]bool{}, nil
	c := oneOf(g, g.classes...)
	r := oracle.Request{Service: "crud", Class: c.FullName, Strict: g.chance(8)}
	if c.Name == "bill" && g.chance(40) {
		return g.move(c)
	}
	if len(w.Objects(c.Root())) > 12 && g.chance(60) {
		r.Method, r.ID = "DELETE", g.id(c)
		return r
	}
	switch n := g.IntN(100); {
	case n < 22:
		r.Method, r.Eager = "POST", g.eager(c, 30)
		r.Body = append(g.keyed(c), g.fields(c, true)...)
	case n < 52:
		r.Method, r.ID, r.Eager = oneOf(g, "PATCH", "PUT"), g.id(c), g.eager(c, 30)
		body := g.fields(c, false)
		if g.chance(20) {
			body = append(g.newKey(c), body...)
			if g.chance(50) {
				body = g.withItself(c, r.ID, body)
			}
		}
		r.Body = body
	case n < 58:
		r.Method, r.ID = "DELETE", g.id(c)
	case n < 66:
		r.Method, r.ID, r.Eager = "GET", g.id(c), g.eager(c, 70)
	case n < 70:
		r.Method, r.Eager = "GET", g.eager(c, 90)
	default:
		r.Service, r.Method, r.Class = "acceptor", "POST", ""
		records := []any{}
		for range 1 + g.IntN(4) {
			records = append(records, g.record())
		}
		r.Body = records
		r.Strict = r.Strict || g.renamed && g.chance(25)
	}
	return r
}

// move generates a request for the service workflows.
func (g *oracleRandom) move(c *engine.Class) oracle.Request {
	r := oracle.Request{Service: "workflows", Method: oneOf(g, "GET", "PUT", "PUT", "PUT", "PATCH"), Class: c.FullName, ID: g.id(c)}
	moves := []any{}
	for range 1 + g.IntN(2) {
		switch {
		case r.Method == "PUT":
			moves = append(moves, "pay@m."+oneOf(g, "send", "send", "close", "void", "reopen", "nothing"))
		case r.Method == "PATCH":
			moves = append(moves, oneOf(g, "pay@m.new", "pay@m.sent", "pay@m.done", "pay@m.nowhere", "other@m.new"))
		}
	}
	if r.Method != "GET" {
		r.Body = moves
	}
	return r
}

// eager picks attributes to load.
func (g *oracleRandom) eager(c *engine.Class, percent int) string {
	var paths []string
	for g.chance(percent) && len(paths) < 3 {
		at, path := c, []string{}
		for at != nil && len(path) < 3 {
			var links []*engine.Property
			for _, p := range at.Properties {
				if p.Target != nil {
					links = append(links, p)
				}
			}
			if len(links) == 0 || len(path) > 0 && g.chance(50) {
				break
			}
			p := oneOf(g, links...)
			path, at = append(path, p.Name), p.Target
		}
		if len(path) > 0 {
			paths = append(paths, strings.Join(path, "."))
		}
	}
	return strings.Join(paths, "|")
}

// oraclePools are the ids of new objects by their root class.
var oraclePools = map[string][]string{
	"region": {"r1", "r2", "r3"},
	"town":   {"t1", "t2", "t3", "t4", "t5"},
	"person": {"p1", "p2", "p3", "p4", "p5", "p6", "p7"},
	"seat":   {"a_1", "b_1", "c_1_d", "c_1_e"},
	"bill":   {"1", "2", "3", "4", "5"},
	"stamp":  {"s1", "s2", "s3", "s4", "s5"},
}

// id picks the id of an object of a class or of a descendant. Sometimes it picks an id of another
// class in the tree, or an id that does not exist.
func (g *oracleRandom) id(c *engine.Class) string {
	if g.chance(6) {
		return g.fresh(c)
	}
	from := c
	if g.chance(7) {
		from = c.Root()
	}
	if all := g.world.Objects(from); len(all) > 0 {
		return g.name(oneOf(g, all...))
	}
	return g.fresh(c)
}

// name returns the id of an object and records that the request contains it.
func (g *oracleRandom) name(o *oracle.Object) string {
	g.named = append(g.named, o)
	return o.ID()
}

// fresh picks an id that may be unused.
func (g *oracleRandom) fresh(c *engine.Class) string {
	switch name := c.Root().Name; {
	case oraclePools[name] != nil:
		return oneOf(g, oraclePools[name]...)
	case name == "stay":
		return g.id(c.Property("guest").Target) + "_" + fmt.Sprint(1+g.IntN(3))
	default: // badge
		return g.id(c.Property("owner").Target)
	}
}

// key returns the key attributes for an id that may be unused.
func (g *oracleRandom) key(c *engine.Class) (key oracle.Fields) {
	id := g.fresh(c)
	if c.Root().Name == "bill" && g.chance(3) {
		id = strconv.FormatInt(math.MaxInt64, 10)
	}
	switch c.Root().Name {
	case "seat":
		switch g.IntN(4) { // different parts, and the same id
		case 0:
			return oracle.JSON("row", "c", "place", oneOf(g, "1_d", "1_e"))
		case 1:
			return oracle.JSON("row", "c_1", "place", oneOf(g, "d", "e"))
		}
		return oracle.JSON("row", oneOf(g, "a", "b", "c"), "place", oneOf(g, "1", "1_d"))
	case "stay":
		guest, day, _ := strings.Cut(id, "_")
		return oracle.JSON("guest", guest, "day", oneOf[any](g, day, int64(day[0]-'0')))
	case "bill":
		no, _ := strconv.ParseInt(id, 10, 64)
		return oracle.JSON("no", oneOf[any](g, no, id))
	}
	return oracle.JSON(c.Key[0], id)
}

// newKey returns key attributes that are unused in most cases.
func (g *oracleRandom) newKey(c *engine.Class) oracle.Fields {
	key := g.key(c)
	for tries := 0; tries < 3 && g.taken(c, key); tries++ {
		key = g.key(c)
	}
	return key
}

func (g *oracleRandom) taken(c *engine.Class, key oracle.Fields) bool {
	var parts []string
	for _, f := range key {
		parts = append(parts, fmt.Sprint(f.Value))
	}
	return g.world.Object(c.Root(), strings.Join(parts, engine.IDSeparator)) != nil
}

// keyed returns key attributes for a new object. The result is empty if the server generates the
// key.
func (g *oracleRandom) keyed(c *engine.Class) oracle.Fields {
	name := c.Root().Name
	generated := c.KeyProperties()[0].Autoassigned && g.chance(40)
	if name == "bill" { // in one request, either all numbers are given or all are generated
		if numbers, known := g.numbers[name]; known {
			generated = numbers
		}
		g.numbers[name] = generated
	}
	if generated {
		return nil
	}
	return g.key(c)
}

// record generates a record for the acceptor. It identifies a new or existing object by _id, by
// its key attributes, or by both, which can contradict each other. Often it is an object that an
// earlier record of the request contains.
func (g *oracleRandom) record() oracle.Fields {
	if len(g.named) > 0 && g.chance(40) {
		o := oneOf(g, g.named...)
		r := oracle.JSON("_class", o.Class.FullName, "_id", o.ID())
		return append(r, g.fields(o.Class, false)...)
	}
	c := oneOf(g, g.classes...)
	r := oracle.JSON("_class", c.FullName)
	if g.chance(20) {
		r = append(r, oracle.JSON("_classVer", oneOf[any](g, nil, "", "1.2"))...)
	}
	exists := g.chance(60)
	switch {
	case exists && g.chance(75):
		r = append(r, oracle.JSON("_id", g.id(c))...)
		if g.chance(12) && !g.renamed {
			g.renamed = true
			r = append(r, g.key(c)...)
		}
	case !exists && g.chance(20):
		r = append(r, oracle.JSON("_id", g.fresh(c))...)
	default:
		r = append(r, g.keyed(c)...)
	}
	return append(r, g.fields(c, !exists)...)
}

// fields generates values for some attributes. A new object gets values for the required ones.
func (g *oracleRandom) fields(c *engine.Class, insert bool) (fields oracle.Fields) {
	for _, p := range c.Properties {
		required := insert && !p.Nullable && p.Default == nil && g.chance(96)
		if !slices.Contains(c.Key, p.Name) && (required || g.chance(28)) {
			fields = append(fields, oracle.JSON(p.Name, g.value(p))...)
		}
	}
	if g.chance(3) {
		fields = append(fields, oracle.JSON(oneOf(g, "unknown", "_editor", "grade_str"), "x")...)
	}
	g.Shuffle(len(fields), func(i, k int) { fields[i], fields[k] = fields[k], fields[i] })
	return fields
}

// value generates a value of an attribute. A few values are invalid.
func (g *oracleRandom) value(p *engine.Property) any {
	if g.chance(8) && (p.Nullable || g.chance(20)) {
		return nil
	}
	odd := g.chance(2)
	switch p.Type {
	case engine.Int:
		if odd {
			return oneOf[any](g, "12a", 3.5, true)
		}
		return oneOf[any](g, int64(g.IntN(100)), "12", 3.0, int64(-1))
	case engine.Real:
		if odd {
			return oneOf[any](g, "x", false)
		}
		return oneOf[any](g, float64(g.IntN(100))/4, int64(g.IntN(9)), "2.5", -0.125)
	case engine.Boolean:
		if odd {
			return oneOf[any](g, "yes", int64(1))
		}
		return oneOf[any](g, true, false, "true", "false")
	case engine.DateTime:
		return fmt.Sprintf("20%02d-0%d-1%d", g.IntN(30), 1+g.IntN(9), g.IntN(9)) + oneOf(g, "", "T01:02:03.004Z")
	case engine.Reference:
		return g.target(p)
	case engine.Collection:
		return g.change(p)
	case engine.File:
		return oracle.JSON("name", oneOf(g, "a.txt", "ж.bin"), "mimeType", "text/plain", "body", oneOf(g, "aGVsbG8=", "d29ybGQ="))
	}
	if odd {
		return []any{int64(1)}
	}
	if p.Selection != nil {
		return oneOf(g, "a", "b", "c")
	}
	if p.Unique {
		return fmt.Sprint("u", g.IntN(40))
	}
	return oneOf[any](g, "ab", "Öl & <x>", "", int64(7), "a long text with \"quotes\"", "line\nline")
}

// target generates a value of a reference: an id or a nested object.
func (g *oracleRandom) target(p *engine.Property) any {
	if g.depth < 2 && g.chance(18) {
		return g.nested(p)
	}
	if g.chance(3) {
		return g.fresh(p.Target)
	}
	if g.chance(15) { // an object that an earlier record contains, perhaps with a new id
		for _, o := range g.named {
			if inTree(o.Class, p.Target) {
				return o.ID()
			}
		}
	}
	return g.id(p.Target)
}

// nested generates a nested object.
func (g *oracleRandom) nested(p *engine.Property) oracle.Fields {
	g.depth++
	defer func() { g.depth-- }()
	c := p.Target
	if g.chance(25) && len(c.Descendants) > 0 {
		c = oneOf(g, c.Descendants...)
	}
	var fields oracle.Fields
	if c != p.Target {
		fields = append(fields, oracle.JSON("_class", c.FullName)...)
	}
	if g.chance(50) {
		fields = append(fields, oracle.JSON("_id", g.id(c))...)
		fields = append(fields, g.fields(c, false)...)
	} else {
		fields = append(append(fields, g.keyed(c)...), g.fields(c, true)...)
	}
	return fields
}

// change generates a value of a collection.
func (g *oracleRandom) change(p *engine.Property) any {
	members := func() []any {
		list := []any{}
		for range g.IntN(4) {
			switch {
			case g.depth < 2 && g.chance(20) && (p.Back == nil || !slices.Contains(p.Target.Key, p.Back.Name)):
				list = append(list, g.nested(p))
			case p.Back == nil && g.chance(5):
				list = append(list, g.fresh(p.Target))
			default:
				if all := g.world.Objects(p.Target); len(all) > 0 {
					list = append(list, g.name(oneOf(g, all...)))
				}
			}
		}
		return list
	}
	if g.chance(50) {
		return members()
	}
	leaving := []any{}
	for range g.IntN(3) {
		leaving = append(leaving, g.id(p.Target))
	}
	return oracle.JSON("add", members(), "remove", leaving)
}

// withItself adds an object to its own collection. The id in the collection is the id before the
// request.
func (g *oracleRandom) withItself(c *engine.Class, id string, body oracle.Fields) oracle.Fields {
	var own []*engine.Property
	for _, p := range c.Properties {
		if p.Type == engine.Collection && inTree(c, p.Target) {
			own = append(own, p)
		}
	}
	if len(own) == 0 {
		return body
	}
	p := oneOf(g, own...)
	body = slices.DeleteFunc(body, func(f oracle.Field) bool { return f.Name == p.Name })
	return append(body, oracle.JSON(p.Name, oneOf[any](g, []any{id}, oracle.JSON("add", []any{id})))...)
}

// inTree reports whether c is the class above or a descendant of it.
func inTree(c, above *engine.Class) bool {
	return c == above || slices.Contains(above.Descendants, c)
}
