package transfer

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"

	"restsrv/engine"
)

// pageSize is the number of items or links that are read with one statement.
const pageSize = 1000

// pieceSize is the number of bytes of a file's content in one line of an export.
const pieceSize = 1 << 20

// ExportConfig configures an export.
type ExportConfig struct {
	Data    Dumper
	Classes []*engine.Class // classes to export, including those of the server, in the order of the export
	// Files is the class of file records; each record names a content by its hash. Content holds
	// the contents. If either is nil, contents are not exported. The caller must not delete the
	// content of a file before the export ends.
	Files   *engine.Class
	Content Content
	// Lost, if not nil, is called for each content that is missing in Content. Its arguments are
	// the hash of the content and the id of a file record with this hash.
	Lost func(hash, file string)
	// Read, if not nil, is called after the last read from Data.
	Read func()
	// Begin, if not nil, is called with the total number of items. It returns a function that Export
	// then calls with the number of items written since its last call.
	Begin func(total int64) (progress func(done int64))
}

// Roots returns the classes without ancestors, in the given order.
func Roots(classes []*engine.Class) (roots []*engine.Class) {
	for _, c := range classes {
		if c.Ancestor == nil {
			roots = append(roots, c)
		}
	}
	return roots
}

// Total returns the number of items of the classes and their descendants.
func Total(ctx context.Context, data Dumper, classes []*engine.Class) (total int64, err error) {
	for _, c := range Roots(classes) {
		n, err := data.Count(ctx, &engine.Query{Class: c, Count: -1})
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// Export writes items, links, counters and the contents of files as NDJSON (see line.go), from
// which Import can restore them. It also exports stored items of classes that the application
// does not have any more. All data is from one snapshot, so concurrent writes do not affect the
// export. Exports of equal data are equal texts. At most one page of items is in memory. The
// result is the number of exported items by class.
func Export(ctx context.Context, cfg ExportConfig, out io.Writer) (items map[string]int, err error) {
	e := &exporter{ExportConfig: cfg, out: bufio.NewWriterSize(out, 1<<16), items: map[string]int{}}
	e.writeLine([]byte(header))
	err = e.Data.Snapshot(ctx, func(ctx context.Context) error {
		for _, step := range []func(context.Context) error{e.begin, e.allItems, e.allLinks, e.allCounters, e.allFiles} {
			if err := step(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if e.Read != nil {
		e.Read()
	}
	if err == nil { // contents never change, so they are read without the snapshot
		err = e.allContents(ctx)
	}
	if err != nil {
		return e.items, err
	}
	e.writeValue(ending{endingKind, e.total})
	return e.items, e.out.Flush()
}

type exporter struct {
	ExportConfig
	out      *bufio.Writer
	room     []byte
	items    map[string]int
	total    int
	progress func(done int64)
	contents map[string]string // by hash; the value is the id of a file record with that content
}

// begin counts the items to export if the caller wants to show progress.
func (e *exporter) begin(ctx context.Context) error {
	e.progress = func(int64) {}
	if e.Begin == nil {
		return nil
	}
	total, err := Total(ctx, e.Data, e.Classes)
	if err == nil {
		e.progress = e.Begin(total)
	}
	return err
}

// writeLine writes a line. If the write fails, the next call of writeError or Flush returns the
// error.
func (e *exporter) writeLine(text []byte) {
	_, _ = e.out.Write(text)
	_ = e.out.WriteByte('\n')
}

func (e *exporter) writeValue(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // cannot happen: lines are structs of text and numbers
	}
	e.writeLine(text)
}

func (e *exporter) allItems(ctx context.Context) error {
	write := func(it *engine.Item) error {
		e.room = appendItem(e.room[:0], it)
		e.writeLine(e.room)
		e.items[it.Class.FullName]++
		e.total++
		e.progress(1)
		return nil
	}
	for _, c := range Roots(e.Classes) {
		if err := eachItem(ctx, e.Data, c, write); err != nil {
			return err
		}
		if err := e.writeError(); err != nil {
			return err
		}
	}
	if err := e.Data.DumpForgotten(ctx, write); err != nil {
		return err
	}
	return e.writeError()
}

// writeError returns the error of an earlier write, if there was one.
func (e *exporter) writeError() error {
	_, err := e.out.Write(nil)
	return err
}

// eachItem calls visit for the items of a class and its descendants. It reads them page by page.
func eachItem(ctx context.Context, data Dumper, c *engine.Class, visit func(*engine.Item) error) error {
	for after := int64(0); ; {
		last, err := data.Dump(ctx, c, after, pageSize, visit)
		if err != nil || last == 0 {
			return err
		}
		after = last
	}
}

// linkedCollections returns the collections that are stored as links (see Dumper.Linked), sorted by
// name.
func linkedCollections(data Dumper) []*engine.Property {
	linked := data.Linked()
	slices.SortFunc(linked, func(a, b *engine.Property) int {
		return slices.Compare([]string{a.Definition, a.Name}, []string{b.Definition, b.Name})
	})
	return linked
}

func (e *exporter) allLinks(ctx context.Context) error {
	l := linksLine{}
	flush := func() {
		if len(l.Members) > 0 {
			e.writeValue(l)
		}
		l.Members = l.Members[:0]
	}
	add := func(class, collection, owner, member string) error {
		if name := class + "." + collection; name != l.Collection || owner != l.Owner || len(l.Members) == pageSize {
			flush()
			l.Collection, l.Owner = name, owner
		}
		l.Members = append(l.Members, member)
		return nil
	}
	for _, p := range linkedCollections(e.Data) {
		err := eachLink(ctx, e.Data, p, func(owner, member string) error { return add(p.Definition, p.Name, owner, member) })
		if err != nil {
			return err
		}
	}
	if err := e.Data.DumpForgottenLinks(ctx, add); err != nil {
		return err
	}
	flush()
	return e.writeError()
}

func eachLink(ctx context.Context, data Dumper, p *engine.Property, visit func(owner, member string) error) error {
	for after := int64(0); ; {
		last, err := data.DumpLinks(ctx, p, after, pageSize, visit)
		if err != nil || last == 0 {
			return err
		}
		after = last
	}
}

func (e *exporter) allCounters(ctx context.Context) error {
	counters, err := e.Data.Counters(ctx)
	if err != nil {
		return err
	}
	names := make([]string, 0, len(counters))
	for name := range counters {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		e.writeValue(counterLine{name, counters[name]})
	}
	return nil
}

// allFiles collects the hashes of the contents that file records name.
func (e *exporter) allFiles(ctx context.Context) error {
	if e.Content == nil || e.Files == nil {
		return nil
	}
	e.contents = map[string]string{}
	return eachItem(ctx, e.Data, e.Files, func(it *engine.Item) error {
		if hash, _ := it.Get("hash").(string); hash != "" {
			e.contents[hash] = it.ID
		}
		return nil
	})
}

// allContents writes the contents that allFiles has collected, each once. It skips missing
// contents.
func (e *exporter) allContents(ctx context.Context) error {
	for _, hash := range slices.Sorted(maps.Keys(e.contents)) {
		if err := e.writeContent(ctx, hash); err != nil {
			return err
		}
	}
	return nil
}

func (e *exporter) writeContent(ctx context.Context, hash string) error {
	r, err := e.Content.Open(ctx, hash)
	if err != nil {
		if engine.CodeOf(err) == engine.NotFound {
			if e.Lost != nil {
				e.Lost(hash, e.contents[hash])
			}
			return nil
		}
		return err
	}
	defer r.Close()
	piece, size := make([]byte, pieceSize), int64(0)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := io.ReadFull(r, piece)
		size += int64(n)
		switch {
		case err == nil:
			e.writeValue(contentLine{Hash: hash, Data: piece})
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			e.writeValue(contentLine{Hash: hash, Size: &size, Data: piece[:n]})
			return e.writeError()
		default:
			return err
		}
	}
}
