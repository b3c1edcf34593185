package guard

import (
	"context"
	"slices"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/store/storetest"
)

var grantTests = []storetest.Test{
	{Name: "end with a deleted item", Run: grantsOfDeleted},
	{Name: "end with all items that a filter finds", Run: grantsOfAllDeleted},
	{Name: "end in the transaction of the item", Run: grantsInTransaction},
	{Name: "end with items whose class has links, files or a journal", Run: grantsOfRemembered},
	{Name: "follow a changed key", Run: grantsOfChangedKey},
	{Name: "follow keys that are references", Run: grantsOfReferencedKey},
	{Name: "end when no resource can name the new key", Run: grantsOfLongKey},
	{Name: "are those of the class with the longest name", Run: grantsWithoutNamespace},
}

// granting is a repository that stores grants on single items. If a write deletes or renames an item, it should delete
// or change the grants on the item.
type granting struct {
	t *testing.T
	engine.Repository
	permission, policy *engine.Class
}

func openGranting(t *testing.T, open storetest.Open, classes ...*engine.Class) *granting {
	g := &granting{t: t,
		permission: engine.SystemClass("#permission", storetest.Prop("id", engine.String), storetest.Prop("subject", engine.String), storetest.Prop("resource", engine.String, storetest.Indexed), storetest.Prop("permission", engine.String)),
		policy:     engine.SystemClass("#policy", storetest.Prop("id", engine.String))}
	g.Repository = open(t, append(classes, g.permission, g.policy))
	storetest.Create(t, g, g.policy, "id", "policy")
	return g
}

// grant stores grants. Each grant is a text of three words: subject, resource and permission.
func (g *granting) grant(grants ...string) {
	g.t.Helper()
	for _, one := range grants {
		part := strings.Fields(one)
		storetest.Create(g.t, g, g.permission, "id", strings.Join(part, "\t"), "subject", part[0], "resource", part[1], "permission", part[2])
	}
}

// want runs change, and checks that the stored grants then equal grants. concerned is true if change is expected to
// change grants, which gives the policy a new revision.
func (g *granting) want(what string, concerned bool, change func() error, grants ...string) {
	g.t.Helper()
	before := storetest.Get(g.t, g, g.policy, "policy").Revision
	if err := change(); err != nil {
		g.t.Fatalf("%s: %v", what, err)
	}
	found := storetest.ListIDs(g.t, g, storetest.All(g.permission))
	for i, id := range found {
		found[i] = strings.ReplaceAll(id, "\t", " ")
		it := storetest.Get(g.t, g, g.permission, id)
		if row := it.Text("subject") + "\t" + it.Text("resource") + "\t" + it.Text("permission"); row != id {
			g.t.Errorf("%s: the row with the id %q has the values %q", what, id, row)
		}
	}
	slices.Sort(found)
	slices.Sort(grants)
	storetest.CheckSame(g.t, what+": grants", found, append([]string{}, grants...))
	if changed := storetest.Get(g.t, g, g.policy, "policy").Revision != before; changed != concerned {
		g.t.Errorf("%s: the policy changed its revision: got %v, want %v", what, changed, concerned)
	}
}

func (g *granting) delete(c *engine.Class, id string) func() error {
	return func() error { return g.Delete(g.t.Context(), c, id, nil) }
}

func (g *granting) deleteAll(c *engine.Class) func() error {
	return func() error {
		_, err := g.DeleteAll(g.t.Context(), storetest.All(c))
		return err
	}
}

