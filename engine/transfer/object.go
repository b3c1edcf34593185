package transfer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"restsrv/engine"
)

// object is an object of a source, ready to be saved.
type object struct {
	where           string
	class           *engine.Class
	id              string // "" when the server makes it up
	version         string
	creator, editor string
	given           engine.Values // Absent for what the source does not say
	stages          []*engine.Item

	stored    *engine.Item  // what the database has under the id, nil for nothing
	unchanged bool          // which is all that is given
	full      engine.Values // given, completed for a new item
	exact     bool          // full is all that is to be stored
}

// bind reads an object as values of its class.
func (im *importer) bind(ctx context.Context, in Object) (*object, error) {
	if in.Err != nil {
		return nil, in.Err
	}
	c, err := im.Meta.Class(in.Class)
	if err != nil {
		return nil, err
	}
	o := &object{where: in.Where, class: c, id: in.ID, version: fieldText(in.Fields, "_classVer"),
		creator: fieldText(in.Fields, "_creator"), editor: fieldText(in.Fields, "_editor")}
	values, unknown, err := c.Bind(in.Fields, engine.Lenient)
	if err != nil {
		return nil, err
	}
	o.given = values
	for _, p := range c.Properties {
		if p.Back != nil || p.Formula != nil && !p.Cached {
			values[p.Index] = engine.Absent // what it would say is said elsewhere
		}
	}
	for _, name := range unknown {
		if name = c.FullName + "." + name; im.report.Ignored[name] == 0 {
			im.report.IgnoredIn[name] = in.Where
		}
		im.report.Ignored[name]++
	}
	if err := o.identify(); err != nil {
		return nil, err
	}
	if err := im.files(ctx, o); err != nil {
		return nil, err
	}
	return o, im.stages(o, in.Fields)
}

// identify makes the id a part of the values, and the other way round.
func (o *object) identify() error {
	if o.id != "" {
		parts, ok := o.class.KeyParts(o.id)
		for i, p := range o.class.KeyProperties() {
			if ok && o.given[p.Index] == engine.Absent {
				o.given[p.Index] = parts[i]
			}
		}
	}
	for _, p := range o.class.KeyProperties() {
		if o.given[p.Index] == engine.Absent || o.given[p.Index] == nil {
			if o.id == "" {
				return nil // the server may make it up
			}
			return fmt.Errorf("no object of class %s can have the id %s", o.class.FullName, engine.Quote(o.id))
		}
	}
	if o.id == "" {
		o.id = o.class.ID(o.given)
	}
	return nil
}

// files stores what uploads bring. A file that is named and not there is named
// all the same: its content may come later.
func (im *importer) files(ctx context.Context, o *object) error {
	found := false
	for _, v := range o.given {
		uploads, _ := v.([]*engine.Upload)
		if u, ok := v.(*engine.Upload); ok {
			uploads = []*engine.Upload{u}
		}
		for _, u := range uploads {
			found = true
			u.Stored = u.Content == nil
		}
	}
	if !found {
		return nil
	}
	if im.Accept == nil {
		return errors.New("the object has files, and there is no file storage")
	}
	return im.Accept(ctx, o.class, o.id, o.given)
}

// stages reads the stages of an object's workflows, {"workflow":{"stage":…}}.
func (im *importer) stages(o *object, in engine.Fields) error {
	v, ok := in.Get("___workflowStatus")
	if !ok || v == nil {
		return nil
	}
	workflows, ok := v.(engine.Fields)
	if !ok || im.Stage == nil || o.id == "" {
		return errors.New("___workflowStatus is an object of workflows and their stages, of an object with an id")
	}
	for _, w := range workflows {
		stage, _ := w.Value.(string)
		if f, is := w.Value.(engine.Fields); is {
			stage = fieldText(f, "stage")
		}
		if stage == "" {
			return fmt.Errorf("___workflowStatus names no stage for %s", engine.Quote(w.Name))
		}
		o.stages = append(o.stages, im.Stage(o.class, o.id, w.Name, stage))
	}
	return nil
}

// compare finds what the database has under the ids of a batch.
func (im *importer) compare(ctx context.Context, batch []*object) error {
	byRoot := map[*engine.Class]map[string]*object{}
	for _, o := range batch {
		o.stored, o.unchanged = nil, false
		if o.id == "" {
			continue
		}
		root := o.class.Root()
		if byRoot[root] == nil {
			byRoot[root] = map[string]*object{}
		}
		byRoot[root][o.id] = o
	}
	for root, objects := range byRoot {
		q, err := queryFor(root, objects)
		if err != nil {
			return err
		}
		err = im.Data.List(ctx, q, func(it *engine.Item) error {
			if o := objects[it.ID]; o != nil {
				o.stored = it.Clone()
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// queryFor finds items by their ids.
func queryFor(root *engine.Class, objects map[string]*object) (*engine.Query, error) {
	p := engine.ItemID
	if key := root.KeyProperties(); len(key) == 1 {
		p = key[0]
	}
	var keys []any
	loads := map[string]*engine.Load{}
	for _, o := range objects {
		if key, ok := root.KeyValues(o.id); ok {
			keys = append(keys, key[0])
		}
		for i, v := range o.given {
			if _, ok := v.(*engine.Links); ok {
				member := *o.class.Properties[i]
				member.Conditions, member.Sorting = nil, nil // all that there are, as they were added
				loads[member.Definition+"#"+member.Name] = &engine.Load{Property: &member}
			}
		}
	}
	filter, err := engine.AnyOf(p, keys)
	if err != nil {
		return nil, err
	}
	q := &engine.Query{Class: root, Filter: filter, Count: -1}
	for _, l := range loads {
		q.Load = append(q.Load, l)
	}
	return q, nil
}

// same reports whether the stored item is all that is given. A password that is
// the stored one is not given any more.
func (im *importer) same(ctx context.Context, o *object) (bool, error) {
	// An object of a class below keeps its class and its version.
	same := o.stored.Class == o.class && o.stored.Version == o.version || slices.Contains(o.class.Descendants, o.stored.Class)
	for i, v := range o.given {
		p := o.class.Properties[i]
		stored := o.stored.Class.Property(p.Name)
		if v == engine.Absent || stored == nil {
			same = same && v == engine.Absent
			continue
		}
		switch v := v.(type) {
		case *engine.Links:
			link := o.stored.Link(stored)
			same = same && slices.EqualFunc(v.Add, link.Items, func(id any, it *engine.Item) bool { return id == it.ID })
		case string:
			hash, _ := o.stored.Values[stored.Index].(string)
			if p.Type != engine.Password {
				same = same && v == hash
				continue
			}
			matches, err := im.Matches(ctx, hash, v)
			if err != nil {
				return false, err
			}
			if matches {
				o.given[i] = engine.Absent
			}
			same = same && matches
		default:
			same = same && v == o.stored.Values[stored.Index]
		}
	}
	return same, nil
}
