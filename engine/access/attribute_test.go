package access

import (
	"bytes"

	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/formula"
	"restsrv/engine/query"
	"restsrv/engine/store/storetest"
	"restsrv/engine/wire"
)

// firm has classes of workers with many computed attributes.
type firm struct {
	team, worker, boss, task *engine.Class
}

func (f *firm) Classes() []*engine.Class { return []*engine.Class{f.boss, f.task, f.team, f.worker} }

func (f *firm) Class(name string) (*engine.Class, error) {
	for _, c := range f.Classes() {
		if c.FullName == name {
			return c, nil
		}
	}
	return nil, engine.NoClass(name)
}

// calculated compiles formulas for attributes of a class. The pairs are the name of an attribute
// and the source of its formula.
func calculated(t *testing.T, c *engine.Class, pairs ...string) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		c.Property(pairs[i]).Formula = compiled(t, c, pairs[i+1])
	}
}

func compiled(t *testing.T, c *engine.Class, source string) engine.Formula {
	t.Helper()
	v, err := wire.Decode([]byte(source))
	if err != nil {
		t.Fatal(err)
	}
	f, err := formula.Compile(c, v)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func text(name string) *engine.Property { return storetest.Prop(name, engine.String) }

// extend adds properties to a class. It can add references to classes that are built after c.
func extend(c *engine.Class, properties ...*engine.Property) {
	for i, p := range properties {
		p.OrderNumber, p.Definition = len(c.Properties)+i, c.FullName
	}
	c.Properties = append(c.Properties, properties...)
	if err := c.Init(); err != nil {
		panic(err)
	}
}

func newFirm(t *testing.T) *firm {
	f := &firm{}
	f.team = storetest.NewClass("team", text("id"), text("name"), text("motto"), text("plan"))
	f.team.Semantic = "name| |motto"
	f.task = storetest.NewClass("task", text("id"), text("what"), text("price"), text("rank"))
	f.task.Label = compiled(t, f.task, `{"concat":["$what","/","$price"]}`)
	f.worker = storetest.NewClass("worker", text("id"), text("name"), text("pay"), text("kind"), text("maker"), text("passport$number"), text("passport$place"),
		storetest.Ref("team", f.team), storetest.Ref("first", f.task),
		text("double"), text("greeting"), text("teamText"), text("itemText"), text("quiet"), text("mottos"), text("unknown"), text("prices"), text("kindText"))
	tasks := storetest.Prop("tasks", engine.Collection)
	tasks.Target = f.task
	extend(f.worker, tasks)
	extend(f.task, storetest.Ref("worker", f.worker))
	f.worker.CreatorTracker = "maker"
	f.worker.Semantic = "name| (|team|) |pay[0,2]| |kind"
	f.boss = storetest.Extend(f.worker, "boss", text("car"), text("carText"))
	f.boss.CreatorTracker, f.boss.Semantic = f.worker.CreatorTracker, f.worker.Semantic
	back := f.task.Property("worker")
	for _, c := range []*engine.Class{f.worker, f.boss} {
		c.Property("tasks").Back = back
		calculated(t, c, "double", `{"concat":["$pay","$pay"]}`, "greeting", `{"concat":["Hi ","$double"]}`, "teamText", `"$team@"`, "itemText", `{"upper":["$team"]}`,
			"kindText", `"$kind@"`, "quiet", `{"eq":["$team","x"]}`, "mottos", `{"concat":["$team.motto","!"]}`, "prices", `{"merge":["$tasks","price"]}`,
			"unknown", `{"count":[{"collect":["$tasks","$team"]},{"&eq":["$plan","p"]}]}`)
		c.Property("kind").Selection = &engine.Selection{Rows: []engine.SelectionRow{
			{Condition: compiled(t, c, `{"eq":["$name","ann"]}`), Values: []engine.SelectionValue{{Key: "k", Label: "Ann's kind"}}},
			{Values: []engine.SelectionValue{{Key: "k", Label: "Kind"}}}}}
	}
	calculated(t, f.boss, "carText", `{"concat":["a ","$car"]}`)
	storetest.Link(f.Classes()...)
	return f
}

// staff returns a boss with the loaded team and tasks, computed as the store does. Each task has
// the boss loaded as its worker. changed names an attribute, as class.name, that gets another
// value.
func (f *firm) staff(t *testing.T, changed string) *engine.Item {
	t.Helper()
	value := func(c *engine.Class, id string, pairs ...string) *engine.Item {
		it := newItem(c, id)
		for i := 0; i < len(pairs); i += 2 {
			it.Values[c.Property(pairs[i]).Index] = pairs[i+1]
			if changed == c.Name+"."+pairs[i] {
				it.Values[c.Property(pairs[i]).Index] = "changed"
			}
		}
		return it
	}
	team := value(f.team, "t", "name", "Team", "motto", "Go", "plan", "p")
	boss := value(f.boss, "b", "name", "ann", "pay", "1234", "kind", "k", "maker", "m", "passport$number", "77", "passport$place", "Oslo", "car", "Volvo")
	one, two := value(f.task, "1", "what", "dig", "price", "5", "rank", "2"), value(f.task, "2", "what", "fill", "price", "6", "rank", "1")
	refer(boss, "team", team)
	refer(boss, "first", one)
	boss.Links[f.boss.Property("tasks").Index] = engine.Link{Loaded: true, Shown: true, Items: []*engine.Item{one, two}}
	if changed == "task.worker" || changed == "boss.tasks" {
		boss.Links[f.boss.Property("tasks").Index].Items = []*engine.Item{one}
	}
	if changed == "boss.team" {
		refer(boss, "team", value(f.team, "t2", "name", "Other", "motto", "x", "plan", "q"))
	}
	if changed == "boss.first" {
		refer(boss, "first", two)
	}
	boss.Creator = boss.Get("maker").(string)
	for _, it := range []*engine.Item{team, one, two, boss} {
		if err := it.Compute(t.Context(), clock{}); err != nil {
			t.Fatal(err)
		}
	}
	refer(one, "worker", boss)
	refer(two, "worker", boss)
	if changed == "task.worker" {
		two.Values[f.task.Property("worker").Index] = "somebody"
		two.Links = nil
	}
	return boss
}

// clock is the data of the formulas. It has only the current time, which is always 0.
type clock struct{ engine.FormulaData }

func (clock) Now() engine.Instant { return 0 }

// answer returns everything that a response or a script could show of an item.
func answer(it *engine.Item) string {
	b := it.AppendJSON(nil)
	b = it.AppendRecord(append(b, '\n'))
	b = append(append(b, '\n'), it.String()+it.Creator+it.Label...)
	for _, p := range it.Class.Base().Properties {
		b = append(append(b, '\n'), p.Name+"="+it.Display(p)...)
	}
	return string(b)
}

func (f *firm) policy(revision uint64, granted ...string) *world {
	w := &world{}
	w.revision = revision
	return w.grant(granted...)
}

func (f *firm) gate(w *world, log *slog.Logger) *gate {
	return newGate(Config{Policy: w, Meta: f, Log: log})
}

var everyClass = []string{"ann", "c:::boss@test", "full", "ann", "c:::worker@test", "full", "ann", "c:::team@test", "full", "ann", "c:::task@test", "full"}

// TestNothingShowsWhatIsHidden hides each attribute in turn and changes its
// value. The answers of the account must stay the same, byte by byte.
func TestNothingShowsWhatIsHidden(t *testing.T) {
	f := newFirm(t)
	plain := answer(f.staff(t, ""))
	for _, changed := range []string{"boss.name", "boss.pay", "boss.kind", "boss.maker", "boss.passport$number", "boss.car", "boss.team", "boss.first", "boss.tasks",
		"team.name", "team.motto", "team.plan", "task.what", "task.price", "task.rank", "task.worker"} {
		if answer(f.staff(t, changed)) == plain {
			t.Errorf("%s: nobody would see the change", changed)
		}
		class, name, _ := strings.Cut(changed, ".")
		resources := []string{"a:::" + class + "@test." + name}
		if class == "boss" && name != "car" { // hide it also by the name of the class that declares it
			resources = append(resources, "a:::worker@test."+name)
		}
		for _, resource := range resources {
			w := f.policy(1, append(slices.Clone(everyClass), "bob", resource, "read", "bob", "*", "read")...)
			p := f.gate(w, nil).cachedProfile(w.grants, account("ann"))
			before, after := answer(p.redactItem(f.staff(t, ""))), answer(p.redactItem(f.staff(t, changed)))
			if before != after {
				t.Errorf("%s protected: one sees that %s changed:\n%s\n%s", resource, changed, before, after)
			}
			if !strings.Contains(before, "Oslo") && name != "passport$place" {
				t.Errorf("%s protected: another attribute is gone: %s", resource, before)
			}
			reader := f.gate(w, nil).cachedProfile(w.grants, account("ann", "bob"))
			if got := answer(reader.redactItem(f.staff(t, ""))); got != plain {
				t.Errorf("%s: who may read it sees\n%s\ninstead of\n%s", resource, got, plain)
			}
		}
	}
}

// hidden returns the attributes of all classes that the gate hides from ann.
func (f *firm) hidden(t *testing.T, may engine.Permission, granted ...string) string {
	t.Helper()
	w := f.policy(1, append(slices.Clone(everyClass), granted...)...)
	p := f.gate(w, nil).cachedProfile(w.grants, account("ann"))
	var names []string
	for _, c := range f.Classes() {
		for _, property := range c.Properties {
			hides := p.Hides(may, property)
			if may == engine.MayRead && hides != p.views.Of(c).Hides(property) {
				t.Errorf("guard and view differ on %s of %s", property.Name, c.Name)
			}
			if hides {
				names = append(names, c.Name+"."+property.Name)
			}
		}
	}
	return strings.Join(names, " ")
}

// TestHidesWhatIsMadeOfIt checks that hiding an attribute also hides all attributes that are
// computed from it, directly or not. If the attribute is a link, the other side is hidden too.
func TestHidesWhatIsMadeOfIt(t *testing.T) {
	f := newFirm(t)
	for _, x := range []struct{ resource, want string }{
		{"a:::boss@test.car", "boss.car boss.carText"},
		{"a:::worker@test.pay", "boss.pay boss.double boss.greeting worker.pay worker.double worker.greeting"},
		{"a:::boss@test.passport", "boss.passport$number boss.passport$place worker.passport$number worker.passport$place"},
		{"a:::worker@test.passport.place", "boss.passport$place worker.passport$place"},
		{"a:::task@test.worker", "boss.unknown boss.prices boss.tasks task.worker worker.unknown worker.prices worker.tasks"},
		// A formula that collects items could show their display strings, which contain the
		// motto.
		{"a:::team@test.motto", "boss.teamText boss.itemText boss.mottos boss.unknown team.motto worker.teamText worker.itemText worker.mottos worker.unknown"},
		{"a:::team@test.plan", "boss.unknown team.plan worker.unknown"},
		{"a:::team@test.id", ""}, // a key
		{"a:::team@test.nothing", ""},
		{"a:::nothing@test.pay", ""},
		{"a:::pay", ""},
	} {
		if got := f.hidden(t, engine.MayRead, "bob", x.resource, "read"); got != x.want {
			t.Errorf("%s hides\n%s, expected\n%s", x.resource, got, x.want)
		}
	}
	if got := f.hidden(t, engine.MayWrite, "ann", "a:::task@test.worker", "read"); got != "boss.tasks task.worker worker.tasks" {
		t.Errorf("not to write are %s", got)
	}
	if got := f.hidden(t, engine.MayRead, engine.Everyone, "a:::worker@test.pay", "full"); !strings.Contains(got, "worker.pay") {
		t.Error("what everyone is granted does not count for data")
	}
	if got := f.hidden(t, engine.MayRead|engine.MayWrite, "ann", "a:::worker@test.pay", "full"); got != "" {
		t.Errorf("hidden from who has it in full: %s", got)
	}
	if got := f.hidden(t, engine.MayRead, "bob", "a:::worker@test.pay", "read", "ann", "*", "read"); got != "" {
		t.Errorf("hidden from who reads everything: %s", got)
	}
}

// TestHidesLabels checks a computed display string that is an item: it is hidden if the display
// string of that item contains a hidden attribute.
func TestHidesLabels(t *testing.T) {
	f := newFirm(t)
	f.worker.Label = compiled(t, f.worker, `"$team"`)
	district := storetest.Extend(f.team, "district", text("area"))
	district.Semantic = "area"
	storetest.Link(district)
	w := f.policy(1, append(slices.Clone(everyClass), "bob", "a:::district@test.area", "read")...)
	p := newGate(Config{Policy: w, Meta: &meta{f, district}}).cachedProfile(w.grants, account("ann"))
	it := newItem(f.worker, "w")
	it.Label = "computed of a district"
	if got := p.redactItem(it).String(); strings.Contains(got, "district") {
		t.Errorf("the display string is %q", got)
	}
	w.grant(append(slices.Clone(everyClass), "bob", "a:::task@test.rank", "read")...)
	p = newGate(Config{Policy: w, Meta: &meta{f, district}}).cachedProfile(w.grants, account("ann"))
	if got := p.redactItem(it).String(); got != it.Label {
		t.Errorf("the display string is %q", got)
	}
}

// meta is a firm with one more class.
type meta struct {
	*firm
	more *engine.Class
}

func (m *meta) Classes() []*engine.Class { return append(m.firm.Classes(), m.more) }

func (m *meta) Class(name string) (*engine.Class, error) {
	if name == m.more.FullName {
		return m.more, nil
	}
	return m.firm.Class(name)
}

// TestDeclaredProtects checks that declaring an attribute resource, without granting it, protects
// the attribute.
func TestDeclaredProtects(t *testing.T) {
	f := newFirm(t)
	w := &world{grants: engine.NewGrants(1, []engine.Grant{{Subject: "ann", Resource: "c:::worker@test", Permission: engine.MayAll}}, []string{"a:::worker@test.pay"})}
	if !f.gate(w, nil).cachedProfile(w.grants, account("ann")).Hides(engine.MayRead, f.boss.Property("pay")) {
		t.Error("it is not hidden")
	}
}

// TestWarnsOfKeys checks that a warning is logged if a grant names an attribute that cannot be
// protected, once for each set of grants.
func TestWarnsOfKeys(t *testing.T) {
	f := newFirm(t)
	var log bytes.Buffer
	w := f.policy(1, "bob", "a:::boss@test.id", "read", "bob", "a:::boss@test.nmae", "read", "bob", "a:::boss@test.name", "read")
	g := f.gate(w, slog.New(slog.NewTextHandler(&log, nil)))
	for i := range 3 {
		g.cachedProfile(w.grants, account(fmt.Sprint(i)))
	}
	if got := log.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, "a:::boss@test.id") || !strings.Contains(got, "a:::boss@test.nmae") {
		t.Errorf("the log is\n%s", got)
	}
	w.grant("bob", "a:::boss@test.id", "read")
	g.cachedProfile(w.grants, account("x"))
	if got := log.String(); strings.Count(got, "\n") != 3 {
		t.Errorf("the log is\n%s", got)
	}
}

