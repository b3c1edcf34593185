package quota

import (
	"context"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"restsrv/engine"
	"restsrv/engine/query"
)

// OwnerOf returns the owner of data that a request stores. ctx is the context of the request. The owner is the
// account; for the anonymous account, it is the network of the client. It is "" for the server itself.
func OwnerOf(ctx context.Context) string {
	a := engine.AccountFrom(ctx)
	switch {
	case a == nil:
		return ""
	case a.ID != engine.Anonymous.ID:
		return a.ID
	}
	address := engine.CallerFrom(ctx).Address.Unmap()
	bits := address.BitLen()
	if address.Is6() {
		bits = 64
	}
	var network netip.Prefix
	if address.IsValid() {
		network, _ = address.Prefix(bits)
	}
	return a.ID + " " + network.String()
}

// Usage is the amount of data stored for an owner, or in total.
type Usage struct {
	Rows, Bytes int64
	read        time.Time
}

// Quota counts the rows of a system class and their bytes, per owner and in total.
// The class has the property "account", which holds the result of OwnerOf. Additions by
// this process count at once, additions by other processes after a delay. It is safe
// for concurrent use.
type Quota struct {
	cfg Config

	mu     sync.Mutex
	owners map[string]Usage
	all    Usage
}

// Config is the configuration of a Quota.
type Config struct {
	Data  engine.Repository
	Class *engine.Class
	Size  string           // name of the property with the number of bytes of a row
	Own   time.Duration    // how long the usage of an owner is cached
	All   time.Duration    // how long the total usage is cached
	Now   func() time.Time // required
}

// maxOwners is the maximum number of owners in the cache.
const maxOwners = 10_000

// New returns a Quota with the given configuration.
func New(cfg Config) *Quota { return &Quota{cfg: cfg, owners: map[string]Usage{}} }

// Usage returns the cached usage of an owner and in total, including the additions
// by this process.
func (q *Quota) Usage(ctx context.Context, owner string) (own, all Usage, err error) {
	now := q.cfg.Now()
	q.mu.Lock()
	own, all = q.owners[owner], q.all
	q.mu.Unlock()
	fresh := func(u Usage, d time.Duration) bool { return now.Sub(u.read) < d && !now.Before(u.read) }
	ownFresh, allFresh := fresh(own, q.cfg.Own), fresh(all, q.cfg.All)
	if ownFresh && allFresh {
		return own, all, nil
	}
	if !ownFresh {
		if own, err = q.readUsage(ctx, &owner); err != nil {
			return own, all, err
		}
	}
	if !allFresh {
		if all, err = q.readUsage(ctx, nil); err != nil {
			return own, all, err
		}
	}
	q.mu.Lock()
	if len(q.owners) >= maxOwners {
		clear(q.owners) // their usage is read again when it is needed
	}
	q.owners[owner], q.all = own, all
	q.mu.Unlock()
	return own, all, nil
}

// readUsage reads the usage of an owner, or the total usage if owner is nil.
func (q *Quota) readUsage(ctx context.Context, owner *string) (u Usage, err error) {
	c := q.cfg.Class
	a := &engine.Aggregation{Class: c, Count: -1, Aggregates: []engine.Aggregate{
		{Name: "rows", Function: engine.CountOf},
		{Name: "bytes", Function: engine.SumOf, Expr: engine.Attribute(c.Property(q.cfg.Size))}}}
	if owner != nil {
		if a.Filter, err = query.Equal(c.Property("account"), *owner); err != nil {
			return u, err
		}
	}
	u.read = q.cfg.Now()
	err = q.cfg.Data.Aggregate(engine.AsServer(ctx), a, func(row []any) error {
		u.Rows, _ = strconv.ParseInt(engine.ValueText(row[0]), 10, 64)
		u.Bytes, _ = strconv.ParseInt(engine.ValueText(row[1]), 10, 64)
		return nil
	})
	return u, err
}

// Add counts data that were stored for an owner after its usage was read.
func (q *Quota) Add(owner string, rows, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.all.Rows, q.all.Bytes = q.all.Rows+rows, q.all.Bytes+bytes
	if u, known := q.owners[owner]; known {
		u.Rows, u.Bytes = u.Rows+rows, u.Bytes+bytes
		q.owners[owner] = u
	}
}
