// Package acceptor is the service that saves many objects of different classes in one request. It
// saves all of them or none. This package reads the records and writes the answer;
// engine.Repository.Save saves the records.
package acceptor

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"restsrv/engine"
	"restsrv/engine/attachment"
	"restsrv/engine/service"
)

// Defaults of the options, and limits that have no option.
const (
	defaultMaxRecords = 10_000
	defaultMaxBody    = 32 << 20
	maxPasswords      = 100 // password values in one request, since hashing a password takes much time
	maxFiles          = engine.MaxUploads
)

type acceptor struct {
	meta       engine.MetaRepository
	data       engine.Repository
	files      attachment.Files
	replays    service.Replays
	options    service.Options // all options, which include the converters
	log        *slog.Logger
	handling   engine.Handling
	maxRecords int
	maxBody    int64
}

// New returns the module "builtin/acceptor". Options: dataRepo and metaRepo (mandatory),
// fileStorage (default: the server's), handling ("lenient" or "strict"), maxRecords (default
// 10000), maxBody (bytes, default 32 MiB). Any other option may be a converter, which a request can
// select by name (see findConverter).
func New(env *service.Env, o service.Options) (service.Service, error) {
	s := &acceptor{log: env.Log, replays: env.Replays, options: o}
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
	storage, err := o.FileStorage("fileStorage", env.Files)
	if err != nil {
		return nil, err
	}
	s.files = attachment.Files{Storage: storage, Data: s.data, Meta: s.meta}
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

// Routes implements service.Service.
func (s *acceptor) Routes() []service.Route {
	return []service.Route{{Method: http.MethodPost, Path: "/", MaxBody: s.maxBody, Handler: s.accept}}
}

// Errors implements service.Service.
func (s *acceptor) Errors() service.ErrorForm { return service.PageErrors }

// accept answers POST /. If the service has already executed a request with the same
// Idempotency-Key, it returns the same answer again.
func (s *acceptor) accept(ctx context.Context, r *service.Request) (*service.Response, error) {
	c, err := s.findConverter(r)
	if err != nil {
		return nil, err
	}
	key, keyed := r.Header["Idempotency-Key"]
	if !keyed || s.replays == nil {
		return s.runRequest(ctx, r, c, nil)
	}
	body, err := r.ReadBody()
	if err != nil {
		return nil, err
	}
	// A repetition must use the same converter, so its name is part of the stored request.
	request := append([]byte(converterName(r)+"\n"), body...)
	attempt, err := s.replays.Begin(ctx, r.Account.ID+"\n"+r.Service, strings.Join(key, ","), request)
	if err != nil {
		return nil, err
	}
	if attempt.Answer() != nil {
		return s.repeatAnswer(ctx, r, c, attempt)
	}
	again := attempt.Saved() != nil
	if again {
		if err := s.checkStillAllowed(ctx, attempt.Saved()); err != nil {
			return nil, attempt.Failed(ctx, err)
		}
	}
	// Read the rights before the request runs: if they change while it runs, a repetition must not
	// get the stored answer.
	rights, err := engine.RightsOf(ctx, s.data)
	if err != nil {
		return nil, attempt.Failed(ctx, err)
	}
	resp, err := s.runRequest(ctx, r, c, attempt)
	if err != nil {
		return nil, attempt.Failed(ctx, err)
	}
	attempt.Finish(ctx, resp, rights)
	if again {
		resp.SetHeader("Idempotency-Replayed", "true")
	}
	return resp, nil
}

// ignored is the beginning of the warning about unknown attributes.
const ignored = "unknown attribute ignored"

// repeatAnswer answers a request that was already executed. It returns the stored answer if two
// conditions are met: the account still has the same rights, and it can still read all saved
// objects. Otherwise it makes a new answer with the objects that the account can read now.
func (s *acceptor) repeatAnswer(ctx context.Context, r *service.Request, c service.Converter, attempt service.Attempt) (*service.Response, error) {
	if err := s.checkStillAllowed(ctx, attempt.Saved()); err != nil {
		return nil, err
	}
	rights, err := engine.RightsOf(ctx, s.data)
	if err != nil {
		return nil, err
	}
	answer := attempt.Answer()
	if rights != "" {
		items, err := s.readSaved(ctx, attempt.Saved())
		if err != nil {
			return nil, err
		}
		if rights != attempt.Rights() || len(items) < len(attempt.Saved()) {
			warning := answer.Header.Get("Warning")
			if answer, err = s.respond(ctx, r, c, items); err != nil {
				return nil, err
			}
			if strings.Contains(warning, ignored) { // the warning contains only names from the request
				answer.SetHeader("Warning", warning)
			}
		}
	}
	answer.SetHeader("Idempotency-Replayed", "true")
	return answer, nil
}

// checkStillAllowed checks that the account is still allowed to make a request that was already
// executed. names are the saved items. It returns an error if the account may not save objects of
// one of their classes.
func (s *acceptor) checkStillAllowed(ctx context.Context, names []service.SavedItem) error {
	asked := map[string]bool{}
	for _, n := range names {
		if asked[n.Class] {
			continue
		}
		asked[n.Class] = true
		if _, err := s.findWritable(ctx, n.Class); err != nil && engine.CodeOf(err) != engine.NotFound {
			return err
		}
	}
	return nil
}

// runRequest saves the records of a request and answers with the saved items. If attempt says that
// the records are already saved, it only reads these items. attempt is nil without an
// Idempotency-Key.
func (s *acceptor) runRequest(ctx context.Context, r *service.Request, c service.Converter, attempt service.Attempt) (*service.Response, error) {
	if attempt != nil && attempt.Saved() != nil {
		items, err := s.readSaved(ctx, attempt.Saved())
		if err != nil {
			return nil, err
		}
		return s.respond(ctx, r, c, items)
	}
	in, err := readElements(ctx, r, c)
	if err != nil {
		return nil, err
	}
	records, unknown, err := s.readRecords(ctx, in, engine.Record{Handling: r.Handling(s.handling), Brief: c == nil, Members: true})
	if err != nil {
		// Read the rest of the body, because a client that is still sending would not read the
		// answer.
		_, _ = io.Copy(io.Discard, r.Stream())
		return nil, err
	}
	if attempt != nil {
		records = append(records, attempt.Record())
	}
	items, err := s.data.Save(ctx, records)
	if err != nil {
		return nil, err
	}
	resp, err := s.respond(ctx, r, c, items)
	if err != nil {
		return nil, err
	}
	if len(unknown) > 0 {
		s.log.Warn("input ignored", "request", r.ID, "service", r.Service, "warning", resp.Warn(ignored, unknown))
	}
	return resp, nil
}

// readSaved reads the current state of items that are already saved. It leaves out items that are
// deleted or that the account may not read.
func (s *acceptor) readSaved(ctx context.Context, names []service.SavedItem) ([]*engine.Item, error) {
	items := make([]*engine.Item, 0, len(names))
	for _, n := range names {
		c, err := s.findClass(ctx, n.Class)
		if engine.CodeOf(err) == engine.NotFound && err != nil {
			continue
		}
		if err != nil {
			return nil, err
		}
		it, err := s.data.Get(ctx, c, n.ID, memberLoads(c)...)
		switch {
		case err == nil:
			items = append(items, it)
		case engine.CodeOf(err) != engine.NotFound && engine.CodeOf(err) != engine.Forbidden:
			return nil, err
		}
	}
	return items, nil
}

// respond answers with the items as they are stored, or with the result of the converter.
func (s *acceptor) respond(ctx context.Context, r *service.Request, c service.Converter, items []*engine.Item) (*service.Response, error) {
	if c != nil {
		resp, err := c.Respond(ctx, r, items)
		if err != nil || resp != nil {
			return resp, err
		}
	}
	b := []byte{'['}
	for i, it := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = it.AppendRecord(b)
		if i == 0 { // the others probably have a similar length
			b = slices.Grow(b, (len(b)+len(b)/8)*len(items))
		}
	}
	return service.JSON(append(b, ']')), nil
}