// TestHidesCollectionsByConditions checks that a collection is hidden if its members or their
// order depend on hidden attributes.
func TestHidesCollectionsByConditions(t *testing.T) {
	f := newFirm(t)
	set := func(change func(*engine.Property)) {
		for _, c := range []*engine.Class{f.worker, f.boss} {
			change(c.Property("tasks"))
		}
	}
	rank := f.task.Property("rank")
	if got := f.hidden(t, engine.MayRead, "bob", "a:::task@test.rank", "read"); got != "task.rank" {
		t.Errorf("hidden is %s", got)
	}
	set(func(p *engine.Property) { p.Sorting = []engine.Sort{{Property: rank}} })
	if got := f.hidden(t, engine.MayRead, "bob", "a:::task@test.rank", "read"); !strings.Contains(got, "worker.tasks") {
		t.Errorf("sorted by it: hidden is %s", got)
	}
	condition, err := query.Equal(rank, "1")
	if err != nil {
		t.Fatal(err)
	}
	set(func(p *engine.Property) { p.Sorting, p.Conditions = nil, condition })
	if got := f.hidden(t, engine.MayRead, "bob", "a:::task@test.rank", "read"); !strings.Contains(got, "boss.tasks") {
		t.Errorf("those with it: hidden is %s", got)
	}
	set(func(p *engine.Property) { p.Conditions, p.Binding = nil, f.worker.Property("name") })
	if got := f.hidden(t, engine.MayRead, "bob", "a:::worker@test.name", "read"); !strings.Contains(got, "boss.tasks") {
		t.Errorf("bound to it: hidden is %s", got)
	}
}

