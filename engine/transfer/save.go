package transfer

import (
	"context"
	"slices"

	"restsrv/engine"
)

// completeObject decides how an object is saved. If possible, it adds defaults and generated
// values to a new object, which is then written directly. As in IONDV, an object with a key can
// be saved without a required value.
func (im *importer) completeObject(ctx context.Context, o *object) error {
	if o.class.Abstract {
		return engine.Errorf(engine.Invalid, "abstract", "class %s is abstract: an object must be of a class below it", o.class.FullName)
	}
	if o.stored != nil {
		var err error
		o.unchanged, err = im.isUnchanged(ctx, o)
		return err
	}
	if o.exact || o.id == "" || o.id != o.class.ID(o.given) {
		return nil
	}
	full := slices.Clone(o.given)
	for _, p := range o.class.Properties {
		plain, ok := full[p.Index].(string)
		if p.Type == engine.Password && ok {
			hash, err := im.Hash(ctx, plain)
			if err != nil {
				return err
			}
			full[p.Index] = hash
		}
		if p.Formula != nil && p.Cached {
			return nil // only Archive.Save computes the value
		}
	}
	o.class.Stamp(full, im.Generate, true)
	if err := o.class.Complete(full, im.Generate); err != nil && !isValueMissing(err) {
		return err
	}
	for i, v := range full {
		p := o.class.Properties[i]
		if hasRecords(v) || v == engine.Absent && p.Stored() || p.Type == engine.Password && v != nil && o.given[i] == engine.Absent {
			return nil // only Archive.Save provides the missing value
		}
	}
	o.full, o.exact = full, true
	return nil
}

// hasRecords reports whether a value contains records of other objects.
func hasRecords(v any) bool {
	if l, ok := v.(*engine.Links); ok {
		return slices.ContainsFunc(l.Add, hasRecords)
	}
	_, ok := v.(*engine.Record)
	return ok
}

// isValueMissing reports whether err is caused by a missing required value.
func isValueMissing(err error) bool {
	e, ok := err.(*engine.Error)
	return ok && e.Reason == "required"
}

// storeObjects writes new objects directly, with their stages.
func (im *importer) storeObjects(ctx context.Context, objects []*object) error {
	var items []*engine.Item
	for _, o := range objects {
		items = append(items, &engine.Item{Class: o.class, Version: o.version, Creator: o.creator, Editor: o.editor, Values: o.full})
		items = append(items, o.stages...)
	}
	return im.Data.Import(ctx, items)
}

// saveObjects saves objects with Archive.Save, like records of builtin/acceptor. All objects must
// have the same creator, which counts as the account that writes them.
func (im *importer) saveObjects(ctx context.Context, objects []*object) error {
	var stages []*engine.Item
	records := make([]engine.Record, len(objects))
	for i, o := range objects {
		records[i] = engine.Record{Class: o.class, ID: o.id, Version: o.version, Values: slices.Clone(o.given)}
		stages = append(stages, o.stages...)
	}
	if creator := objects[0].creator; creator != "" {
		ctx = engine.WithAccount(ctx, &engine.Account{ID: creator})
	}
	_, err := im.Data.Save(ctx, records)
	if isValueMissing(err) && len(objects) == 1 && objects[0].id != "" && !slices.ContainsFunc(objects[0].given, hasRecords) {
		err = im.storeIncomplete(ctx, objects[0])
	}
	if err == nil && len(stages) > 0 {
		err = im.Data.Import(ctx, stages)
	}
	return err
}

// storeIncomplete stores an object without a required value, which Archive.Save would refuse. It
// does not compute the values that Save computes.
func (im *importer) storeIncomplete(ctx context.Context, o *object) error {
	it := &engine.Item{Class: o.class, Version: o.version, Creator: o.creator, Editor: o.editor, Values: slices.Clone(o.given)}
	if o.stored == nil {
		o.class.Stamp(it.Values, im.Generate, true)
		if err := o.class.Complete(it.Values, im.Generate); err != nil && !isValueMissing(err) {
			return err
		}
	} else {
		o.class.Stamp(it.Values, im.Generate, false)
		stored := *o.stored
		stored.Version, stored.Values = o.version, slices.Clone(o.stored.Values)
		for i, v := range it.Values {
			if p := o.stored.Class.Property(o.class.Properties[i].Name); v != engine.Absent && p != nil {
				stored.Values[p.Index] = v
			}
		}
		it = &stored
	}
	for _, p := range o.class.Properties {
		inItem := it.Class.Property(p.Name)
		if plain, ok := o.given[p.Index].(string); ok && p.Type == engine.Password && inItem != nil {
			hash, err := im.Hash(ctx, plain)
			if err != nil {
				return err
			}
			it.Values[inItem.Index] = hash
		}
	}
	return im.Data.Import(ctx, []*engine.Item{it})
}
