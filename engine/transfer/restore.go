package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"restsrv/engine"
)

// Content is a storage for the contents of files. The key of a content is its hash.
type Content interface {
	// Put stores the content and returns its hash.
	Put(ctx context.Context, content io.Reader) (hash string, err error)
	// Open returns the content with a hash. If it does not exist, the error is NotFound.
	Open(ctx context.Context, hash string) (io.ReadCloser, error)
}

// restoreExport imports a file that Export wrote.
func restoreExport(ctx context.Context, cfg Config, s Source) (*Report, error) {
	r := &restorer{Config: cfg, report: newReport(), linked: map[string]*engine.Property{}}
	for _, p := range cfg.Data.Linked() {
		r.linked[p.Definition+"."+p.Name] = p
	}
	ended := false
	for o := range s.Objects {
		if err := ctx.Err(); err != nil {
			return r.report, err
		}
		end, err := r.takeLine(ctx, o)
		if err != nil {
			return r.report, err
		}
		ended = ended || end
		r.Config.progress(o.Size)
	}
	if err := r.flush(ctx); err != nil {
		return r.report, err
	}
	if r.upload != nil {
		r.addRefused(r.upload.where, r.upload.abort())
	}
	if !ended {
		r.report.addRefusal("the export", errors.New("it is cut off: its last line is missing"))
	}
	return r.report, nil
}

func (c *Config) progress(size int64) {
	if c.Progress != nil {
		c.Progress(size)
	}
}

type restorer struct {
	Config
	report *Report
	linked map[string]*engine.Property

	items  []*engine.Item
	where  []string // place of each item in the source, for reports
	links  []link   // links of one collection that are not stored yet
	upload *upload
	seen   int // items since the start or the previous ending; a file may contain several exports
}

// link is a link to store in collection p.
type link struct {
	p             *engine.Property
	owner, member string
	where         string
}

func (r *restorer) addRefused(where string, err error) {
	if err != nil {
		r.report.addRefusal(where, err)
	}
}

// takeLine processes one line. end is true for the ending.
func (r *restorer) takeLine(ctx context.Context, o Object) (end bool, err error) {
	if o.Err != nil {
		r.seen++ // counts as an item, so that checkEnding does not report it again
		r.report.addRefusal(o.Where, o.Err)
		return false, nil
	}
	var l line
	if json.Unmarshal(o.Line, &l) != nil {
		r.seen++
		r.report.addRefusal(o.Where, errors.New("the line is no JSON object"))
		return false, nil
	}
	switch {
	case l["_class"] != nil:
		r.seen++
		err = r.takeItem(ctx, l, o.Where)
	case l["_links"] != nil:
		err = r.takeLinks(ctx, o)
	case l["_counter"] != nil:
		err = r.takeCounter(ctx, o)
	case l["_content"] != nil:
		err = r.takeContent(ctx, o)
	case l.textField("_restsrv") == endingKind:
		return true, r.checkEnding(o)
	case l["_restsrv"] == nil:
		err = errors.New("the line is none that restsrv export writes")
	}
	if err != nil && !isFatal(err) {
		r.report.addRefusal(o.Where, err)
		err = nil
	}
	return false, err
}

// checkEnding compares the number of items that were read with the number in the ending. It reports
// a difference, which means that lines were lost or edited.
func (r *restorer) checkEnding(o Object) error {
	var end ending
	if json.Unmarshal(o.Line, &end) != nil || end.Items != r.seen {
		r.report.addRefusal(o.Where, fmt.Errorf("the export was written with %d objects, accounts and other entries, found %d", end.Items, r.seen))
	}
	r.seen = 0
	return nil
}

func (r *restorer) findClass(name string) (*engine.Class, error) {
	for _, c := range r.System {
		if c.FullName == name {
			return c, nil
		}
	}
	return r.Meta.Class(name)
}

func (r *restorer) takeItem(ctx context.Context, l line, where string) error {
	c, err := r.findClass(l.textField("_class"))
	if err != nil {
		return err
	}
	it, unknown, err := readItem(l, c)
	if err != nil {
		return err
	}
	for _, name := range unknown {
		r.report.Ignored[c.FullName+"."+name]++
	}
	r.items, r.where = append(r.items, it), append(r.where, where)
	if len(r.items) < batchSize {
		return nil
	}
	return r.flush(ctx)
}

// flush stores the collected items with one call, then the links with another call. If a call
// fails, flush stores the items or links of this call one by one.
func (r *restorer) flush(ctx context.Context) error {
	if err := r.flushItems(ctx); err != nil {
		return err
	}
	return r.flushLinks(ctx)
}

