package journal

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"restsrv/engine"
	"restsrv/engine/journal"
	"restsrv/engine/store/storetest"
	"restsrv/engine/wire"
)

// collection identifies a collection by its name and the root class of its members, so that the copies of a collection
// in all classes of a tree are the same.
type collection struct{ name, root string }

func collectionOf(p *engine.Property) collection {
	return collection{p.Name, p.Target.Root().FullName}
}

// applyLinks changes the members of a collection as a record describes that reports added or removed members.
func (h history) applyLinks(t *testing.T, record *engine.Item, at [2]string, c *engine.Class) error {
	data, err := wire.Decode([]byte(engine.ValueText(record.Get("data"))))
	if err != nil {
		return err
	}
	for _, f := range data.(engine.Fields) {
		p := c.Property(f.Name)
		if p.Back != nil {
			continue // the links are references of the members, which have records of their own
		}
		if h.members[at] == nil {
			h.members[at] = map[collection][]string{}
		}
		of := collectionOf(p)
		for _, m := range f.Value.([]any) {
			id := m.(string)
			i := slices.Index(h.members[at][of], id)
			switch put := record.Get("type") == journal.Put; {
			case put && i >= 0:
				return fmt.Errorf("%s is a member already", id)
			case put:
				h.members[at][of] = append(h.members[at][of], id)
			case i < 0:
				return fmt.Errorf("%s is not a member", id)
			default:
				h.members[at][of] = slices.Delete(h.members[at][of], i, i+1)
			}
		}
	}
	return nil
}

// renameItem changes the key of an item in all collections. from and to consist of a root class and an id. If the new
// id is empty, renameItem removes the item.
func (h history) renameItem(from, to [2]string) {
	if from == to {
		return
	}
	if own := h.members[from]; own != nil && to[1] != "" {
		h.members[to] = own
	}
	delete(h.members, from)
	for _, collections := range h.members {
		for of, ids := range collections {
			i := slices.Index(ids, from[1])
			switch {
			case i < 0 || of.root != from[0]:
			case to[1] == "" || slices.Contains(ids, to[1]): // if both ids were members, only one of them remains
				collections[of] = slices.Delete(ids, i, i+1)
			default:
				ids[i] = to[1]
			}
		}
	}
}

// checkMembers compares the members of all items that the journal describes with the stored members. It ignores
// members that do not exist.
func (h history) checkMembers(t *testing.T, d *diary) {
	t.Helper()
	for at, has := range h.items {
		v, _ := wire.Decode([]byte(has["_class"]))
		c := h.classes[engine.ValueText(v)]
		for _, p := range c.Properties {
			if p.Type != engine.Collection || p.Back != nil || p.Formula != nil || p.Conditions != nil {
				continue
			}
			it, err := d.Get(context.Background(), c, at[1], &engine.Load{Property: p})
			if err != nil {
				t.Fatal(err)
			}
			stored := storetest.MemberIDs(storetest.LinkOf(it, p.Name).Items)
			recorded := slices.DeleteFunc(slices.Clone(h.members[at][collectionOf(p)]), func(id string) bool { return h.items[[2]string{p.Target.Root().FullName, id}] == nil })
			slices.Sort(stored)
			slices.Sort(recorded)
			if !slices.Equal(stored, recorded) {
				t.Errorf("%s %s: the journal has the %s %q, want the stored ones %q", c.FullName, at[1], p.Name, recorded, stored)
			}
		}
	}
}
