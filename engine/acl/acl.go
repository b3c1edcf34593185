// Package acl keeps who may do what: roles, the resources that are known, and
// which subject is granted which permission on which resource. It reads them
// from acl files, changes them, and gives the grants of the moment as an
// engine.Policy that follows the changes of other processes. It decides nothing
// (engine/access) and knows no accounts (engine/account).
//
// Each change is one transaction, which writes the item of #policy too: one
// look at the revision of that tells whether anything has changed.
package acl

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"restsrv/engine"
)

// Config is what a Store works with. Data and Classes are needed.
type Config struct {
	Data    engine.Repository // stores items of Classes, in transactions
	Classes []*engine.Class   // from Classes, the same that Data was opened with
	Audit   engine.Auditor    // is told of changes; nil for nobody
	Log     *slog.Logger      // nil means none
	Now     func() time.Time  // nil means time.Now
}

// Store is the roles, resources and grants of one database. It implements
// engine.Policy and is safe for concurrent use, also beside other processes on
// the same database. Its changes act for the server: who may make them is
// decided by who calls.
type Store struct {
	data    engine.Repository
	classes classSet
	audit   engine.Auditor
	log     *slog.Logger
	clock   func() time.Time

	changing sync.Mutex // one change of this process at a time, from reading to writing
	snapshot snapshot
}

var _ engine.Policy = (*Store)(nil)

// New makes a Store. The error says what Config lacks.
func New(c Config) (*Store, error) {
	classes, err := findClasses(c.Classes)
	if err != nil {
		return nil, err
	}
	s := &Store{data: c.Data, classes: classes, audit: c.Audit, log: c.Log, clock: c.Now}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	s.snapshot.start = s.clock()
	return s, nil
}

// find returns a system item, nil when there is none.
func (s *Store) find(ctx context.Context, c *engine.Class, id string) (*engine.Item, error) {
	item, err := s.data.Get(engine.AsServer(ctx), c, id)
	if engine.CodeOf(err) == engine.NotFound && err != nil {
		return nil, nil
	}
	return item, err
}

// each calls visit for all items of a class, ordered by id, that pass a filter.
func (s *Store) each(ctx context.Context, c *engine.Class, f *engine.Filter, visit func(*engine.Item)) error {
	q := &engine.Query{Class: c, Filter: f, Sort: []engine.Sort{{Property: c.Property("id")}}, Count: -1}
	return s.data.List(engine.AsServer(ctx), q, func(it *engine.Item) error {
		visit(it)
		return nil
	})
}

// told tells the auditor of a change.
func (s *Store) told(ctx context.Context, change string, details ...engine.Field) {
	if s.audit == nil {
		return
	}
	e := engine.Event{Kind: engine.PermissionChanged, Caller: engine.CallerFrom(ctx), Details: append(engine.Fields{{Name: "change", Value: change}}, details...)}
	if a := engine.AccountFrom(ctx); a != nil {
		e.Account = a.ID
	}
	s.audit.Audit(ctx, e)
}
