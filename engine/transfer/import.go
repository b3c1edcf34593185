package transfer

import (
	"context"
	"errors"
	"fmt"

	"restsrv/engine"
)

// batchSize is how many objects are saved by one transaction.
const batchSize = 500

// Config is what an import needs.
type Config struct {
	Meta engine.MetaRepository
	// Save stores records, all or none: Save of engine.Repository, or what
	// restores objects exactly when the source is Exact.
	Save func(ctx context.Context, records []engine.Record) error
	// Stage makes the record of the stage that an object has in a workflow; nil
	// refuses objects that have one.
	Stage func(c *engine.Class, id, workflow, stage string) engine.Record
	// Progress is told how far the import came, in units of Source.Total.
	Progress func(done int64)
}

// Import saves the objects of a source. Objects may refer to others that come
// later. What cannot be saved is in the report and keeps nothing else from
// being saved; the error is that of a database that is away, or of ctx.
func Import(ctx context.Context, cfg Config, s Source) (*Report, error) {
	im := &importer{Config: cfg, report: &Report{Taken: map[string]int{}, Ignored: map[string]int{}}}
	for o := range s.Objects {
		if err := im.take(ctx, o); err != nil {
			return im.report, err
		}
	}
	return im.report, im.flush(ctx)
}

type importer struct {
	Config
	report *Report
	batch  []pending
}

// pending is an object that waits to be saved, with the records that go with it.
type pending struct {
	where   string
	size    int64
	records []engine.Record
}

func (im *importer) take(ctx context.Context, o Object) error {
	p, err := im.bind(o)
	if err != nil {
		im.refuse(o.Where, err)
		im.progress(o.Size)
		return nil
	}
	im.batch = append(im.batch, p)
	if len(im.batch) < batchSize {
		return nil
	}
	return im.flush(ctx)
}

func (im *importer) refuse(where string, err error) {
	reason := err.Error()
	var e *engine.Error
	if errors.As(err, &e) {
		reason = e.Message // the cause is not for people who import
	}
	im.report.Refused = append(im.report.Refused, Refusal{where, reason})
}

func (im *importer) progress(size int64) {
	if im.Progress != nil {
		im.Progress(size)
	}
}

// bind reads an object as records of its class.
func (im *importer) bind(o Object) (pending, error) {
	p := pending{where: o.Where, size: o.Size}
	if o.Err != nil {
		return p, o.Err
	}
	c, err := im.Meta.Class(o.Class)
	if err != nil {
		return p, err
	}
	values, unknown, err := c.Bind(o.Fields, engine.Lenient)
	if err != nil {
		return p, err
	}
	for _, property := range c.Properties {
		if property.Back != nil {
			values[property.Index] = engine.Absent // the other side says the same
		}
	}
	for _, name := range unknown {
		im.report.Ignored[c.FullName+"."+name]++
	}
	r := engine.Record{Class: c, ID: o.ID, Version: fieldText(o.Fields, "_classVer"), Values: values}
	p.records = append(p.records, r)
	return p, im.stages(&p, o, r)
}

// stages reads the stages of an object's workflows, {"workflow":{"stage":…}}.
func (im *importer) stages(p *pending, o Object, r engine.Record) error {
	v, ok := o.Fields.Get("___workflowStatus")
	if !ok || v == nil {
		return nil
	}
	workflows, ok := v.(engine.Fields)
	if !ok || im.Stage == nil {
		return errors.New("___workflowStatus is an object of workflows and their stages")
	}
	for _, w := range workflows {
		stage, ok := w.Value.(string)
		if f, is := w.Value.(engine.Fields); is {
			stage = fieldText(f, "stage")
			ok = stage != ""
		}
		if !ok {
			return fmt.Errorf("___workflowStatus names no stage for %s", engine.Quote(w.Name))
		}
		p.records = append(p.records, im.Stage(r.Class, r.ID, w.Name, stage))
	}
	return nil
}

// flush saves the batch; when it cannot be saved as a whole, each object alone.
func (im *importer) flush(ctx context.Context) error {
	batch := im.batch
	im.batch = nil
	if len(batch) == 0 {
		return nil
	}
	var all []engine.Record
	for _, p := range batch {
		all = append(all, copies(p.records)...)
	}
	err := im.Save(ctx, all)
	if fatal(err) {
		return err
	}
	for _, p := range batch {
		if err != nil {
			alone := im.Save(ctx, p.records)
			if fatal(alone) {
				return alone
			}
			if alone != nil {
				im.refuse(p.where, alone)
				im.progress(p.size)
				continue
			}
		}
		im.report.Taken[p.records[0].Class.FullName]++
		im.progress(p.size)
	}
	return nil
}

// copies are records whose values a failed save may change.
func copies(records []engine.Record) []engine.Record {
	all := append([]engine.Record(nil), records...)
	for i := range all {
		all[i].Values = append(engine.Values(nil), all[i].Values...)
	}
	return all
}

// fatal reports whether an error is not about the object.
func fatal(err error) bool {
	switch engine.CodeOf(err) {
	case engine.Unavailable, engine.Timeout:
		return true
	}
	return false
}