func grantsOfDeleted(t *testing.T, open storetest.Open) {
	doc, other := storetest.NewClass("doc", storetest.Prop("id", engine.Int)), storetest.NewClass("other", storetest.Prop("id", engine.Int))
	memo := storetest.Extend(doc, "memo")
	g := openGranting(t, open, doc, memo, other)
	for id := range int64(4) {
		storetest.Create(t, g, memo, "id", id)
		storetest.Create(t, g, other, "id", id)
	}
	kept := []string{"ann c:::memo@test read", "ann i:::memo@test@12 read", "ann i:::other@test@1 read"}
	g.grant(append(kept, "ann i:::memo@test@1 read", "bob i:::memo@test@1 full", "ann i:::doc@test@1 read", "ann i:::memo@test@2 use")...)
	g.want("an item without grants", false, g.delete(memo, "3"), append(kept, "ann i:::memo@test@1 read", "bob i:::memo@test@1 full", "ann i:::doc@test@1 read", "ann i:::memo@test@2 use")...)
	g.want("an item with grants by both class names", true, g.delete(doc, "1"), append(kept, "ann i:::memo@test@2 use")...)
	it := storetest.Get(t, g, memo, "2")
	err := g.Delete(t.Context(), memo, "2", &engine.Match{Revisions: []uint64{it.Revision + 1}})
	if engine.CodeOf(err) != engine.Unmatched {
		t.Errorf("delete with another revision: got %v, want Unmatched", err)
	}
	if err := g.Delete(t.Context(), memo, "1", nil); engine.CodeOf(err) != engine.NotFound {
		t.Errorf("delete of no item: got %v, want NotFound", err)
	}
	g.want("a matching revision", true, func() error {
		return g.Delete(t.Context(), memo, "2", &engine.Match{Revisions: []uint64{it.Revision}})
	}, kept...)
}

func grantsOfAllDeleted(t *testing.T, open storetest.Open) {
	doc := storetest.NewClass("doc", storetest.Prop("id", engine.String))
	memo := storetest.Extend(doc, "memo")
	g := openGranting(t, open, doc, memo)
	for _, id := range []string{"a", "b", "c"} {
		storetest.Create(t, g, memo, "id", id)
	}
	storetest.Create(t, g, doc, "id", "d")
	g.grant("ann i:::memo@test@a read", "ann i:::doc@test@d read", "ann i:::doc@test@b write")
	g.want("all of one class", true, g.deleteAll(memo), "ann i:::doc@test@d read")
	g.want("all that are left", true, g.deleteAll(doc))
	g.want("none", false, g.deleteAll(doc))
}

func grantsInTransaction(t *testing.T, open storetest.Open) {
	doc := storetest.NewClass("doc", storetest.Prop("id", engine.String))
	g := openGranting(t, open, doc)
	storetest.Create(t, g, doc, "id", "a")
	g.grant("ann i:::doc@test@a read")
	transaction := func(failure error) func() error {
		return func() error {
			err := engine.InTransaction(t.Context(), g.Repository, func(ctx context.Context) error {
				if err := g.Delete(ctx, doc, "a", nil); err != nil {
					return err
				}
				return failure
			})
			if failure != nil && err == failure {
				return nil
			}
			return err
		}
	}
	g.want("rolled back", false, transaction(engine.Errorf(engine.Invalid, "x", "x")), "ann i:::doc@test@a read")
	g.want("committed", true, transaction(nil))
}

func grantsOfRemembered(t *testing.T, open storetest.Open) {
	tag := storetest.NewClass("tag", storetest.Prop("id", engine.String))
	doc := storetest.NewClass("doc", storetest.Prop("id", engine.String), storetest.Prop("tags", engine.Collection, func(p *engine.Property) { p.Target = tag }))
	g := openGranting(t, open, tag, doc)
	for _, id := range []string{"a", "b"} {
		storetest.Create(t, g, tag, "id", id)
		storetest.Create(t, g, doc, "id", id)
	}
	g.grant("ann i:::doc@test@a read", "ann i:::doc@test@b read", "ann i:::tag@test@a read", "ann i:::tag@test@b read")
	g.want("an item with a collection", true, g.delete(doc, "a"), "ann i:::doc@test@b read", "ann i:::tag@test@a read", "ann i:::tag@test@b read")
	g.want("members of collections", true, g.deleteAll(tag), "ann i:::doc@test@b read")
}