// readRecords reads all elements and converts them to records. The parameter each is a record with
// the fields that all records have in common. unknown contains the unknown attributes, each once
// and at most 100.
func (s *acceptor) readRecords(ctx context.Context, in source, each engine.Record) (records []engine.Record, unknown []string, err error) {
	seen := map[string]bool{}
	known := map[string]*engine.Class{}
	passwords, files := 0, 0
	for i := 0; ; i++ {
		e, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		if i == s.maxRecords {
			return nil, nil, engine.Errorf(engine.TooLarge, "too-large", "a request has at most %d records", s.maxRecords)
		}
		records = append(records, each)
		names, err := s.readRecord(ctx, &records[i], e, known)
		if err != nil {
			return nil, nil, atRecord(i, err)
		}
		for _, n := range names {
			if !seen[n] && len(seen) < 100 {
				seen[n] = true
				unknown = append(unknown, n)
			}
		}
		p, f := countCosts(records[i].Class, records[i].Values)
		passwords, files = passwords+p, files+f
		if passwords > maxPasswords {
			return nil, nil, atRecord(i, engine.Errorf(engine.Invalid, "passwords", "a request has at most %d password values", maxPasswords))
		}
		if files > maxFiles {
			return nil, nil, atRecord(i, engine.Errorf(engine.Invalid, "files", "a request has at most %d files", maxFiles))
		}
	}
	// Store files after everything else has been checked.
	for i := range records {
		if err := s.files.Accept(ctx, records[i].Class, records[i].ID, records[i].Values); err != nil {
			return nil, nil, atRecord(i, err)
		}
	}
	return records, unknown, nil
}

