package transfer

import (
	"context"
	"errors"
	"slices"

	"restsrv/engine"
	"restsrv/engine/mistake"
)

// batchSize is how many objects are saved by one transaction.
const batchSize = 500

// maxRetried bounds the objects that are tried again at the end.
const maxRetried = 10_000

// Config is what an import needs.
type Config struct {
	Data Archive
	Meta engine.MetaRepository
	// System are the classes of the server's own items, which exports hold
	// beside those of the application. Sources that are not Exact cannot name
	// them.
	System []*engine.Class
	// Strict refuses objects with a value that does not fit, or null where a value is
	// required. Otherwise they are taken, without the values that do not fit.
	Strict bool
	// Stage makes the item that says which stage of a workflow an object has reached.
	// It returns nil if the class has no such workflow or the workflow no such stage.
	// Without Stage there are none.
	Stage func(c *engine.Class, id, workflow, stage string) *engine.Item
	// Accept stores the files that values bring, as Files.Accept does; nil
	// refuses them.
	Accept func(ctx context.Context, c *engine.Class, id string, v engine.Values) error
	// Hash turns a password into what is stored, Matches tells whether it is
	// the one that was stored.
	Hash    func(ctx context.Context, plain string) (string, error)
	Matches func(ctx context.Context, hash, plain string) (bool, error)
	// Generate makes the values that the server supplies: GUID and Now.
	Generate engine.Generate
	// Content stores what Export wrote of the content of a file; nil passes
	// over it.
	Content Content
	// Progress is told how far the import came, in units of Source.Total.
	Progress func(done int64)
}

// Import saves the objects of a source. Objects may refer to others that come
// later. Those that are there are changed where they differ. What cannot be
// saved is in the report and keeps nothing else from being saved; the error is
// that of a database that is away, or of ctx. No journal is kept of it.
func Import(ctx context.Context, cfg Config, s Source) (*Report, error) {
	ctx = engine.Unjournaled(ctx)
	if s.Exact {
		return restore(ctx, cfg, s)
	}
	im := &importer{Config: cfg, source: s, report: newReport(), inBatch: map[string]bool{}, named: map[string]bool{}}
	for o := range s.Objects {
		if err := ctx.Err(); err != nil {
			return im.report, err
		}
		if err := im.take(ctx, o); err != nil {
			return im.report, err
		}
	}
	if err := im.flush(ctx); err != nil {
		return im.report, err
	}
	err := im.retry(ctx)
	im.report.Refused = slices.DeleteFunc(im.report.Refused, func(f Refusal) bool { return f.Rule == mistake.DataOther && im.named[f.Where] })
	return im.report, err
}

type importer struct {
	Config
	source  Source
	report  *Report
	named   map[string]bool // files whose contents objects have named
	batch   []*object
	inBatch map[string]bool
	again   []*object // refused, perhaps because of what comes later
	last    bool      // nothing comes later
}

// take binds an object and saves the batch when it is full. Two objects with
// one id do not share a batch: the second must see the first.
func (im *importer) take(ctx context.Context, in Object) error {
	defer im.progress(in.Size)
	if in.Numbers != nil {
		im.report.Sequences += len(in.Numbers)
		return im.Data.RaiseNumbers(ctx, in.Numbers)
	}
	o, err := im.bind(ctx, in)
	switch {
	case fatal(err):
		return err
	case in.Err != nil:
		im.report.unreadable(in)
		return nil
	case err != nil:
		im.report.refuse(in.Where, err)
		return nil
	}
	key := o.class.Root().FullName + "\x00" + o.id
	if o.id != "" && im.inBatch[key] || len(im.batch) == batchSize {
		if err := im.flush(ctx); err != nil {
			return err
		}
	}
	im.batch = append(im.batch, o)
	im.inBatch[key] = true
	return nil
}

func (im *importer) progress(size int64) {
	if im.Progress != nil {
		im.Progress(size)
	}
}

// flush saves the batch: what is new and complete as it is, the rest as the
// acceptor does.
func (im *importer) flush(ctx context.Context) error {
	batch := im.batch
	im.batch = nil
	clear(im.inBatch)
	if err := im.compare(ctx, batch); err != nil {
		return err
	}
	var exact, save []*object
	for _, o := range batch {
		switch err := im.complete(ctx, o); {
		case fatal(err):
			return err
		case err != nil:
			im.report.refuse(o.where, err)
		case o.unchanged:
			if err := im.Data.Import(ctx, o.stages); err != nil {
				return err
			}
			im.report.Unchanged++
			im.taken(o)
		case o.exact:
			exact = append(exact, o)
		default:
			save = append(save, o)
		}
	}
	if err := im.together(exact, func(some []*object) error { return im.store(ctx, some) }); err != nil {
		return err
	}
	for len(save) > 0 {
		n := 1
		for n < len(save) && save[n].creator == save[0].creator {
			n++
		}
		if err := im.together(save[:n], func(some []*object) error { return im.save(ctx, some) }); err != nil {
			return err
		}
		save = save[n:]
	}
	return nil
}

func (im *importer) taken(o *object) {
	im.report.Taken[o.class.FullName]++
	im.report.Refused = append(im.report.Refused, o.left...)
}

// together saves objects at once or, when that fails, one by one.
func (im *importer) together(objects []*object, write func([]*object) error) error {
	if len(objects) == 0 {
		return nil
	}
	err := write(objects)
	if fatal(err) {
		return err
	}
	for i, o := range objects {
		alone := err
		if err != nil && len(objects) > 1 {
			if alone = write(objects[i : i+1]); fatal(alone) {
				return alone
			}
		}
		switch {
		case alone == nil:
			im.taken(o)
		case !im.last && len(im.again) < maxRetried && engine.CodeOf(alone) == engine.Invalid:
			im.again = append(im.again, o)
		default:
			im.report.refuse(o.where, alone)
		}
	}
	return nil
}

// retry tries again what was refused: it may have waited for a later object.
func (im *importer) retry(ctx context.Context) error {
	im.last = true
	for _, o := range im.again {
		im.batch = []*object{o}
		if err := im.flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

// reasonOf words an error for people who import: its cause is not for them.
func reasonOf(err error) string {
	var e *engine.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}

// fatal reports whether an error is not about the object.
func fatal(err error) bool {
	if err == nil {
		return false
	}
	switch engine.CodeOf(err) {
	case engine.Unavailable, engine.Timeout:
		return true
	}
	return errors.Is(err, context.Canceled)
}
