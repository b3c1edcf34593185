package replay

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"restsrv/engine"
	"restsrv/engine/quota"
)

// Limits are the limits of the stored data. A zero field means its default.
type Limits struct {
	Keys   int   // keys of one account
	Bytes  int64 // approximate size of the answers and item names of one account
	Total  int64 // like Bytes, for all accounts together
	Answer int64 // maximum size of a stored answer in bytes; if an answer is longer, it is made again from the saved items
}

// The defaults of Limits.
const (
	DefaultKeys   = 10_000
	DefaultBytes  = 16 << 20
	DefaultTotal  = 512 << 20
	DefaultAnswer = 64 << 10
)

func (l *Limits) setDefaults() {
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

// The usage is read again after these times. In between, a process counts its own additions, but
// not the additions of other processes on the database.
const (
	ownUsageTime   = time.Second
	totalUsageTime = 10 * time.Second
)

const (
	rowBytes  = 300 // approximate size of a row without its answer and items
	warnEvery = time.Minute
	retryFull = time.Hour // after this time, some keys of a full share have probably expired
)

// shares tracks how much each account has stored, and counts refused requests.
type shares struct {
	*quota.Quota
	refused atomic.Int64
	warned  atomic.Int64 // time in ns since 1970
}

// Refused returns how many requests were refused because a share was used up.
func (k *Keeper) Refused() int64 { return k.shares.refused.Load() }

// admitKey refuses a new key of an account that has used up its share. The error is
// TooMany, or Unavailable if all accounts together have used up their total.
func (k *Keeper) admitKey(ctx context.Context, owner string) error {
	own, total, err := k.shares.Usage(ctx, owner)
	if err != nil {
		return err
	}
	l := k.cfg.Limits
	var limit string
	switch {
	case own.Rows >= int64(l.Keys):
		limit = fmt.Sprintf("%d keys of an account", l.Keys)
	case own.Bytes >= l.Bytes:
		limit = fmt.Sprintf("%d bytes of an account", l.Bytes)
	case total.Bytes >= l.Total:
		limit = fmt.Sprintf("%d bytes of all accounts", l.Total)
	default:
		return nil
	}
	k.shares.refused.Add(1)
	now, last := k.cfg.Now(), k.shares.warned.Load()
	if now.UnixNano()-last >= int64(warnEvery) && k.shares.warned.CompareAndSwap(last, now.UnixNano()) {
		k.cfg.Log.Warn("too many answers of requests with an Idempotency-Key are stored; new keys are refused", "table", className, "account", owner, "limit", limit, "refused", k.Refused())
	}
	e := engine.Errorf(engine.TooMany, "idempotency-full", "no more Idempotency-Keys are taken: the answers of earlier ones are stored for %d hours, and the limit is %s", int(Lifetime/time.Hour), limit)
	if own.Rows < int64(l.Keys) && own.Bytes < l.Bytes {
		e.Code = engine.Unavailable
	}
	e.RetryAfter = retryFull
	return e
}
