package journal

import (
	"context"
	"time"

	"restsrv/engine"
	"restsrv/engine/query"
)

// Record is a stored record.
type Record struct {
	Timestamp            time.Time
	Type                 string
	Class, Version       string // of the changed item
	ID                   string
	Base, Data           string // JSON objects with the values before and after the change; "" if there are no values
	Author, Name, Remote string // account, display name and address of the caller; "" if the server made the change
}

func recordOf(it *engine.Item) Record {
	json := func(name string) string { return engine.ValueText(it.Get(name)) }
	return Record{
		Timestamp: it.When("timestamp"), Type: it.Text("type"), Class: it.Text("className"), Version: it.Text("classVersion"), ID: it.Text("id"),
		Base: json("base"), Data: json("data"), Author: it.Text("author"), Name: it.Text("authorName"), Remote: it.Text("authorIp"),
	}
}

// AppendJSON appends the record in the format of IONDV's change log.
func (r Record) AppendJSON(b []byte) []byte {
	object := func(json string) any {
		if json == "" {
			return nil
		}
		return engine.JSONText(json)
	}
	text := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	return engine.AppendValue(b, engine.Fields{
		{Name: "timestamp", Value: engine.InstantOf(r.Timestamp)}, {Name: "type", Value: r.Type}, {Name: "className", Value: r.Class},
		{Name: "classVersion", Value: r.Version}, {Name: "id", Value: r.ID}, {Name: "base", Value: object(r.Base)}, {Name: "data", Value: object(r.Data)},
		{Name: "author", Value: text(r.Author)}, {Name: "authorName", Value: text(r.Name)}, {Name: "authorIp", Value: text(r.Remote)},
	})
}

// Selection selects records for List; "" and the zero time match any record.
type Selection struct {
	Since, Until time.Time // Until is exclusive
	Type         string
	Class, ID    string
	Author       string
}

func (s Selection) filter(c *engine.Class) (*engine.Filter, error) {
	f, err := timeFilter(c, "$gte", s.Since)
	if err == nil && !s.Until.IsZero() {
		var end *engine.Filter
		end, err = timeFilter(c, "$lt", s.Until)
		f = engine.And(f, end)
	}
	for _, only := range []struct{ name, value string }{{"type", s.Type}, {"className", s.Class}, {"id", s.ID}, {"author", s.Author}} {
		if only.value == "" || err != nil {
			continue
		}
		var one *engine.Filter
		one, err = query.Equal(c.Property(only.name), only.value)
		f = engine.And(f, one)
	}
	return f, err
}

// sortable is the maximum number of matching records for which the database should find the records first and then
// sort them. If more records match, the database should read the records in their stored order.
const sortable = 1_000_000

func timeFilter(c *engine.Class, op string, t time.Time) (*engine.Filter, error) {
	return query.ParseFilter(c, engine.Fields{{Name: "timestamp", Value: engine.Fields{{Name: op, Value: engine.InstantOf(t)}}}}, t)
}

// List calls visit for stored records in the order in which they were stored. The records of an object are in the
// order of its writes, even if the clocks of the servers differ. If a write was answered before another write began,
// the records of the first write come first. c must be the class with which data was opened. If visit returns an
// error, List stops and returns the error.
func List(ctx context.Context, data engine.Repository, c *engine.Class, s Selection, visit func(Record) error) error {
	f, err := s.filter(c)
	if err != nil {
		return err
	}
	q := &engine.Query{Class: c, Filter: f, Count: -1}
	if !s.Since.IsZero() && s.ID == "" { // the records of one object are found by its id
		n, err := data.Count(ctx, q)
		if err != nil {
			return err
		}
		q.Few = n <= sortable
	}
	return data.List(ctx, q, func(it *engine.Item) error { return visit(recordOf(it)) })
}

// Forget removes the records before a time and returns their number.
func Forget(ctx context.Context, data engine.Repository, c *engine.Class, before time.Time) (int64, error) {
	f, err := timeFilter(c, "$lt", before)
	if err != nil {
		return 0, err
	}
	return data.DeleteAll(engine.AsServer(ctx), &engine.Query{Class: c, Filter: f, Count: -1})
}
