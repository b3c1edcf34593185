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

// object is an object of the source on its way to the database.
type object struct {
	where           string
	class           *engine.Class
	id              string // "" if the server generates it
	version         string
	creator, editor string
	given           engine.Values // values in the source; engine.Absent if the source has none
	stages          []*engine.Item
	left            []Refusal // reports of values that are not imported

	stored    *engine.Item  // object with this id in the database, or nil
	unchanged bool          // stored already has all values of given
	full      engine.Values // values of a new object: given, defaults and generated values
	exact     bool          // full can be written directly, without Archive.Save
}

// bindObject converts an object to values of its class. If a value does not fit, a strict import
// refuses the object. Otherwise the value is left out.
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
	text   []byte // text of the file with the object; nil if the object is a line
}

// leaveOut records that a value is not imported. In a strict import it returns err instead, so
// that the object is refused.
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

// splitMisfit returns the found and the expected value from the error of a cast. The message of
// such an error is "attribute A takes EXPECTED, found FOUND: WHY".
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

// placeOf returns the place of an attribute in the text of its object. A part of a structure may be
// written in an object, {"passport": {"number": 1}}, or as "passport$number".
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

// bindValues converts the fields of the object to values.
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
			o.given[p.Index] = engine.Absent // the server computes the value from other values
		}
		if v, is := in.Get(p.Name); is && p.Kept() && err == nil {
			err = r.keepValue(p, v)
		}
	}
	for _, name := range unknown {
		if p := o.class.Property(name); p != nil && p.Back != nil {
			continue // the relation is stored in the other object
		}
		if name = o.class.FullName + "." + name; r.report.Ignored[name] == 0 {
			r.report.IgnoredIn[name] = o.where
		}
		r.report.Ignored[name]++
	}
	return err
}

// keepValue sets the value of a calculated attribute with an invalid formula. The server keeps such
// a value as it is imported.
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

// identify completes the object: if the key is missing, it is taken from the id. Then the id is
// computed from the key, so if the source gives both, the key takes precedence.
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
				return nil // the server may generate the id
			}
			return ruled{fmt.Errorf("no object of class %s can have the id %s", o.class.FullName, engine.Quote(o.id)), mistake.ObjectKey}
		}
	}
	if id := o.class.ID(o.given); id != "" {
		o.id = id
	}
	return nil
}

// storeFiles stores the files in the values of the object. An exported file with a name but no
// content is recorded without content; its content can be imported later.
func (im *importer) storeFiles(ctx context.Context, o *object) error {
	if !hasFiles(o.given) {
		return nil
	}
	if im.Accept == nil {
		return errors.New("the object has files, and there is no file storage")
	}
	return im.Accept(ctx, o.class, o.id, o.given)
}

// hasFiles reports whether values contain files, also in nested records. Empty file lists count
// too. As a side effect, it sets Stored in uploads without content.
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

// readStages reads the states of the object in workflows: {"workflow": {"stage": "state"}}.
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

// loadStored reads the objects with the ids of the batch from the database.
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

// queryFor returns the query for the stored objects. It loads the collections that the given
// objects contain.
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

// isUnchanged reports whether the stored item already has all given values. It removes passwords
// and files that are equal to the stored passwords and files from the given values, so that they
// are not stored again.
func (im *importer) isUnchanged(ctx context.Context, o *object) (bool, error) {
	// A stored object of a descendant class keeps its class and version.
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

// sameFiles reports whether two values of a file attribute have equal contents, names and types.
// Ids are not compared, since each import assigns new ones.
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
