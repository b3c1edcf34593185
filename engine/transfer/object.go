package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
	"restsrv/engine/query"
)

// object is an object of a source, prepared for saving.
type object struct {
	where           string
	class           *engine.Class
	id              string // "" if the server generates it
	version         string
	creator, editor string
	given           engine.Values // values of the source; Absent if the source has no value
	stages          []*engine.Item
	left            []Refusal // values that are not imported

	stored    *engine.Item  // the object in the database with this id, or nil
	unchanged bool          // stored has all values of given
	full      engine.Values // given with defaults and generated values, for a new object
	exact     bool          // full can be stored directly
}

// bindObject converts an object to values of its class. If a value does not fit, a strict import refuses the object;
// other imports leave the value out.
func (im *importer) bindObject(ctx context.Context, in Object) (*object, error) {
	if in.Err != nil {
		return nil, in.Err
	}
	c, err := im.Meta.Class(in.Class)
	if err != nil {
		return nil, err
	}
	o := &object{where: in.Where, class: c, id: in.ID, version: fieldText(in.Fields, "_classVer"),
		creator: fieldText(in.Fields, "_creator"), editor: fieldText(in.Fields, "_editor")}
	r := &reader{importer: im, object: o, text: in.Text}
	if err := r.bindValues(in.Fields); err != nil {
		return nil, err
	}
	if err := o.identify(); err != nil {
		return nil, err
	}
	if in.Keyed && o.id == "" {
		return nil, ruled{fmt.Errorf("the file is named without an id, and the object has no key: expected %s@ID.json, or a value of %s",
			c.FullName, engine.Quote(c.Key[0])), mistake.ObjectUnnamed}
	}
	if err := r.readStages(in.Fields); err != nil {
		return nil, err
	}
	if im.Strict {
		if err := c.Check(o.given); err != nil {
			return nil, ruled{err, mistake.ObjectNull}
		}
	}
	return o, im.storeFiles(ctx, o)
}

// reader reads the values of one object.
type reader struct {
	*importer
	object *object
	text   []byte // of the file, or nil if the object is a line
}

// leaveOut leaves a value out of the object. If the import is strict, it returns the error instead.
func (r *reader) leaveOut(rule *mistake.Rule, attribute string, err error) error {
	if r.Strict {
		return ruled{err, rule}
	}
	f := Refusal{Where: r.object.where, Attribute: attribute, Reason: reasonOf(err), Rule: rule, Taken: true}
	f.describe(err)
	if r.text != nil {
		at := placeOf(r.text, r.object.class, attribute)
		f.Line, f.Column = at.Line, at.Column
	}
	r.object.left = append(r.object.left, f)
	return nil
}

// splitMisfit splits the text of a cast error: "attribute A takes EXPECTED, found FOUND: WHY".
func splitMisfit(err error) (found, expected string, ok bool) {
	var e *engine.Error
	if !errors.As(err, &e) || e.Reason != "type" {
		return "", "", false
	}
	_, rest, ok := strings.Cut(e.Message, " takes ")
	if !ok {
		return "", "", false
	}
	expected, rest, ok = strings.Cut(rest, ", found ")
	found, why, more := strings.Cut(rest, ": ")
	if quoted, err := strconv.QuotedPrefix(rest); err == nil {
		found, why, more = quoted, strings.TrimPrefix(rest[len(quoted):], ": "), len(quoted) < len(rest)
	}
	if more {
		expected += ": " + why
	}
	return found, expected, ok
}

// placeOf returns the place of an attribute in the text of its object. A part of a structure may be written inside the
// object of the structure or under its full name.
func placeOf(text []byte, c *engine.Class, attribute string) jsonfile.Place {
	path, within := attribute, strings.ReplaceAll(attribute, "$", ".")
	if c.Property(attribute) != nil {
		path = jsonfile.Member("", attribute)
	}
	places := jsonfile.Locate(bytes.TrimPrefix(text, []byte("\ufeff")), []string{path, within})
	if at, ok := places[path]; ok {
		return at
	}
	return places.Of(within)
}

// bindValues binds the fields of the object.
func (r *reader) bindValues(in engine.Fields) error {
	o := r.object
	in = slices.DeleteFunc(slices.Clone(in), func(f engine.Field) bool {
		p := o.class.Property(f.Name)
		return p != nil && p.Nowhere && p.Formula != nil // its back reference does not exist
	})
	in, err := r.prepareFields(o.class, in, "", "")
	if err != nil {
		return err
	}
	var unknown []string
	if r.Strict {
		o.given, unknown, err = o.class.Bind(in, engine.Lenient)
	} else {
		o.given, unknown, err = o.class.BindFitting(in, func(e *engine.Error) { _ = r.leaveOut(mistake.ValueMisfit, e.Attribute, e) })
	}
	if e := (*engine.Error)(nil); errors.As(err, &e) {
		rule := mistake.ValueMisfit
		if slices.ContainsFunc(o.class.KeyProperties(), func(p *engine.Property) bool { return p.Name == e.Attribute }) {
			rule = mistake.ObjectKey
		}
		return ruled{err, rule}
	}
	for _, p := range o.class.Properties {
		if p.Back != nil || p.Formula != nil && !p.Cached {
			o.given[p.Index] = engine.Absent // the value follows from other values
		}
		if v, is := in.Get(p.Name); is && p.Kept() && err == nil {
			err = r.keepValue(p, v)
		}
	}
	for _, name := range unknown {
		if p := o.class.Property(name); p != nil && p.Back != nil {
			continue // the other object holds it
		}
		if name = o.class.FullName + "." + name; r.report.Ignored[name] == 0 {
			r.report.IgnoredIn[name] = o.where
		}
		r.report.Ignored[name]++
	}
	return err
}

