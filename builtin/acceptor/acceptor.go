// Package acceptor is the service that saves many objects of different
// classes in one request, all or none (interface.md "POST acceptor",
// decisions.md section 3). It reads records and writes the answer;
// engine.Repository.Save does the saving.
package acceptor

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"unicode/utf8"

	"restsrv/engine"
	"restsrv/engine/wire"
)

// Defaults of the options, and the one limit that has none.
const (
	defaultMaxRecords = 10_000
	defaultMaxBody    = 32 << 20
	maxPasswords      = 100 // password values in one request: each costs a hash
)

type service struct {
	meta       engine.MetaRepository
	data       engine.Repository
	log        *slog.Logger
	handling   engine.Handling
	maxRecords int
	maxBody    int64
}

// New is the module "builtin/acceptor". Options: dataRepo and metaRepo
// (mandatory), handling ("lenient" or "strict"), maxRecords (default 10000),
// maxBody (bytes, default 32 MiB).
func New(env *engine.Env, o engine.Options) (engine.Service, error) {
	s := &service{log: env.Log}
	for _, name := range []string{"dataRepo", "metaRepo"} {
		if o[name] == nil {
			return nil, fmt.Errorf("option %q is missing: acceptor needs dataRepo and metaRepo", name)
		}
	}
	var err error
	if s.meta, err = o.Meta("metaRepo", nil); err != nil {
		return nil, err
	}
	if s.data, err = o.Repository("dataRepo", nil); err != nil {
		return nil, err
	}
	if s.handling, err = o.Handling(); err != nil {
		return nil, err
	}
	maxRecords, err := o.Int("maxRecords", defaultMaxRecords, 1, 1_000_000)
	if err != nil {
		return nil, err
	}
	s.maxRecords = int(maxRecords)
	s.maxBody, err = o.Int("maxBody", defaultMaxBody, 1, 1<<30)
	return s, err
}

// Routes is engine.Service's.
func (s *service) Routes() []engine.Route {
	return []engine.Route{{Method: http.MethodPost, Path: "/", MaxBody: s.maxBody, Handler: s.accept}}
}

// Errors is engine.Service's.
func (s *service) Errors() engine.ErrorForm { return engine.PageErrors }

func (s *service) accept(ctx context.Context, r *engine.Request) (*engine.Response, error) {
	for _, h := range [...]string{"Svc-Converter", "Ion-Converter"} {
		if name := r.Header.Get(h); name != "" {
			return nil, engine.Errorf(engine.Invalid, "converter", "the service has no converter %s", engine.Quote(name))
		}
	}
	elements, err := readElements(r)
	if err != nil {
		return nil, err
	}
	if len(elements) > s.maxRecords {
		return nil, engine.Errorf(engine.TooLarge, "too-large", "a request has at most %d records, found %d", s.maxRecords, len(elements))
	}
	records, unknown, err := s.records(elements, r.Handling(s.handling))
	if err != nil {
		return nil, err
	}
	items, err := s.data.Save(ctx, records)
	if err != nil {
		return nil, err
	}
	b := []byte{'['}
	for i, it := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = it.AppendRecord(b)
		if i == 0 { // the others are likely as long
			b = slices.Grow(b, (len(b)+len(b)/8)*len(items))
		}
	}
	resp := engine.JSON(append(b, ']'))
	if len(unknown) > 0 {
		s.log.Warn("input ignored", "request", r.ID, "service", r.Service, "warning", resp.Warn("unknown attribute ignored", unknown))
	}
	return resp, nil
}

// readElements reads an array of objects, or a single one.
func readElements(r *engine.Request) ([]any, error) {
	if t := r.MediaType(); t != "application/json" {
		return nil, engine.Errorf(engine.Invalid, "media-type", "the body is sent as application/json, found Content-Type %s", engine.Quote(r.Header.Get("Content-Type")))
	}
	body, err := r.ReadBody()
	if err != nil {
		return nil, err
	}
	v, err := wire.Decode(body)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case []any:
		return v, nil
	case engine.Fields:
		return []any{v}, nil
	}
	return nil, engine.Errorf(engine.Invalid, "json", "the body is a JSON array of objects")
}

// records checks every element against its class. unknown names each ignored
// attribute once.
func (s *service) records(elements []any, h engine.Handling) (records []engine.Record, unknown []string, err error) {
	records = make([]engine.Record, len(elements))
	seen := map[string]bool{}
	passwords := 0
	for i, e := range elements {
		names, err := s.record(&records[i], e, h)
		if err != nil {
			return nil, nil, at(i, err)
		}
		for _, n := range names {
			if !seen[n] && len(seen) < 100 {
				seen[n] = true
				unknown = append(unknown, n)
			}
		}
		for _, p := range records[i].Class.Properties {
			if v := records[i].Values[p.Index]; p.Type == engine.Password && v != nil && v != engine.Absent {
				passwords++
			}
		}
		if passwords > maxPasswords {
			return nil, nil, at(i, engine.Errorf(engine.Invalid, "passwords", "a request has at most %d password values", maxPasswords))
		}
	}
	return records, unknown, nil
}

// record reads one element (interface.md, "Acceptor record").
func (s *service) record(rec *engine.Record, element any, h engine.Handling) (unknown []string, err error) {
	fields, ok := element.(engine.Fields)
	if !ok {
		return nil, engine.Errorf(engine.Invalid, "json", "a record is a JSON object")
	}
	name, err := text(fields, "_class")
	if err != nil {
		return nil, err
	}
	if name == "" {
		return nil, engine.Errorf(engine.Invalid, "class", "a record names its class in _class")
	}
	if rec.Class, err = s.meta.Class(name); err != nil {
		return nil, err
	}
	if rec.ID, err = text(fields, "_id"); err != nil {
		return nil, err
	}
	if rec.Version, err = text(fields, "_classVer"); err != nil {
		return nil, err
	}
	if rec.Values, unknown, err = rec.Class.Bind(fields, h); err != nil {
		return nil, err
	}
	return unknown, checkID(rec)
}

// checkID tells what is wrong with an _id that stands for a guid and is too
// long to be one.
func checkID(rec *engine.Record) error {
	key := rec.Class.KeyProperties()
	if len(key) != 1 || key[0].Type != engine.GUID || rec.Values[key[0].Index] != engine.Absent {
		return nil
	}
	n := utf8.RuneCountInString(rec.ID)
	if n <= engine.MaxGUID {
		return nil
	}
	e := engine.Errorf(engine.Invalid, "type", "the _id of an object of class %s has at most %d characters, found %d", rec.Class.FullName, engine.MaxGUID, n)
	e.Class, e.ID = rec.Class.FullName, rec.ID
	return e
}

// text reads a system field: text, a number (the id of a class with a numeric
// key), or null.
func text(fields engine.Fields, name string) (string, error) {
	v, _ := fields.Get(name)
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case json.Number:
		return string(v), nil
	}
	return "", engine.Errorf(engine.Invalid, "type", "%s takes text", name)
}

// at tells which record an error is about.
func at(i int, err error) error {
	if e, ok := err.(*engine.Error); ok {
		e.Index, e.Bulk = i, true
	}
	return err
}
