package transfer

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"restsrv/engine"
)

// pageSize is how many items are read at once.
const pageSize = 1000

// pieceSize is how many bytes of a content are in one line.
const pieceSize = 1 << 20

// ExportConfig is what an export needs.
type ExportConfig struct {
	Data    Archive
	Classes []*engine.Class // of the server and of the application, in the order in which they are written
	// Files is the class of the rows that name contents, Content has these;
	// without them contents are left out.
	Files   *engine.Class
	Content Content
	// Progress is told of every item that was written.
	Progress func(done int64)
}

// Roots are the classes without ancestors, in their order.
func Roots(classes []*engine.Class) (roots []*engine.Class) {
	for _, c := range classes {
		if c.Ancestor == nil {
			roots = append(roots, c)
		}
	}
	return roots
}

// Total is how many items of the classes there are.
func Total(ctx context.Context, data Archive, classes []*engine.Class) (total int64, err error) {
	for _, c := range Roots(classes) {
		n, err := data.Count(ctx, &engine.Query{Class: c, Count: -1})
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// Export writes everything as NDJSON that Import restores. The same content is
// always the same text. It holds a page of items in memory, whatever there is.
// What is written meanwhile may be in it or not. items counts by class.
func Export(ctx context.Context, cfg ExportConfig, out io.Writer) (items map[string]int, err error) {
	e := &exporter{ExportConfig: cfg, out: bufio.NewWriterSize(out, 1<<16), items: map[string]int{}}
	e.line([]byte(header))
	for _, step := range []func(context.Context) error{e.allItems, e.allLinks, e.allCounters, e.allContents} {
		if err := step(ctx); err != nil {
			return e.items, err
		}
	}
	e.value(ending{endingKind, e.total})
	return e.items, e.out.Flush()
}

type exporter struct {
	ExportConfig
	out   *bufio.Writer
	room  []byte
	items map[string]int
	total int
}

// line writes a line; a failure to write shows at the end.
func (e *exporter) line(text []byte) {
	_, _ = e.out.Write(text)
	_ = e.out.WriteByte('\n')
}

func (e *exporter) value(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // lines are structs of text and numbers
	}
	e.line(text)
}

func (e *exporter) allItems(ctx context.Context) error {
	for _, c := range Roots(e.Classes) {
		err := eachItem(ctx, e.Data, c, func(it *engine.Item) error {
			e.room = appendItem(e.room[:0], it)
			e.line(e.room)
			e.items[it.Class.FullName]++
			e.total++
			if e.Progress != nil {
				e.Progress(1)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := e.written(); err != nil {
			return err
		}
	}
	return nil
}

// written is the failure to write, if there was one.
func (e *exporter) written() error {
	_, err := e.out.Write(nil)
	return err
}

// eachItem visits the items of a class and below it, page by page.
func eachItem(ctx context.Context, data Archive, c *engine.Class, visit func(*engine.Item) error) error {
	for after := int64(0); ; {
		last, err := data.Dump(ctx, c, after, pageSize, visit)
		if err != nil || last == 0 {
			return err
		}
		after = last
	}
}

// collections are those of the archive that are kept as links, in the order of
// their names.
func collections(data Archive) []*engine.Property {
	linked := data.Linked()
	slices.SortFunc(linked, func(a, b *engine.Property) int {
		return slices.Compare([]string{a.Definition, a.Name}, []string{b.Definition, b.Name})
	})
	return linked
}

func (e *exporter) allLinks(ctx context.Context) error {
	for _, p := range collections(e.Data) {
		l := linksLine{Collection: p.Definition + "." + p.Name}
		flush := func() {
			if len(l.Members) > 0 {
				e.value(l)
			}
			l.Members = l.Members[:0]
		}
		err := eachLink(ctx, e.Data, p, func(owner, member string) error {
			if owner != l.Owner || len(l.Members) == pageSize {
				flush()
				l.Owner = owner
			}
			l.Members = append(l.Members, member)
			return nil
		})
		if err != nil {
			return err
		}
		flush()
	}
	return e.written()
}

func eachLink(ctx context.Context, data Archive, p *engine.Property, visit func(owner, member string) error) error {
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
		e.value(counterLine{name, counters[name]})
	}
	return nil
}

// allContents writes every content that a row of files names, once. A content
// that is lost is left out.
func (e *exporter) allContents(ctx context.Context) error {
	if e.Content == nil || e.Files == nil {
		return nil
	}
	hashes := map[string]bool{}
	err := eachItem(ctx, e.Data, e.Files, func(it *engine.Item) error {
		if hash, _ := it.Get("hash").(string); hash != "" {
			hashes[hash] = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	sorted := make([]string, 0, len(hashes))
	for hash := range hashes {
		sorted = append(sorted, hash)
	}
	slices.Sort(sorted)
	for _, hash := range sorted {
		if err := e.content(ctx, hash); err != nil {
			return err
		}
	}
	return nil
}

func (e *exporter) content(ctx context.Context, hash string) error {
	r, err := e.Content.Open(ctx, hash)
	if err != nil {
		if engine.CodeOf(err) == engine.NotFound {
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
			e.value(contentLine{Hash: hash, Data: piece})
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			e.value(contentLine{Hash: hash, Size: &size, Data: piece[:n]})
			return e.written()
		default:
			return err
		}
	}
}