// TestRedactionCopies checks that redaction leaves the items of the store unchanged, copies each
// item once, and does not copy an item without hidden values.
func TestRedactionCopies(t *testing.T) {
	f := newFirm(t)
	w := f.policy(1, append(slices.Clone(everyClass), "bob", "a:::worker@test.pay", "read")...)
	boss := f.staff(t, "")
	before := answer(boss)
	p := f.gate(w, nil).cachedProfile(w.grants, account("ann"))
	shown := p.redactItem(boss)
	if answer(boss) != before || shown == boss || boss.Class != f.boss {
		t.Error("the item of the store was changed")
	}
	tasks := shown.Link(f.boss.Property("tasks")).Items
	if tasks[0].Link(f.task.Property("worker")).Item != shown || shown.Link(f.boss.Property("first")).Item != tasks[0] {
		t.Error("an item became several")
	}
	if shown.Class.Property("pay") != nil || tasks[0].Class.Base() != f.task || tasks[0].Class.TargetOf(f.task.Property("worker")).Property("pay") != nil {
		t.Error("the items are not of views")
	}
	free := f.policy(1, everyClass...)
	if p := f.gate(free, nil).cachedProfile(free.grants, account("ann")); p.redactItem(boss) != boss || p.redactItem(nil) != nil {
		t.Error("an item without secrets was copied")
	}
	system := newItem(storetest.NewClass("#replay", text("id")), "1")
	if it := p.redactItem(system); answer(it) != answer(system) {
		t.Errorf("an item of the server was redacted: %s", answer(it))
	}
}