// findClass returns a class as the account sees it, without hidden attributes.
func (s *acceptor) findClass(ctx context.Context, name string) (*engine.Class, error) {
	c, err := s.meta.Class(name)
	if err != nil {
		return nil, err
	}
	return engine.ViewOf(ctx, s.data, c)
}

// findWritable returns a class as the account sees it. If the account may not save any object of
// the class, the error is Forbidden. Callers use it before they read the input, so that such an
// account gets no errors about the input.
func (s *acceptor) findWritable(ctx context.Context, name string) (*engine.Class, error) {
	c, err := s.findClass(ctx, name)
	if err != nil {
		return nil, err
	}
	return c, engine.AllowSave(ctx, s.data, c)
}

// readRecord reads one element into rec. known caches the classes of earlier elements by name.
func (s *acceptor) readRecord(ctx context.Context, rec *engine.Record, element any, known map[string]*engine.Class) (unknown []string, err error) {
	fields, ok := element.(engine.Fields)
	if !ok {
		return nil, engine.Errorf(engine.Invalid, "json", "a record is a JSON object")
	}
	name, err := textField(fields, "_class")
	if err != nil {
		return nil, err
	}
	if name == "" {
		return nil, engine.Errorf(engine.Invalid, "class", "a record names its class in _class")
	}
	if rec.Class = known[name]; rec.Class == nil {
		if rec.Class, err = s.findWritable(ctx, name); err != nil {
			return nil, err
		}
		known[name] = rec.Class
	}
	if rec.ID, err = textField(fields, "_id"); err != nil {
		return nil, err
	}
	if rec.Version, err = textField(fields, "_classVer"); err != nil {
		return nil, err
	}
	if rec.Values, unknown, err = rec.Class.Bind(fields, rec.Handling); err != nil {
		return nil, err
	}
	return unknown, checkID(rec)
}

// checkID checks the length of an _id that replaces the key of the class. This is the case if the
// key is a guid and the element has no value for it. In other cases it returns nil.
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

// countCosts counts the passwords and files in values of class c and in nested records.
func countCosts(c *engine.Class, v engine.Values) (passwords, files int) {
	nested := func(e any) {
		if r, ok := e.(*engine.Record); ok {
			p, f := countCosts(r.Class, r.Values)
			passwords, files = passwords+p, files+f
		}
	}
	for i, value := range v {
		switch value := value.(type) {
		case string:
			if c.Properties[i].Type == engine.Password {
				passwords++
			}
		case *engine.Upload:
			files++
		case []*engine.Upload:
			files += len(value)
		case *engine.Links:
			for _, e := range value.Add {
				nested(e)
			}
		default:
			nested(value)
		}
	}
	return passwords, files
}

// textField reads a system field such as _id. It accepts text, null and numbers, since the id of a
// class with a numeric key may be written as a number.
func textField(fields engine.Fields, name string) (string, error) {
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

// atRecord sets the index of the record that an error concerns.
func atRecord(i int, err error) error {
	if e, ok := err.(*engine.Error); ok {
		e.Index, e.Bulk = i, true
	}
	return err
}