func (r *restorer) flushItems(ctx context.Context) error {
	items, where := r.items, r.where
	r.items, r.where = nil, nil
	if len(items) == 0 {
		return nil
	}
	err := r.Data.Import(ctx, items)
	if isFatal(err) {
		return err
	}
	for i, it := range items {
		alone := err
		if err != nil && len(items) > 1 {
			if alone = r.Data.Import(ctx, items[i:i+1]); isFatal(alone) {
				return alone
			}
		}
		if alone != nil {
			r.report.addRefusal(where[i], alone)
			continue
		}
		r.report.Taken[it.Class.FullName]++
	}
	return nil
}

func (r *restorer) takeLinks(ctx context.Context, o Object) error {
	if err := r.flushItems(ctx); err != nil {
		return err
	}
	var l linksLine
	if json.Unmarshal(o.Line, &l) != nil {
		return errors.New("links are an object of _links, _id and members")
	}
	p := r.linked[l.Collection]
	if p == nil {
		return fmt.Errorf("there is no collection %s that is kept as links", engine.Quote(l.Collection))
	}
	if len(r.links) > 0 && (r.links[0].p != p || len(r.links) >= batchSize) {
		if err := r.flushLinks(ctx); err != nil {
			return err
		}
	}
	for _, m := range l.Members {
		r.links = append(r.links, link{p, l.Owner, m, o.Where})
	}
	return nil
}

func (r *restorer) flushLinks(ctx context.Context) error {
	links := r.links
	r.links = nil
	if len(links) == 0 {
		return nil
	}
	pairs := make([][2]string, len(links))
	for i, l := range links {
		pairs[i] = [2]string{l.owner, l.member}
	}
	err := r.Data.ImportLinks(ctx, links[0].p, pairs)
	if err == nil || isFatal(err) {
		return err
	}
	for i, l := range links {
		if err := r.Data.ImportLinks(ctx, l.p, pairs[i:i+1]); isFatal(err) {
			return err
		} else if err != nil {
			r.report.addRefusal(l.where, err)
		}
	}
	return nil
}

func (r *restorer) takeCounter(ctx context.Context, o Object) error {
	var l counterLine
	if json.Unmarshal(o.Line, &l) != nil {
		return errors.New("a counter is an object of _counter and a whole number")
	}
	return r.Data.ImportCounters(ctx, map[string]int64{l.Counter: l.Value})
}

// takeContent processes a piece of a file's content.
func (r *restorer) takeContent(ctx context.Context, o Object) error {
	var l contentLine
	if json.Unmarshal(o.Line, &l) != nil {
		return errors.New("a content is an object of _content, size and data")
	}
	if r.Content == nil {
		return errors.New("the content of files cannot be taken: there is no file storage")
	}
	if r.upload != nil && r.upload.hash != l.Hash {
		r.addRefused(r.upload.where, r.upload.abort())
		r.upload = nil
	}
	if r.upload == nil {
		r.upload = startUpload(ctx, r.Content, l.Hash, o.Where)
	}
	if err := r.upload.write(l.Data); err != nil || l.Size == nil {
		return err
	}
	err := r.upload.finish(*l.Size)
	r.upload = nil
	return err
}

// upload is the content of a file that arrives in pieces. A goroutine stores it while takeContent
// writes the pieces to a pipe.
type upload struct {
	hash, where string
	size        int64
	pipe        *io.PipeWriter
	done        chan error
}

func startUpload(ctx context.Context, content Content, hash, where string) *upload {
	r, w := io.Pipe()
	u := &upload{hash: hash, where: where, pipe: w, done: make(chan error, 1)}
	go func() {
		got, err := content.Put(ctx, r)
		if err == nil && got != hash {
			err = fmt.Errorf("the content %s has the hash %s", hash, got)
		}
		_ = r.CloseWithError(io.ErrClosedPipe) // later writes to the pipe fail
		u.done <- err
	}()
	return u
}

func (u *upload) write(piece []byte) error {
	u.size += int64(len(piece))
	if _, err := u.pipe.Write(piece); err != nil {
		return fmt.Errorf("the content %s could not be stored", u.hash)
	}
	return nil
}

func (u *upload) finish(size int64) error {
	if size != u.size {
		_ = u.pipe.CloseWithError(io.ErrUnexpectedEOF)
		<-u.done
		return fmt.Errorf("the content %s has %d bytes, found %d", u.hash, size, u.size)
	}
	_ = u.pipe.Close() // never returns an error
	return <-u.done
}

// abort discards an incomplete content and returns the error for the report.
func (u *upload) abort() error {
	_ = u.pipe.CloseWithError(io.ErrUnexpectedEOF)
	<-u.done
	return fmt.Errorf("the content %s is cut off", u.hash)
}
