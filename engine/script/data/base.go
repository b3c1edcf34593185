package data

import (
	"context"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/script/js"
	"restsrv/engine/script/vm"
)

// In IONDV, item.base holds the values of an item as they are stored. For a collection without a back reference, that
// is an array of the ids of its members. restsrv stores these links separately, so it must load them. It does so with
// every item, but only for services that are based on IONDV's Service class and contain .base in their source text.

// withStored adds the collections of c that item.base contains to the relations in load. It does so only for the
// services described above.
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

// isComputedOption reports whether an option makes aggregate return computed rows instead of the stored values of the
// objects.
func isComputedOption(f engine.Field) bool {
	return f.Value != nil && (f.Name == "fields" || f.Name == "aggregates" || f.Name == "distinct")
}

// storedRows implements aggregate without the options fields, aggregates and distinct. It returns the stored values
// of each object; see item.base.
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
