// Package acl stores roles, declared resources and grants: which subject has which permission on
// which resource. It imports them from acl files, changes them, and provides the current grants
// as an engine.Policy. Changes by other processes take effect too. The package does not decide
// about access, which package engine/access does, and it does not store accounts, which package
// engine/account does.
//
// Each change is one transaction, which also writes the only item of the class #policy. If the
// revision of that item is unchanged, all grants are unchanged.
package acl

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"restsrv/engine"
)

// Config holds the dependencies of a Store. Data and Classes are required.
type Config struct {
	Data    engine.Repository // stores items of Classes, in transactions
	Classes []*engine.Class   // the result of Classes, with which Data was opened
	Audit   engine.Auditor    // records changes; if nil, they are not recorded
	Log     *slog.Logger      // if nil, messages are discarded
	Now     func() time.Time  // if nil, time.Now is used
}

// Store holds the roles, resources and grants of one database. It implements engine.Policy. It is
// safe for concurrent use, and several processes can use the same database. It makes changes with
// the rights of the server: the caller must check that the account is allowed to make them.
type Store struct {
	data    engine.Repository
	classes classSet
	audit   engine.Auditor
	log     *slog.Logger
	clock   func() time.Time

	changing sync.Mutex // held from reading to writing, so that this process makes one change at a time
	snapshot snapshot
}

var _ engine.Policy = (*Store)(nil)

// New returns a Store. It fails if Config.Classes is not complete.
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

// find returns a system item, or nil if it does not exist.
func (s *Store) find(ctx context.Context, c *engine.Class, id string) (*engine.Item, error) {
	item, err := s.data.Get(engine.AsServer(ctx), c, id)
	if engine.CodeOf(err) == engine.NotFound && err != nil {
		return nil, nil
	}
	return item, err
}

// eachItem calls visit for all items of a class that match the filter, ordered by
// id.
func (s *Store) eachItem(ctx context.Context, c *engine.Class, f *engine.Filter, visit func(*engine.Item)) error {
	q := &engine.Query{Class: c, Filter: f, Sort: []engine.Sort{{Property: c.Property("id")}}, Count: -1}
	return s.data.List(engine.AsServer(ctx), q, func(it *engine.Item) error {
		visit(it)
		return nil
	})
}

// auditChange records a change in the audit log.
func (s *Store) auditChange(ctx context.Context, change string, details ...engine.Field) {
	if s.audit == nil {
		return
	}
	e := engine.Event{Kind: engine.PermissionChanged, Caller: engine.CallerFrom(ctx), Details: append(engine.Fields{{Name: "change", Value: change}}, details...)}
	if a := engine.AccountFrom(ctx); a != nil {
		e.Account = a.ID
	}
	s.audit.Audit(ctx, e)
}
