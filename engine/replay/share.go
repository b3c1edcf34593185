package replay

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"restsrv/engine"
)

// Limits bound what is stored. A zero field means its default.
type Limits struct {
	Keys   int   // keys of one account
	Bytes  int64 // approximate size of the answers and item names of one account
	Total  int64 // the same of all accounts
	Answer int64 // bytes of the longest answer that is stored; a longer one is made again from the saved items
}

// The defaults of Limits.
const (
	DefaultKeys   = 10_000
	DefaultBytes  = 16 << 20
	DefaultTotal  = 512 << 20
	DefaultAnswer = 64 << 10
)

func (l *Limits) complete() {
	if l.Keys == 0 {
		l.Keys = DefaultKeys
	}
	if l.Bytes == 0 {
		l.Bytes = DefaultBytes
	}
	if l.Total == 0 {
		l.Total = DefaultTotal
	}
	if l.Answer == 0 {
		l.Answer = DefaultAnswer
	}
}

// Usage is read again after these times. In between, this process counts what it
// adds itself, but not what other processes on the database add.
const (
	ownUsageTime   = time.Second
	totalUsageTime = 10 * time.Second
)

const (
	rowBytes  = 300    // approximate size of a row without its answer and items
	maxOwners = 10_000 // whose usage is remembered
	warnEvery = time.Minute
	retryFull = time.Hour // after which some keys of a full share have likely expired
)

// usage counts the stored keys and bytes of one account, or of all.
type usage struct {
	keys, bytes int64
	read        time.Time
}

// shares tracks the usage of all accounts.
type shares struct {
	mu     sync.Mutex
	owners map[string]usage
	total  usage

	refused atomic.Int64
	warned  atomic.Int64 // when, in ns since 1970
}

// owner names the account of ctx; anonymous callers share by network.
func owner(ctx context.Context) string {
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

// Refused returns how many requests were refused because a share was used up.
func (k *Keeper) Refused() int64 { return k.shares.refused.Load() }

// admit refuses another key of an account that has used its share up. Errors:
// TooMany, or Unavailable when all accounts together have.
func (k *Keeper) admit(ctx context.Context, owner string) error {
	own, total, err := k.usage(ctx, owner)
	if err != nil {
		return err
	}
	l := k.cfg.Limits
	var limit string
	switch {
	case own.keys >= int64(l.Keys):
		limit = fmt.Sprintf("%d keys of an account", l.Keys)
	case own.bytes >= l.Bytes:
		limit = fmt.Sprintf("%d bytes of an account", l.Bytes)
	case total.bytes >= l.Total:
		limit = fmt.Sprintf("%d bytes of all accounts", l.Total)
	default:
		return nil
	}
	k.shares.refused.Add(1)
	now, last := k.cfg.Now(), k.shares.warned.Load()
	if now.UnixNano()-last >= int64(warnEvery) && k.shares.warned.CompareAndSwap(last, now.UnixNano()) {
		k.cfg.Log.Warn("requests with an Idempotency-Key are refused: too many answers are stored", "table", className, "account", owner, "limit", limit, "refused", k.Refused())
	}
	e := engine.Errorf(engine.TooMany, "idempotency-full", "no more Idempotency-Keys are taken: the answers of earlier ones are stored for %d hours, and the limit is %s", int(Lifetime/time.Hour), limit)
	if own.keys < int64(l.Keys) && own.bytes < l.Bytes {
		e.Code = engine.Unavailable
	}
	e.RetryAfter = retryFull
	return e
}

// usage returns the usage of an account and of all, as last read, with what this
// process has added since.
func (k *Keeper) usage(ctx context.Context, owner string) (own, total usage, err error) {
	s, now := &k.shares, k.cfg.Now()
	s.mu.Lock()
	own, total = s.owners[owner], s.total
	s.mu.Unlock()
	fresh := func(u usage, d time.Duration) bool { return now.Sub(u.read) < d && !now.Before(u.read) }
	if ownFresh, totalFresh := fresh(own, ownUsageTime), fresh(total, totalUsageTime); !ownFresh || !totalFresh {
		if !ownFresh {
			if own, err = k.readUsage(ctx, &owner); err != nil {
				return own, total, err
			}
		}
		if !totalFresh {
			if total, err = k.readUsage(ctx, nil); err != nil {
				return own, total, err
			}
		}
		s.mu.Lock()
		if len(s.owners) >= maxOwners {
			clear(s.owners) // their usage is read again when they send a request
		}
		s.owners[owner], s.total = own, total
		s.mu.Unlock()
	}
	return own, total, nil
}

// readUsage reads the usage of an account, or of all if owner is nil.
func (k *Keeper) readUsage(ctx context.Context, owner *string) (u usage, err error) {
	c := k.cfg.Class
	a := &engine.Aggregation{Class: c, Count: -1, Aggregates: []engine.Aggregate{
		{Name: "keys", Function: engine.CountOf},
		{Name: "bytes", Function: engine.SumOf, Expr: engine.Attribute(c.Property("bytes"))}}}
	if owner != nil {
		if a.Filter, err = engine.Equal(c.Property("account"), *owner); err != nil {
			return u, err
		}
	}
	u.read = k.cfg.Now()
	err = k.cfg.Data.Aggregate(engine.AsServer(ctx), a, func(row []any) error {
		u.keys, _ = strconv.ParseInt(engine.ValueText(row[0]), 10, 64)
		u.bytes, _ = strconv.ParseInt(engine.ValueText(row[1]), 10, 64)
		return nil
	})
	return u, err
}

// add adds to the usage of an account and of all.
func (s *shares) add(owner string, keys, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total.keys, s.total.bytes = s.total.keys+keys, s.total.bytes+bytes
	if u, known := s.owners[owner]; known {
		u.keys, u.bytes = u.keys+keys, u.bytes+bytes
		s.owners[owner] = u
	}
}
