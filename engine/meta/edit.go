package meta

import (
	"encoding/json"
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
)

// edit returns the JSON value that the server uses instead of the written value. If keep is false, the value counts as
// absent.
type edit func(written any) (used any, keep bool)

// edits holds the edits of one file. The keys are JSON paths.
type edits map[string]edit

func makeAbsent(any) (any, bool) { return nil, false }

// addEdit records an edit for the value at a path in the file of o. The edits are applied when the service meta
// describes the class (see updateSource).
func (l *linker) addEdit(o jsonfile.Object, path string, e edit) {
	if l.edits == nil {
		l.edits = map[string]edits{}
	}
	if l.edits[o.File] == nil {
		l.edits[o.File] = edits{}
	}
	l.edits[o.File][path] = e
}

// applyEdits returns the JSON value v after the edits for its path and for the paths below it. If keep is false, the
// value counts as absent.
func (all edits) applyEdits(path string, v any) (used any, keep bool) {
	switch list := v.(type) {
	case []any:
		left := make([]any, 0, len(list))
		for i, element := range list {
			if used, keep := all.applyEdits(jsonfile.Element(path, i), element); keep {
				left = append(left, used)
			}
		}
		v = left
	case engine.Fields:
		left := make(engine.Fields, 0, len(list))
		for _, f := range list {
			if used, keep := all.applyEdits(jsonfile.Member(path, f.Name), f.Value); keep {
				left = append(left, engine.Field{Name: f.Name, Value: used})
			}
		}
		v = left
	}
	if e := all[path]; e != nil {
		return e(v)
	}
	return v, true
}

// editAttributes applies all edits to the descriptions of attributes, so that the service meta describes the values
// that the server uses. Formulas and conditions with an unknown attribute are not edited: the server treats the
// attribute as null, which the file format cannot express.
func (l *linker) editAttributes() {
	for _, f := range *l.faults {
		if path, e := editFor(f); e != nil {
			l.addEdit(jsonfile.Object{File: f.File}, path, e)
		}
	}
	for _, d := range l.drafts {
		if d.state != linked {
			continue
		}
		for _, p := range d.class.Properties {
			l.editRelation(p)
		}
	}
	if len(l.edits) == 0 {
		return
	}
	for _, d := range l.drafts {
		if d.state != linked {
			continue
		}
		for _, p := range d.class.Properties {
			if a := l.attributeOf(p); p.Source != nil && l.edits[a.File] != nil {
				used, _ := l.edits[a.File].applyEdits(a.Path, p.Source)
				p.Source, _ = used.(engine.Fields)
			}
		}
	}
}

// editRelation adds an edit for two kinds of attributes. The first is an attribute that is always null or empty. The
// second is a reference or collection for which no class is allowed. Its edit keeps at least one name in
// allowedSubclasses, because an empty list would allow all classes.
func (l *linker) editRelation(p *engine.Property) {
	if _, always := p.Formula.(null); always {
		a := l.attributeOf(p)
		l.addEdit(a.Object, a.Path, func(written any) (any, bool) {
			fields, _ := written.(engine.Fields)
			fields = slices.DeleteFunc(slices.Clone(fields), func(f engine.Field) bool { return f.Name == "backRef" || f.Name == "binding" })
			return fields.With("readonly", true), true
		})
	}
	if len(p.Subclasses) == 1 && p.Subclasses[0] == engine.NoClassAllowed {
		a := l.attributeOf(p)
		names := engine.Texts(a.subclasses)
		if len(names) == 0 {
			names = []any{"none"}
		}
		l.addEdit(a.Object, a.At("allowedSubclasses"), func(any) (any, bool) { return names, true })
	}
}

// editFor returns the edit for a fault, and the path of the value to edit. It returns nil if the value stays as
// written, or if the code that found the fault has already changed the value.
func editFor(f engine.Fault) (path string, e edit) {
	switch f.Code {
	case mistake.NotText.Code, mistake.NotNumber.Code, mistake.NotArray.Code, mistake.NotObject.Code, mistake.OrderFraction.Code,
		mistake.AutoassignedType.Code, mistake.SemanticFormula.Code, mistake.SelectionElement.Code, mistake.SortingShape.Code, mistake.ConditionsNoList.Code,
		mistake.OtherSide.Code, mistake.OtherSideType.Code, mistake.SubclassUnknown.Code:
		return f.Path, makeAbsent
	case mistake.SortingAttribute.Code, mistake.SelectionCondition.Code:
		return jsonfile.Around(f.Path), makeAbsent // the path of the fault leads to a member of the object to remove
	case mistake.SelectionMatrix.Code:
		return jsonfile.Around(f.Path), func(written any) (any, bool) {
			fields, _ := written.(engine.Fields)
			return slices.Clone(fields).With("matrix", []any{}), true
		}
	case mistake.NotFlag.Code:
		return f.Path, func(written any) (any, bool) { return jsonfile.IsTruthy(written), true }
	case mistake.SortingMode.Code:
		return f.Path, func(written any) (any, bool) {
			if isDescending(written) {
				return json.Number("1"), true
			}
			return json.Number("0"), true
		}
	}
	return "", nil
}

// updateSource sets Class.Source, from which the service meta describes the class: the class file with the values that
// the server uses.
func (l *linker) updateSource(d *draft) {
	changes := l.edits[d.File]
	var described engine.Fields
	for _, f := range d.Fields {
		keep := true
		if f.Name == "properties" {
			f.Value = d.describeProperties(f.Value, changes)
		} else {
			f.Value, keep = changes.applyEdits(d.At(f.Name), f.Value)
		}
		if keep {
			described = append(described, f)
		}
	}
	d.class.Source = d.describeLinked(described)
}

// describeProperties returns the field properties of the class file, with changes applied and without the attributes
// that are left out. written is the value in the file.
func (d *draft) describeProperties(written any, changes edits) any {
	list, ok := written.([]any)
	if !ok {
		return written
	}
	own := []any{}
	for i, v := range list {
		fields, replaced := d.resolved[i]
		if replaced && fields == nil {
			continue
		}
		if replaced {
			v = fields
		}
		v, _ = changes.applyEdits(jsonfile.Element(d.At("properties"), i), v)
		own = append(own, v)
	}
	return own
}

// describeLinked updates the fields that name attributes of the class: the key, trackers, indexes and
// cacheDependencies. It replaces values in the file by the values that the server uses.
func (d *draft) describeLinked(f engine.Fields) engine.Fields {
	c := d.class
	if d.keyGiven || d.parent == nil && d.Value("key") != nil {
		f = f.With("key", engine.Texts(c.Key))
	}
	for field, name := range map[string]string{
		"creationTracker": c.CreationTracker, "changeTracker": c.ChangeTracker, "creatorTracker": c.CreatorTracker, "editorTracker": c.EditorTracker,
	} {
		if !isEmpty(d.Value(field)) && name == "" {
			f = f.With(field, "")
		}
	}
	if written, _ := d.Value("compositeIndexes").([]any); len(written) != len(c.Indexes) || d.otherKey != nil {
		list := []any{}
		for _, index := range c.Indexes {
			list = append(list, engine.Fields{{Name: "properties", Value: engine.Texts(index.Properties)}, {Name: "unique", Value: index.Unique}})
		}
		f = f.With("compositeIndexes", list)
	}
	if written, _ := d.Value("cacheDependencies").([]any); len(written) != len(c.Dependencies) {
		list := []any{}
		for _, path := range c.Dependencies {
			list = append(list, strings.Join(path, "."))
		}
		f = f.With("cacheDependencies", list)
	}
	return f
}
