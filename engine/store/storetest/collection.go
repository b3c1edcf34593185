package storetest

import (
	"testing"

	"restsrv/engine"
)

// club is a repository with collections of three kinds:
//   - Groups have people, and people have groups, in two collections that mirror each other.
//   - People have tags, in a collection without a mirror.
//   - People have tasks, which refer to a person.
type club struct {
	engine.Repository
	Person, Group, Tag, Task *engine.Class
}

// LinkCollection returns a new n:m collection.
func LinkCollection(name string, of *engine.Class) *engine.Property {
	p := Prop(name, engine.Collection)
	p.Target = of
	return p
}

// OpenClub opens an empty repository with the classes of a club. Use it for tests of collections.
func OpenClub(t *testing.T, open Open) *club {
	c := &club{}
	c.Tag = NewClass("tag", Prop("code", engine.Int), Prop("name", engine.String))
	c.Person = NewClass("person", Prop("id", engine.GUID, Autoassigned), Prop("name", engine.String), LinkCollection("tags", c.Tag))
	c.Group = NewClass("group", Prop("id", engine.String), LinkCollection("people", c.Person))
	c.Task = NewClass("task", Prop("id", engine.GUID, Autoassigned), Prop("name", engine.String), Ref("who", c.Person))
	AddProperties(c.Person, LinkCollection("groups", c.Group), BackProperty(engine.Collection, "tasks", c.Task, "who"))
	groups, people := c.Person.Property("groups"), c.Group.Property("people")
	groups.Mirror, people.Mirror = people, groups
	Link(c.Tag, c.Person, c.Group, c.Task)
	c.Repository = open(t, []*engine.Class{c.Tag, c.Person, c.Group, c.Task})
	return c
}

// AddLinks returns the change that adds members to a collection.
func AddLinks(ids ...any) *engine.Links { return &engine.Links{Add: ids} }

// RemoveLinks returns the change that removes members from a collection.
func RemoveLinks(ids ...string) *engine.Links { return &engine.Links{Remove: ids} }

// ReplaceLinks returns the change that replaces all members of a collection.
func ReplaceLinks(members ...any) *engine.Links { return &engine.Links{Replace: true, Add: members} }

// ChangeLinks returns the change that adds members to a collection and removes others.
func ChangeLinks(in []any, out ...string) *engine.Links { return &engine.Links{Add: in, Remove: out} }

// ListMembers returns the ids of the members of a collection.
func ListMembers(t *testing.T, r engine.Repository, c *engine.Class, id, collection string) []string {
	t.Helper()
	it, err := r.Get(t.Context(), c, id, NewLoad(c, collection))
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{}, MemberIDs(LinkOf(it, collection).Items)...)
}
