package write

import (
	"slices"
	"testing"

	"restsrv/engine"
	"restsrv/engine/store/storetest"
)

var stageTests = []storetest.Test{
	{Name: "rows follow items", Run: stageItems},
	{Name: "rows follow keys that are references", Run: stageKeys},
	{Name: "a condition on stages", Run: stageCondition},
	{Name: "a condition, whatever the key", Run: stageOfKeys},
}

// newStages returns the class that records the workflow stages of items.
func newStages(t *testing.T) *engine.Class {
	c := &engine.Class{Name: "#stage", Key: []string{"id"}, Properties: []*engine.Property{
		storetest.Prop("id", engine.String, storetest.Required), storetest.Prop("class", engine.String), storetest.Prop("item", engine.String), storetest.Prop("workflow", engine.String), storetest.Prop("stage", engine.String)}}
	if err := c.Init(); err != nil {
		t.Fatal(err)
	}
	return c
}

// reachStage records that an item has reached a stage of the workflow w.
func reachStage(t *testing.T, r engine.Repository, stages, c *engine.Class, id, stage string) {
	t.Helper()
	storetest.Create(t, r, stages, "id", c.Root().FullName+"\t"+id+"\tw", "class", c.FullName, "item", id, "workflow", "w", "stage", stage)
}

// stagesOf returns the ids of the recorded stages, sorted.
func stagesOf(t *testing.T, r engine.Repository, stages *engine.Class) []string {
	t.Helper()
	found := storetest.ListIDs(t, r, storetest.All(stages))
	slices.Sort(found)
	return found
}

func stageItems(t *testing.T, open storetest.Open) {
	stages := newStages(t)
	doc, other := storetest.NewClass("doc", storetest.Prop("id", engine.Int), storetest.Prop("title", engine.String)), storetest.NewClass("other", storetest.Prop("id", engine.Int))
	memo := storetest.Extend(doc, "memo")
	memo.Staged = true // only this class has the workflow, but it shares its table with the other classes
	r := open(t, []*engine.Class{stages, doc, memo, other})
	for id := range int64(5) {
		storetest.Create(t, r, memo, "id", id)
	}
	storetest.Create(t, r, other, "id", int64(1))
	for _, id := range []string{"0", "1", "2", "3"} {
		reachStage(t, r, stages, memo, id, "new")
	}
	reachStage(t, r, stages, other, "1", "new")
	storetest.Update(t, r, doc, "1", "title", "x")
	storetest.CheckSame(t, "made", stagesOf(t, r, stages), []string{"doc@test\t0\tw", "doc@test\t1\tw", "doc@test\t2\tw", "doc@test\t3\tw", "other@test\t1\tw"})
	storetest.Update(t, r, doc, "1", "id", int64(7))
	storetest.CheckSame(t, "another key", stagesOf(t, r, stages), []string{"doc@test\t0\tw", "doc@test\t2\tw", "doc@test\t3\tw", "doc@test\t7\tw", "other@test\t1\tw"})
	moved := storetest.Get(t, r, stages, "doc@test\t7\tw")
	storetest.CheckSame(t, "of the item", []any{moved.Get("item"), moved.Get("stage")}, []any{"7", "new"})
	storetest.Save(t, r, storetest.NewRecord(memo, "4", "id", int64(9)))
	if err := r.Delete(t.Context(), doc, "7", nil); err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "deleted", stagesOf(t, r, stages), []string{"doc@test\t0\tw", "doc@test\t2\tw", "doc@test\t3\tw", "other@test\t1\tw"})
	some := storetest.All(doc)
	some.Filter = &engine.Filter{Op: engine.OpGt, Left: engine.Attribute(doc.Property("id")), Right: engine.Constant(engine.Int, int64(1))}
	if _, err := r.DeleteAll(t.Context(), some); err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "all deleted", stagesOf(t, r, stages), []string{"doc@test\t0\tw", "other@test\t1\tw"})
}

