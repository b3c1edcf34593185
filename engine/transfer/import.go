package transfer

import (
	"context"
	"errors"
	"slices"

	"restsrv/engine"
	"restsrv/engine/mistake"
)

// batchSize is the number of objects that one transaction saves.
const batchSize = 500

// maxRetried limits the objects that are tried again at the end.
const maxRetried = 10_000

// Config configures an import.
type Config struct {
	Data Archive
	Meta engine.MetaRepository
	// System are the classes of the server's own items, which exports contain besides those of the application. Sources
	// that are not Exact cannot name them.
	System []*engine.Class
	// Strict refuses an object if a value does not fit, or if a required value is null. Otherwise the object is
	// imported without the values that do not fit.
	Strict bool
	// Stage creates the stage item of an object in a workflow. It returns nil if the class has no such workflow, or if
	// the workflow has no such stage. If Stage is nil, stages are not imported.
	Stage func(c *engine.Class, id, workflow, stage string) *engine.Item
	// Accept stores the files that values contain, as Files.Accept does. If it is nil, objects with files are refused.
	Accept func(ctx context.Context, c *engine.Class, id string, v engine.Values) error
	// Hash hashes a password for storage. Matches reports whether a password matches the stored hash.
	Hash    func(ctx context.Context, plain string) (string, error)
	Matches func(ctx context.Context, hash, plain string) (bool, error)
	// Generate supplies the generated values: GUID and Now.
	Generate engine.Generate
	// Content stores contents of files that Export wrote. If it is nil, each content is refused.
	Content Content
	// Progress is called with the size of each processed object, in units of Source.Total.
	Progress func(done int64)
}

// Import saves the objects of a source. An object may refer to objects that come later. If an object is already stored,
// only differing values are changed. An object that cannot be saved is added to the report and does not stop the
// import. Import returns an error if the database is unavailable or if ctx ends. It writes no journal.
func Import(ctx context.Context, cfg Config, s Source) (*Report, error) {
	ctx = engine.Unjournaled(ctx)
	if s.Exact {
		return restoreExport(ctx, cfg, s)
	}
	im := &importer{Config: cfg, source: s, report: newReport(), inBatch: map[string]bool{}, named: map[string]bool{}}
	for o := range s.Objects {
		if err := ctx.Err(); err != nil {
			return im.report, err
		}
		if err := im.takeObject(ctx, o); err != nil {
			return im.report, err
		}
	}
	if err := im.flush(ctx); err != nil {
		return im.report, err
	}
	err := im.retryRefused(ctx)
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
	again   []*object // refused objects that may succeed after later objects
	last    bool      // no later objects follow
}

// takeObject binds an object and saves the batch when it is full. Two objects with the same id must not be in one
// batch, since the second must see the first.
func (im *importer) takeObject(ctx context.Context, in Object) error {
	defer im.reportProgress(in.Size)
	if in.Numbers != nil {
		im.report.Sequences += len(in.Numbers)
		return im.Data.RaiseNumbers(ctx, in.Numbers)
	}
	o, err := im.bindObject(ctx, in)
	switch {
	case isFatal(err):
		return err
	case in.Err != nil:
		im.report.addUnreadable(in)
		return nil
	case err != nil:
		im.report.addRefusal(in.Where, err)
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

func (im *importer) reportProgress(size int64) {
	if im.Progress != nil {
		im.Progress(size)
	}
}

// flush saves the batch. New and complete objects are written directly; other objects are saved as the acceptor does.
func (im *importer) flush(ctx context.Context) error {
	batch := im.batch
	im.batch = nil
	clear(im.inBatch)
	if err := im.loadStored(ctx, batch); err != nil {
		return err
	}
	var exact, save []*object
	for _, o := range batch {
		switch err := im.completeObject(ctx, o); {
		case isFatal(err):
			return err
		case err != nil:
			im.report.addRefusal(o.where, err)
		case o.unchanged:
			if err := im.Data.Import(ctx, o.stages); err != nil {
				return err
			}
			im.report.Unchanged++
			im.countTaken(o)
		case o.exact:
			exact = append(exact, o)
		default:
			save = append(save, o)
		}
	}
	if err := im.writeTogether(exact, func(some []*object) error { return im.storeObjects(ctx, some) }); err != nil {
		return err
	}
	for len(save) > 0 {
		n := 1
		for n < len(save) && save[n].creator == save[0].creator {
			n++
		}
		if err := im.writeTogether(save[:n], func(some []*object) error { return im.saveObjects(ctx, some) }); err != nil {
			return err
		}
		save = save[n:]
	}
	return nil
}

func (im *importer) countTaken(o *object) {
	im.report.Taken[o.class.FullName]++
	im.report.Refused = append(im.report.Refused, o.left...)
}

// writeTogether writes objects in one call. If that fails, it writes them one by one.
func (im *importer) writeTogether(objects []*object, write func([]*object) error) error {
	if len(objects) == 0 {
		return nil
	}
	err := write(objects)
	if isFatal(err) {
		return err
	}
	for i, o := range objects {
		alone := err
		if err != nil && len(objects) > 1 {
			if alone = write(objects[i : i+1]); isFatal(alone) {
				return alone
			}
		}
		switch {
		case alone == nil:
			im.countTaken(o)
		case !im.last && len(im.again) < maxRetried && engine.CodeOf(alone) == engine.Invalid:
			im.again = append(im.again, o)
		default:
			im.report.addRefusal(o.where, alone)
		}
	}
	return nil
}

// retryRefused saves refused objects again, because they may have required a later object.
func (im *importer) retryRefused(ctx context.Context) error {
	im.last = true
	for _, o := range im.again {
		im.batch = []*object{o}
		if err := im.flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

// reasonOf returns the text of an error for reports, without its cause.
func reasonOf(err error) string {
	var e *engine.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}

// isFatal reports whether an error must stop the import, because it is not caused by the object.
func isFatal(err error) bool {
	if err == nil {
		return false
	}
	switch engine.CodeOf(err) {
	case engine.Unavailable, engine.Timeout:
		return true
	}
	return errors.Is(err, context.Canceled)
}