// keepValue sets the value of a calculated attribute that cannot be calculated.
func (r *reader) keepValue(p *engine.Property, v any) error {
	value, err := p.Cast(v)
	if e := (*engine.Error)(nil); errors.As(err, &e) {
		if r.Strict {
			return ruled{err, mistake.ValueMisfit}
		}
		_ = r.leaveOut(mistake.ValueMisfit, p.Name, e)
		return nil
	}
	r.object.given[p.Index] = value
	return nil
}

// identify sets the key from the id of the object, and the id from the key. If the values contain the key, it takes
// precedence over the id.
func (o *object) identify() error {
	missing := func(p *engine.Property) bool { return o.given[p.Index] == engine.Absent || o.given[p.Index] == nil }
	if o.id != "" {
		parts, ok := o.class.KeyParts(o.id)
		for i, p := range o.class.KeyProperties() {
			if ok && missing(p) {
				o.given[p.Index] = parts[i]
			}
		}
	}
	for _, p := range o.class.KeyProperties() {
		if missing(p) {
			if o.id == "" {
				return nil // the server may generate it
			}
			return ruled{fmt.Errorf("no object of class %s can have the id %s", o.class.FullName, engine.Quote(o.id)), mistake.ObjectKey}
		}
	}
	if id := o.class.ID(o.given); id != "" {
		o.id = id
	}
	return nil
}

// storeFiles stores uploaded files. A file that is named but does not exist is still recorded, because its content may
// come later.
func (im *importer) storeFiles(ctx context.Context, o *object) error {
	if !hasFiles(o.given) {
		return nil
	}
	if im.Accept == nil {
		return errors.New("the object has files, and there is no file storage")
	}
	return im.Accept(ctx, o.class, o.id, o.given)
}

// hasFiles reports whether values, or the records in them, contain files. Empty file lists count too.
func hasFiles(values engine.Values) bool {
	found := false
	record := func(v any) {
		if r, ok := v.(*engine.Record); ok {
			found = hasFiles(r.Values) || found
		}
	}
	for _, v := range values {
		switch v := v.(type) {
		case *engine.Upload:
			v.Stored = v.Content == nil
			found = true
		case []*engine.Upload:
			for _, u := range v {
				u.Stored = u.Content == nil
			}
			found = true
		case *engine.Links:
			for _, member := range v.Add {
				record(member)
			}
		default:
			record(v)
		}
	}
	return found
}

// readStages reads the stages of the object in its workflows, as in {"workflow": {"stage": ...}}.
func (r *reader) readStages(in engine.Fields) error {
	const name = "___workflowStatus"
	v, ok := in.Get(name)
	if !ok || v == nil {
		return nil
	}
	o := r.object
	workflows, ok := v.(engine.Fields)
	if !ok || r.Stage == nil || o.id == "" {
		return r.leaveOut(mistake.ValueStage, name, errors.New(name+" is an object of workflows and their stages, of an object with an id"))
	}
	for _, w := range workflows {
		stage, _ := w.Value.(string)
		if f, is := w.Value.(engine.Fields); is {
			stage = fieldText(f, "stage")
		}
		path := jsonfile.Member(name, w.Name)
		if stage == "" {
			if err := r.leaveOut(mistake.ValueStage, path, fmt.Errorf("%s names no stage for %s", name, engine.Quote(w.Name))); err != nil {
				return err
			}
			continue
		}
		if it := r.Stage(o.class, o.id, w.Name, stage); it != nil {
			o.stages = append(o.stages, it)
			continue
		}
		err := fmt.Errorf("class %s has no workflow %s with a stage %s", o.class.FullName, engine.Quote(w.Name), engine.Quote(stage))
		if err := r.leaveOut(mistake.ValueStage, path, err); err != nil {
			return err
		}
	}
	return nil
}

// loadStored reads the stored objects with the ids of a batch.
func (im *importer) loadStored(ctx context.Context, batch []*object) error {
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

// queryFor returns a query for items by their ids.
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
				member.Conditions, member.Sorting = nil, nil // load all members in the order in which they were added
				loads[member.Definition+"#"+member.Name] = &engine.Load{Property: &member}
			}
		}
	}
	filter, err := query.AnyOf(p, keys)
	if err != nil {
		return nil, err
	}
	q := &engine.Query{Class: root, Filter: filter, Count: -1}
	for _, l := range loads {
		q.Load = append(q.Load, l)
	}
	return q, nil
}

// isUnchanged reports whether the stored item has all given values. If a given password or file is the stored one, it
// is removed from the given values.
func (im *importer) isUnchanged(ctx context.Context, o *object) (bool, error) {
	// An object of a descendant class keeps its class and its version.
	same := o.stored.Class == o.class && o.stored.Version == o.version || slices.Contains(o.class.Descendants, o.stored.Class)
	for i, v := range o.given {
		p := o.class.Properties[i]
		stored := o.stored.Class.Property(p.Name)
		if v == engine.Absent || stored == nil {
			same = same && v == engine.Absent
			continue
		}
		if p.Type.IsFile() && sameFiles(v, o.stored.Values[stored.Index]) {
			o.given[i] = engine.Absent
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

// sameFiles reports whether two values of a file attribute have the same contents, names and types. The ids are not
// compared, because each import assigns new ones.
func sameFiles(v, stored any) bool {
	if v == stored {
		return true
	}
	files, others := engine.FilesIn(v), engine.FilesIn(stored)
	return len(files) > 0 && slices.EqualFunc(files, others, func(a, b engine.StoredFile) bool {
		a.ID, b.ID = "", ""
		return a.Hash != "" && a == b
	})
}
