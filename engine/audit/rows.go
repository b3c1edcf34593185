package audit

import (
	"context"
	"errors"
	"time"

	"restsrv/engine"
	"restsrv/engine/query"
)

// className is the name of the system class. No class of an application can have this name.
const className = "#audit"

// Rows are written in transactions of up to batchSize rows. After the first event, writeRows
// waits gatherFor for more events. It repeats a failed transaction after retryAfter. Old rows
// are removed every sweepEvery.
const (
	batchSize  = 256
	gatherFor  = 100 * time.Millisecond
	retryAfter = time.Second
	sweepEvery = time.Hour
)

// Class returns the system class in which the rows are stored. The caller passes it to the store
// when it opens the store, and to Config and List. No other code should read or write items of
// this class.
func Class() *engine.Class {
	property, indexed := engine.SystemProperty, engine.SystemIndexed
	id := property("id", engine.GUID)
	id.Autoassigned = true
	return engine.SystemClass(className,
		id,
		indexed("at", engine.DateTime),
		property("kind", engine.String),
		indexed("account", engine.String),
		property("address", engine.String),
		property("request", engine.String),
		property("service", engine.String),
		property("details", engine.Text), // JSON; null if empty
	)
}

func makeRecord(c *engine.Class, e entry) engine.Record {
	v := engine.NewValues(c)
	set := func(name, value string) {
		if value != "" {
			v[c.Property(name).Index] = value
		}
	}
	v[c.Property("at").Index] = engine.InstantOf(e.at)
	set("kind", string(e.Kind))
	set("account", e.Account)
	set("address", e.address())
	set("request", e.Caller.Request)
	set("service", e.Service)
	if len(e.Details) > 0 {
		set("details", string(engine.AppendValue(nil, e.Details)))
	}
	return engine.Record{Class: c, Values: v}
}

// writeRows stores the events in the queue until it is closed and empty.
func (j *Journal) writeRows() {
	defer close(j.written)
	j.sweepRows()
	hourly := time.NewTicker(sweepEvery)
	defer hourly.Stop()
	stored := 0 // rows stored since the last sweep
	for {
		select {
		case <-hourly.C:
			j.sweepRows()
			stored = 0
		case first, ok := <-j.queue:
			if !ok {
				return
			}
			records := j.gatherRecords(first)
			j.storeRecords(records)
			if stored += len(records); stored > j.cfg.Rows/10 {
				j.sweepRows()
				stored = 0
			}
		}
	}
}

// gatherRecords returns the records of first and of the events that arrive soon after it.
func (j *Journal) gatherRecords(first entry) []engine.Record {
	records := []engine.Record{makeRecord(j.cfg.Class, first)}
	timer := time.NewTimer(gatherFor)
	defer timer.Stop()
	for len(records) < batchSize {
		select {
		case e, ok := <-j.queue:
			if !ok {
				return records
			}
			records = append(records, makeRecord(j.cfg.Class, e))
		case <-timer.C:
			return records
		}
	}
	return records
}

// storeRecords saves events. It retries while the database cannot be reached. During this time,
// new events wait in the queue.
func (j *Journal) storeRecords(records []engine.Record) {
	for tries := 0; ; tries++ {
		err := j.saveRecords(records)
		if err == nil {
			break
		}
		if code := engine.CodeOf(err); code != engine.Unavailable && code != engine.Timeout && !errors.Is(err, context.DeadlineExceeded) {
			j.cfg.Log.Error("audit events cannot be stored and were dropped", "lost", len(records), "error", err)
			return
		}
		if tries == 0 {
			j.cfg.Log.Warn("the database cannot be reached; audit events wait in the queue", "waiting", len(j.queue)+len(records), "error", err)
		}
		select {
		case <-time.After(retryAfter):
		case <-j.gone:
			j.unsaved.Add(int64(len(records)))
			return
		}
	}
	if n := j.dropped.Swap(0); n > 0 {
		j.cfg.Log.Warn("the audit queue was full; events were dropped", "lost", n)
	}
}

func (j *Journal) saveRecords(records []engine.Record) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	again := make([]engine.Record, len(records))
	for i, r := range records { // copied, because the repository may change the values
		again[i] = engine.Record{Class: r.Class, Values: append(engine.Values(nil), r.Values...)}
	}
	_, err := j.cfg.Data.Save(ctx, again)
	return err
}

// sweepRows removes rows that are too old, and the oldest rows if there are too
// many.
func (j *Journal) sweepRows() {
	ctx, cancel := context.WithTimeout(context.Background(), sweepEvery/2)
	defer cancel()
	now := j.cfg.Now()
	f, err := timeFilter(j.cfg.Class, "$lt", now.Add(-j.cfg.Keep))
	if err == nil {
		_, err = j.cfg.Data.DeleteAll(ctx, &engine.Query{Class: j.cfg.Class, Filter: f, Count: -1})
	}
	if err == nil {
		err = j.removeOldest(ctx)
	}
	if err != nil {
		j.cfg.Log.Debug("old audit events could not be removed; the next sweep retries", "error", err)
	}
}

// removeOldest removes the oldest rows if there are more than the limit.
func (j *Journal) removeOldest(ctx context.Context) error {
	c := j.cfg.Class
	q := &engine.Query{Class: c, Sort: []engine.Sort{{Property: c.Property("at"), Descending: true}}, Offset: j.cfg.Rows, Count: 1}
	var f *engine.Filter
	err := j.cfg.Data.List(ctx, q, func(it *engine.Item) (err error) {
		f, err = timeFilter(c, "$lte", it.When("at"))
		return err
	})
	if err != nil || f == nil {
		return err
	}
	n, err := j.cfg.Data.DeleteAll(ctx, &engine.Query{Class: c, Filter: f, Count: -1})
	if n > 0 {
		j.cfg.Log.Warn("more audit events than the limit; the oldest were removed from the database", "table", className, "limit", j.cfg.Rows, "removed", n)
	}
	return err
}

func timeFilter(c *engine.Class, op string, t time.Time) (*engine.Filter, error) {
	return query.ParseFilter(c, engine.Fields{{Name: "at", Value: engine.Fields{{Name: op, Value: engine.InstantOf(t)}}}}, t)
}

// Entry is a stored event.
type Entry struct {
	At                                       time.Time
	Kind, Account, Address, Request, Service string
	Details                                  string // JSON; "" if empty
}

// Selection selects events for List. A field that is "" matches all events.
type Selection struct {
	Since   time.Time
	Account string
	Kind    string
}

// List calls visit for stored events, oldest first. c must be the class that
// data was opened with.
func List(ctx context.Context, data engine.Repository, c *engine.Class, s Selection, visit func(Entry) error) error {
	f, err := timeFilter(c, "$gte", s.Since)
	for name, value := range map[string]string{"account": s.Account, "kind": s.Kind} {
		if value == "" || err != nil {
			continue
		}
		var one *engine.Filter
		one, err = query.Equal(c.Property(name), value)
		f = engine.And(f, one)
	}
	if err != nil {
		return err
	}
	q := &engine.Query{Class: c, Filter: f, Sort: []engine.Sort{{Property: c.Property("at")}}, Count: -1}
	return data.List(ctx, q, func(it *engine.Item) error {
		text := func(name string) string {
			s, _ := it.Get(name).(string)
			return s
		}
		when, _ := it.Get("at").(engine.Instant)
		return visit(Entry{
			At: when.Time(), Kind: text("kind"), Account: text("account"), Address: text("address"),
			Request: text("request"), Service: text("service"), Details: text("details"),
		})
	})
}
