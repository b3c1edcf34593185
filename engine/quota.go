package engine

import (
	"context"
	"net/netip"
	"strconv"
	"sync"
	"time"
)

// OwnerOf returns whose share counts what a request of ctx has stored: its account,
// or its network if it is anonymous; "" for the server itself.
func OwnerOf(ctx context.Context) string {
	a := AccountFrom(ctx)
	switch {
	case a == nil:
		return ""
	case a.ID != Anonymous.ID:
		return a.ID
	}
	address := CallerFrom(ctx).Address.Unmap()
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

// Usage is how much is stored for an owner, or for all.
type Usage struct {
	Rows, Bytes int64
	read        time.Time
}

// Quota counts the rows of a system class and their bytes, of each owner and in
// all. The class has the property "account", which holds OwnerOf. What this process
// adds is counted at once, what others add after a while. It is safe for concurrent
// use.
type Quota struct {
	cfg QuotaConfig

	mu     sync.Mutex
	owners map[string]Usage
	all    Usage
}

// QuotaConfig is what a Quota needs.
type QuotaConfig struct {
	Data  Repository
	Class *Class
	Size  string           // the property that holds the bytes of a row
	Own   time.Duration    // how long the usage of an owner counts as read
	All   time.Duration    // the same for all
	Now   func() time.Time // required
}

// maxOwners is how many owners' usage is remembered.
const maxOwners = 10_000

// NewQuota makes a Quota.
func NewQuota(cfg QuotaConfig) *Quota { return &Quota{cfg: cfg, owners: map[string]Usage{}} }

// Usage returns the usage of an owner and of all, as last read, with what this
// process has added since.
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
		if own, err = q.read(ctx, &owner); err != nil {
			return own, all, err
		}
	}
	if !allFresh {
		if all, err = q.read(ctx, nil); err != nil {
			return own, all, err
		}
	}
	q.mu.Lock()
	if len(q.owners) >= maxOwners {
		clear(q.owners) // they are read again when they come
	}
	q.owners[owner], q.all = own, all
	q.mu.Unlock()
	return own, all, nil
}

// read reads what is stored for an owner, or with nil in all.
func (q *Quota) read(ctx context.Context, owner *string) (u Usage, err error) {
	c := q.cfg.Class
	a := &Aggregation{Class: c, Count: -1, Aggregates: []Aggregate{
		{Name: "rows", Function: CountOf},
		{Name: "bytes", Function: SumOf, Expr: Attribute(c.Property(q.cfg.Size))}}}
	if owner != nil {
		if a.Filter, err = Equal(c.Property("account"), *owner); err != nil {
			return u, err
		}
	}
	u.read = q.cfg.Now()
	err = q.cfg.Data.Aggregate(AsServer(ctx), a, func(row []any) error {
		u.Rows, _ = strconv.ParseInt(ValueText(row[0]), 10, 64)
		u.Bytes, _ = strconv.ParseInt(ValueText(row[1]), 10, 64)
		return nil
	})
	return u, err
}

// Add counts what was stored for an owner since its usage was read.
func (q *Quota) Add(owner string, rows, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.all.Rows, q.all.Bytes = q.all.Rows+rows, q.all.Bytes+bytes
	if u, known := q.owners[owner]; known {
		u.Rows, u.Bytes = u.Rows+rows, u.Bytes+bytes
		q.owners[owner] = u
	}
}
