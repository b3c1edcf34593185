package script

import (
	"context"
	"regexp"

	"github.com/dop251/goja"

	"restsrv/engine"
)

// In the ancestor item.base is what is stored of an item, and the collections
// that no back reference makes are stored in it, as the ids of their members.
// We have these elsewhere. So services built on the ancestor's base whose text
// names base get such collections loaded with every item; others do not pay for
// it.
var baseNames = regexp.MustCompile(`\.\s*base\b`)

// withStored adds to what is loaded with items of a class the collections that
// base shows.
func (r *jsRepository) withStored(c *engine.Class, load []*engine.Load) []*engine.Load {
	if !r.h.v.gen.legacy || !r.h.provided.base {
		return load
	}
	named := map[string]bool{}
	for _, l := range load {
		named[l.Property.Name] = true
	}
	for _, p := range c.Properties {
		if p.Type == engine.Collection && p.Back == nil && !named[p.Name] && !c.Lacks(p) {
			load = append(load, &engine.Load{Property: p})
		}
	}
	return load
}

// computes reports whether an option of aggregate asks for more than the objects
// that there are.
func computes(f engine.Field) bool {
	return f.Value != nil && (f.Name == "fields" || f.Name == "aggregates" || f.Name == "distinct")
}

// storedRows is an aggregation without fields and aggregates: what is stored of
// each object.
func (r *jsRepository) storedRows(call goja.FunctionCall) (operation, error) {
	o := objectOf(call.Argument(1))
	q, err := r.query(call.Argument(0), o)
	if err != nil {
		return operation{}, err
	}
	if err := r.page(q, o); err != nil {
		return operation{}, err
	}
	return operation{do: func(ctx context.Context) (func() goja.Value, error) {
		items, err := r.list(ctx, q)
		return func() goja.Value {
			rows := make([]any, len(items))
			for i, it := range items {
				rows[i] = (&jsItem{h: r.h, item: it}).baseObject()
			}
			return r.h.js.NewArray(rows...)
		}, err
	}}, nil
}