func stageKeys(t *testing.T, open storetest.Open) {
	stages, master := newStages(t), storetest.NewClass("master", storetest.Prop("id", engine.String))
	detail := storetest.NewClass("detail", storetest.Ref("master", master), storetest.Prop("no", engine.Int))
	detail.Key = []string{"master", "no"}
	if err := detail.Init(); err != nil {
		t.Fatal(err)
	}
	detail.Staged = true
	r := open(t, []*engine.Class{stages, master, detail})
	storetest.Create(t, r, master, "id", "m")
	storetest.Create(t, r, detail, "master", "m", "no", int64(1))
	reachStage(t, r, stages, detail, "m_1", "new")
	reachStage(t, r, stages, detail, "x_1", "old") // left behind by an item that was deleted before its class had a workflow
	storetest.Update(t, r, master, "m", "id", "x")
	storetest.CheckSame(t, "followed", stagesOf(t, r, stages), []string{"detail@test\tx_1\tw"})
	storetest.CheckSame(t, "its own", storetest.Get(t, r, stages, "detail@test\tx_1\tw").Get("stage"), "new")
}

func stageCondition(t *testing.T, open storetest.Open) {
	stages, doc := newStages(t), storetest.NewClass("doc", storetest.Prop("id", engine.String))
	memo := storetest.Extend(doc, "memo")
	doc.Staged = true
	r := open(t, []*engine.Class{stages, doc, memo})
	for _, id := range []string{"a", "b", "c", "d"} {
		storetest.Create(t, r, []*engine.Class{doc, memo}[len(id)-1], "id", id)
	}
	storetest.Create(t, r, memo, "id", "e")
	reachStage(t, r, stages, doc, "a", "new")
	reachStage(t, r, stages, doc, "b", "done")
	reachStage(t, r, stages, memo, "e", "done")
	storetest.Create(t, r, stages, "id", "doc@test\tc\tv", "class", "doc@test", "item", "c", "workflow", "v", "stage", "done")
	reached := func(names ...any) *engine.Filter {
		return &engine.Filter{Op: engine.OpReached, Pattern: "w", List: names}
	}
	for _, c := range []struct {
		filter *engine.Filter
		want   []string
	}{
		{reached("done"), []string{"b", "e"}},
		{reached("new", "done"), []string{"a", "b", "e"}},
		{reached("nosuch"), []string{}},
		{engine.Not(reached("done")), []string{"a", "c", "d"}},
		{engine.Either(reached("new"), &engine.Filter{Op: engine.OpEq, Left: engine.Attribute(doc.Property("id")), Right: engine.Constant(engine.String, "c")}), []string{"a", "c"}},
	} {
		q := storetest.All(doc)
		q.Filter = c.filter
		storetest.CheckSame(t, "found", storetest.ListIDs(t, r, q), c.want)
		n, err := r.Count(t.Context(), q)
		storetest.CheckSame(t, "counted", []any{n, err}, []any{int64(len(c.want)), error(nil)})
	}
	var told []any
	a := &engine.Aggregation{Class: doc, Count: -1, Columns: []engine.Column{{Name: "is", Expr: &engine.Expr{Op: engine.OpCase, Type: engine.Int,
		Conds: []*engine.Filter{reached("done")}, Args: []*engine.Expr{engine.Constant(engine.Int, int64(1)), engine.Constant(engine.Int, int64(0))}}}}}
	if err := r.Aggregate(t.Context(), a, func(row []any) error { told = append(told, row[0]); return nil }); err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "as a value", told, []any{int64(0), int64(1), int64(0), int64(0), int64(1)})
}

// stageOfKeys finds the stages of items with keys of many types. The row of a stage is found by the text of the item's
// id.
func stageOfKeys(t *testing.T, open storetest.Open) {
	moment, _ := engine.ParseInstant("2020-02-03T04:05:06.007Z")
	for _, key := range []struct {
		typ   engine.PropertyType
		value any
	}{
		{engine.Int, int64(-12)}, {engine.DecimalNum, engine.Decimal("0.5")}, {engine.DateTime, moment}, {engine.String, "a\tb'ü"}, {engine.GUID, "x"},
		{engine.Boolean, true}, {engine.Boolean, false}, {engine.Real, 1.5},
	} {
		stages, c := newStages(t), storetest.NewClass("c", storetest.Prop("id", key.typ))
		c.Staged = true
		r := open(t, []*engine.Class{stages, c})
		it := storetest.Create(t, r, c, "id", key.value)
		reachStage(t, r, stages, c, it.ID, "new")
		q := storetest.All(c)
		q.Filter = &engine.Filter{Op: engine.OpReached, Pattern: "w", List: []any{"new"}}
		storetest.CheckSame(t, "key "+it.ID, storetest.ListIDs(t, r, q), []string{it.ID})
	}
}
