package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"maps"
	"slices"

	"restsrv/engine"
)

// Sum is the number of the items of one class, or of the links of one collection, with a hash of
// these items or links. The hash depends on the order of insertion.
type Sum struct {
	Name  string // full name of the class, or class.collection
	Count int64
	Hash  string
}

// Copy copies the items, links and counters of the classes from one database to another, in the
// order of insertion. It reads from one snapshot. An item in the target with the same id is
// replaced. progress, if not nil, is called with the number of items written since its last call.
func Copy(ctx context.Context, from, to Archive, classes []*engine.Class, progress func(done int64)) error {
	return from.Snapshot(ctx, func(ctx context.Context) error { return copyAll(ctx, from, to, classes, progress) })
}

func copyAll(ctx context.Context, from, to Archive, classes []*engine.Class, progress func(done int64)) error {
	for _, c := range Roots(classes) {
		if err := copyItems(ctx, from, to, c, progress); err != nil {
			return err
		}
	}
	for _, p := range linkedCollections(from) {
		if err := copyLinks(ctx, from, to, p); err != nil {
			return err
		}
	}
	counters, err := from.Counters(ctx)
	if err != nil || len(counters) == 0 {
		return err
	}
	return to.ImportCounters(ctx, counters)
}

func copyItems(ctx context.Context, from, to Archive, c *engine.Class, progress func(done int64)) error {
	var batch []*engine.Item
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := to.Import(ctx, batch)
		if err == nil && progress != nil {
			progress(int64(len(batch)))
		}
		batch = batch[:0]
		return err
	}
	for after := int64(0); ; {
		// The callback of Dump must not call a store, so the items are written after Dump has
		// returned.
		last, err := from.Dump(ctx, c, after, batchSize, func(it *engine.Item) error {
			batch = append(batch, it.Clone())
			return nil
		})
		if err != nil || last == 0 {
			return err
		}
		if err := flush(); err != nil {
			return err
		}
		after = last
	}
}

func copyLinks(ctx context.Context, from, to Archive, p *engine.Property) error {
	for after := int64(0); ; {
		var pairs [][2]string
		last, err := from.DumpLinks(ctx, p, after, pageSize, func(owner, member string) error {
			pairs = append(pairs, [2]string{owner, member})
			return nil
		})
		if err != nil || last == 0 {
			return err
		}
		if err := to.ImportLinks(ctx, p, pairs); err != nil {
			return err
		}
		after = last
	}
}

// Sums returns a Sum for each class and each collection with links, and for the counters, sorted by
// name. All are read from one snapshot. Revisions of items are not part of the hash, because they
// differ between databases.
func Sums(ctx context.Context, data Dumper, classes []*engine.Class) (sums []Sum, err error) {
	err = data.Snapshot(ctx, func(ctx context.Context) (err error) {
		sums, err = sumAll(ctx, data, classes)
		return err
	})
	return sums, err
}

func sumAll(ctx context.Context, data Dumper, classes []*engine.Class) ([]Sum, error) {
	hashes := map[string]hash.Hash{}
	counts := map[string]int64{}
	add := func(name string, text []byte) {
		if hashes[name] == nil {
			hashes[name] = sha256.New()
		}
		counts[name]++
		hashes[name].Write(append(text, '\n'))
	}
	var room []byte
	for _, c := range Roots(classes) {
		err := eachItem(ctx, data, c, func(it *engine.Item) error {
			room = appendItem(room[:0], it)
			add(it.Class.FullName, room)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for _, p := range linkedCollections(data) {
		err := eachLink(ctx, data, p, func(owner, member string) error {
			room = engine.AppendString(engine.AppendString(room[:0], owner), member)
			add(p.Definition+"."+p.Name, room)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	counters, err := data.Counters(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(counters)) {
		add("counters", engine.AppendValue(engine.AppendString(room[:0], name), counters[name]))
	}
	sums := make([]Sum, 0, len(hashes))
	for _, name := range slices.Sorted(maps.Keys(hashes)) {
		sums = append(sums, Sum{name, counts[name], hex.EncodeToString(hashes[name].Sum(nil)[:8])})
	}
	return sums, nil
}