func grantsOfChangedKey(t *testing.T, open storetest.Open) {
	doc := storetest.NewClass("doc", storetest.Prop("id", engine.String), storetest.Prop("title", engine.String))
	memo := storetest.Extend(doc, "memo")
	g := openGranting(t, open, doc, memo)
	storetest.Create(t, g, memo, "id", "a")
	g.grant("ann i:::memo@test@a read", "bob i:::memo@test@a write", "ann i:::doc@test@a use", "ann i:::memo@test@b read")
	change := func(set ...any) func() error {
		return func() error { storetest.Update(t, g, doc, "a", set...); return nil }
	}
	g.want("another attribute", false, change("title", "x"),
		"ann i:::memo@test@a read", "bob i:::memo@test@a write", "ann i:::doc@test@a use", "ann i:::memo@test@b read")
	g.want("another key, by an update", true, change("id", "b"), "ann i:::memo@test@b read", "bob i:::memo@test@b write", "ann i:::doc@test@b use")
	g.want("another key, by a save", true, func() error { storetest.Save(t, g, storetest.NewRecord(memo, "b", "id", "c")); return nil },
		"ann i:::memo@test@c read", "bob i:::memo@test@c write", "ann i:::doc@test@c use")
	storetest.Create(t, g, memo, "id", "b")
	g.want("a new item with the old key", false, g.delete(memo, "b"), "ann i:::memo@test@c read", "bob i:::memo@test@c write", "ann i:::doc@test@c use")
	g.want("the item with the new key", true, g.delete(memo, "c"))
}

func grantsOfReferencedKey(t *testing.T, open storetest.Open) {
	master := storetest.NewClass("master", storetest.Prop("id", engine.String))
	detail := storetest.NewClass("detail", storetest.Ref("master", master), storetest.Prop("no", engine.Int))
	detail.Key = []string{"master", "no"}
	if err := detail.Init(); err != nil {
		t.Fatal(err)
	}
	g := openGranting(t, open, master, detail)
	storetest.Create(t, g, master, "id", "m")
	storetest.Create(t, g, detail, "master", "m", "no", int64(1))
	g.grant("ann i:::detail@test@m_1 read")
	g.want("followed", true, func() error { storetest.Update(t, g, master, "m", "id", "x"); return nil }, "ann i:::detail@test@x_1 read")
	g.want("deleted", true, g.delete(detail, "x_1"))
}

func grantsOfLongKey(t *testing.T, open storetest.Open) {
	doc := storetest.NewClass("doc", storetest.Prop("id", engine.String))
	g := openGranting(t, open, doc)
	storetest.Create(t, g, doc, "id", "a")
	g.grant("ann i:::doc@test@a read", "ann i:::doc@test@b read")
	g.want("a long key", true, func() error { storetest.Update(t, g, doc, "a", "id", strings.Repeat("x", 700)); return nil }, "ann i:::doc@test@b read")
}

func grantsWithoutNamespace(t *testing.T, open storetest.Open) {
	bare, full := storetest.NewClass("doc", storetest.Prop("id", engine.String)), storetest.NewClass("doc", storetest.Prop("id", engine.String))
	bare.Namespace = ""
	if err := bare.Init(); err != nil {
		t.Fatal(err)
	}
	g := openGranting(t, open, bare, full)
	for _, id := range []string{"a", "test@a"} {
		storetest.Create(t, g, bare, "id", id)
	}
	storetest.Create(t, g, full, "id", "a")
	g.grant("ann i:::doc@a read", "ann i:::doc@test@a read")
	g.want("an item that no resource names", false, g.delete(bare, "test@a"), "ann i:::doc@a read", "ann i:::doc@test@a read")
	g.want("an item of the class without namespace", true, g.delete(bare, "a"), "ann i:::doc@test@a read")
	g.want("an item of the other class", true, g.delete(full, "a"))
}
