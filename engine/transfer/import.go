package transfer

import (
	"context"
	"errors"
	"slices"

	"restsrv/engine"
	"restsrv/engine/mistake"
)

// batchSize is the number of objects that are saved in one transaction.
const batchSize = 500

// maxRetried limits the number of refused objects that are tried again at the end.
const maxRetried = 10_000

// Config configures an import.
type Config struct {
	Data Archive
	Meta engine.MetaRepository
	// System contains the classes of the server itself, such as accounts. An export contains their
	// items too. Other sources cannot use these classes.
	System []*engine.Class
	// Strict refuses an object if a value does not fit its attribute or a required value is null.
	// Otherwise the object is imported without values that do not fit.
	Strict bool
	// Stage returns the stage item that records the state of an object in a workflow (see
	// engine/workflow). It returns nil if the class has no such workflow, or if the workflow has
	// no such stage. If Stage itself is nil, stages are not imported.
	Stage func(c *engine.Class, id, workflow, stage string) *engine.Item
	// Accept stores the uploaded files in the values of an object. If it is nil, objects with files
	// are refused.
	Accept func(ctx context.Context, c *engine.Class, id string, v engine.Values) error
	// Hash returns the hash of a password, for storage. Matches reports whether a password has this
	// hash.
	Hash    func(ctx context.Context, plain string) (string, error)
	Matches func(ctx context.Context, hash, plain string) (bool, error)
	// Generate provides generated values; GUID and Now must be set.
	Generate engine.Generate
	// Content stores the contents of files in an export. If Content is nil, these contents are
	// refused.
	Content Content
	// Progress is called after each object with its Size, in units of Source.Total.
	Progress func(done int64)
}

// Import saves the objects of a source. An object may refer to objects that come later in the
// source. If an object is already stored, Import writes only the values that differ. If an object
// cannot be saved, Import adds it to the report and continues. Import returns an error if the
// database is unavailable or ctx ends. It writes no journal.
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
	named   map[string]bool // files that objects have named as their content
	batch   []*object
	inBatch map[string]bool
	again   []*object // refused objects to try again, since they may refer to later objects
	last    bool      // all objects of the source have been tried
}

// takeObject adds an object to the batch. It saves the batch first if the batch is full, or if
// the batch contains an object with the same id, because the new object must be saved after that
// object.
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

// flush saves the batch. A new object with all its values is written directly. Other objects are
// saved with Archive.Save, like records of builtin/acceptor.
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

// writeTogether writes objects with one call of write. If the call fails, it writes the objects
// one by one, to find out which of them are refused.
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

// retryRefused saves the refused objects again, since they may refer to objects that came later.
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

// reasonOf returns the message of an error without its cause, for reports.
func reasonOf(err error) string {
	var e *engine.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}

// isFatal reports whether an error stops the import, since the object did not cause it.
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
