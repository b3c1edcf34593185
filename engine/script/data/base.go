package data

import (
	"context"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/script/js"
	"restsrv/engine/script/vm"
)

// In IONDV, item.base holds the stored form of an item. It contains the ids of the members of each collection
// without a back reference. restsrv stores these links separately. Services that are based on IONDV's Service class
// and use base in their text therefore load such collections with every item; other services do not load them.

// withStored adds the collections that item.base contains to the properties that are loaded with items of a class.
func (r arguments) withStored(c *engine.Class, load []*engine.Load) []*engine.Load {
	if !r.h.Service.Legacy || !r.h.scripts.UsesBase() {
		return load
	}
	named := map[string]bool{}
	for _, l := range load {
		named[l.Property.Name] = true
	}
	for _, p := range c.Properties {
		if p.Type == engine.Collection && p.Back == nil && !named[p.Name] && !c.Hides(p) {
			load = append(load, &engine.Load{Property: p})
		}
	}
	return load
}

// isComputedOption reports whether an option of aggregate requests computed rows instead of the stored objects.
func isComputedOption(f engine.Field) bool {
	return f.Value != nil && (f.Name == "fields" || f.Name == "aggregates" || f.Name == "distinct")
}

// storedRows is an aggregation without fields and aggregates. It returns the stored form of each object.
func (r *jsRepository) storedRows(call goja.FunctionCall) (vm.Operation, error) {
	o := js.ObjectOf(call.Argument(1))
	q, err := r.newQuery(call.Argument(0), o)
	if err != nil {
		return vm.Operation{}, err
	}
	if err := r.readPageOptions(q, o); err != nil {
		return vm.Operation{}, err
	}
	return vm.Operation{Do: func(ctx context.Context) (func() goja.Value, error) {
		items, err := r.listItems(ctx, q)
		return func() goja.Value {
			rows := make([]any, len(items))
			for i, it := range items {
				rows[i] = (&jsItem{h: r.h, item: it}).baseObject()
			}
			return r.h.JS.NewArray(rows...)
		}, err
	}}, nil
}
