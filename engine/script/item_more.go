package script

import (
	"context"
	"errors"

	"github.com/dop251/goja"

	"restsrv/engine"
)

// filesObject returns an object with the files of the item by attribute. Each
// file has the method getContents.
func (it *jsItem) filesObject() goja.Value {
	o := it.h.js.NewObject()
	plain := &jsStorage{h: it.h, storage: it.h.storage}
	images := *plain
	images.images, _ = plain.storage.(engine.ImageStorage)
	for i, p := range it.item.Class.Properties {
		if !p.Type.IsFile() || it.item.Class.Hides(p) {
			continue
		}
		s := plain
		if p.Type == engine.Image {
			s = &images
		}
		held := engine.FilesIn(it.item.Values[i])
		all := make([]any, len(held))
		for j, f := range held {
			all[j] = s.fileObject(f)
		}
		text, _ := it.item.Values[i].(engine.JSONText)
		switch {
		case len(text) > 0 && text[0] == '[':
			it.h.put(o, p.Name, it.h.js.NewArray(all...))
		case len(all) > 0:
			it.h.put(o, p.Name, all[0].(goja.Value))
		}
	}
	return o
}

// jsonObject returns the result of toJSON: the item as crud returns it, and the
// properties that a script added.
func (it *jsItem) jsonObject() goja.Value {
	o := it.h.envelopeObject(it.item, nil)
	for _, name := range it.extra.names {
		it.h.put(o, name, it.extra.values[name])
	}
	return o
}

// addAsyncItemMethods adds the asynchronous methods.
func (h *dataBinding) addAsyncItemMethods(add func(name string, f func(it *jsItem, call goja.FunctionCall) goja.Value)) {
	// Calculated attributes have their values when an item is read.
	// calculateProperties computes them again after a call of set, from the
	// loaded objects. Cached values are computed again only when the item is
	// written.
	add("calculateProperties", func(it *jsItem, _ goja.FunctionCall) goja.Value {
		p, resolve, reject := h.js.NewPromise()
		if err := it.computeValues(); err != nil {
			must(reject(h.errorOf(err, h.callStack())))
		} else {
			must(resolve(goja.Undefined()))
		}
		return h.js.ToValue(p)
	})
}

func (it *jsItem) computeValues() error {
	if !it.changed {
		return nil
	}
	fresh := it.item.Clone()
	fresh.Links = append([]engine.Link(nil), it.item.Links...)
	if err := fresh.Compute(context.Background(), loadedOnly{it.h}); err != nil {
		var e *engine.Error
		if errors.As(err, &e) && e.Reason == errNotLoaded.Reason {
			return engine.Errorf(engine.Invalid, "formula", "calculateProperties: a formula looks other objects up: what it makes of changed values is known once they are written")
		}
		return err
	}
	it.item, it.base, it.links = fresh, nil, nil
	return nil
}
