package quota

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"restsrv/engine"
	"restsrv/engine/query"
)

// Bound limits how many items of a system class are stored, per account and in total. The class
// needs the properties "account" and "created". A Bound does not refuse new items. Instead it
// deletes expired items, and if that is not enough, the oldest items. If the total is too high,
// it deletes items of the account with the most items, so that an account cannot cause the
// deletion of items of accounts with fewer items. A Bound is safe for concurrent use.
type Bound struct {
	cfg BoundConfig

	mu      sync.Mutex
	total   int       // items at the last count plus items added since
	counted time.Time // zero if never
	ended   int       // items deleted since the last warning
	warned  time.Time
}

// BoundConfig is the configuration of a Bound.
type BoundConfig struct {
	Data       engine.Repository
	Class      *engine.Class
	PerAccount int
	All        int
	Now        func() time.Time
	Log        *slog.Logger
}

// The total is counted again after countEvery, because other processes add items
// too. A warning is logged at most every boundWarnEvery.
const (
	countEvery     = 10 * time.Second
	boundWarnEvery = time.Minute
	oldestAtOnce   = 100 // maximum number of items that one addition deletes
)

// NewBound returns a Bound with the given configuration.
func NewBound(cfg BoundConfig) *Bound { return &Bound{cfg: cfg} }

// Added deletes items if there are too many. Call it after an item of the account
// was created.
func (b *Bound) Added(ctx context.Context, account string) error {
	ctx = engine.AsServer(ctx)
	ended, err := b.removeOldest(ctx, account, b.cfg.PerAccount)
	if err != nil {
		return err
	}
	b.reportLimit("of one account", b.cfg.PerAccount, account, ended)
	total, err := b.countItems(ctx, 1-ended)
	if err != nil || total <= b.cfg.All {
		return err
	}
	return b.makeRoom(ctx, total-b.cfg.All)
}

// countItems adds added to the estimated number of stored items, and returns the result. If the
// last count of the database is too old, or if the result is over the limit, it counts the stored
// items again.
func (b *Bound) countItems(ctx context.Context, added int) (int, error) {
	now := b.cfg.Now()
	b.mu.Lock()
	b.total += added
	total, fresh := b.total, !b.counted.IsZero() && now.Sub(b.counted) < countEvery && !now.Before(b.counted)
	b.mu.Unlock()
	if fresh && total <= b.cfg.All {
		return total, nil
	}
	_, total, err := b.findMost(ctx, false)
	if err != nil {
		return 0, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total, b.counted = total, now
	return total, nil
}

// findMost counts the stored items. If byAccount is true, it returns the account with the most
// items and the number of its items; otherwise the number of all items.
func (b *Bound) findMost(ctx context.Context, byAccount bool) (account string, n int, err error) {
	a := &engine.Aggregation{Class: b.cfg.Class, Count: 1, Aggregates: []engine.Aggregate{{Name: "items", Function: engine.CountOf}}}
	if byAccount {
		a.Columns = []engine.Column{{Name: "account", Expr: engine.Attribute(b.cfg.Class.Property("account"))}}
		a.Sort = []engine.RowSort{{Column: 1, Descending: true}}
	}
	err = b.cfg.Data.Aggregate(ctx, a, func(row []any) error {
		if byAccount {
			account = engine.ValueText(row[0])
		}
		n, err = strconv.Atoi(engine.ValueText(row[len(row)-1]))
		return err
	})
	return account, n, err
}

// makeRoom deletes items because the total exceeds the limit by over: first the expired items
// and, if these are not enough, the oldest items of the account with the most items. Of that
// account it deletes at least a tenth of the items, so that makeRoom does not have to run again
// at once.
func (b *Bound) makeRoom(ctx context.Context, over int) error {
	expired, err := b.removeExpired(ctx, nil)
	if err != nil || expired >= over {
		b.addToTotal(-expired)
		return err
	}
	account, n, err := b.findMost(ctx, true)
	if err != nil || n == 0 {
		return err
	}
	ended, err := b.removeOldest(ctx, account, max(0, n-max(over, n/10)))
	b.addToTotal(-expired - ended)
	b.reportLimit("of all accounts", b.cfg.All, account, ended)
	return err
}

func (b *Bound) addToTotal(n int) {
	b.mu.Lock()
	b.total += n
	b.mu.Unlock()
}

// removeExpired deletes the expired items that match a filter; nil matches all.
func (b *Bound) removeExpired(ctx context.Context, of *engine.Filter) (int, error) {
	now := b.cfg.Now()
	past, err := query.ParseFilter(b.cfg.Class, engine.Fields{{Name: "expires", Value: engine.Fields{{Name: "$lte", Value: engine.InstantOf(now)}}}}, now)
	if err != nil {
		return 0, err
	}
	n, err := b.cfg.Data.DeleteAll(ctx, &engine.Query{Class: b.cfg.Class, Filter: engine.And(of, past), Count: -1})
	return int(n), err
}

// removeOldest deletes items of an account that has too many: first the expired items, then the
// oldest items, at most oldestAtOnce. About left items remain.
func (b *Bound) removeOldest(ctx context.Context, account string, left int) (removed int, err error) {
	c := b.cfg.Class
	of, err := query.Equal(c.Property("account"), account)
	if err != nil {
		return 0, err
	}
	q := &engine.Query{Class: c, Filter: of, Sort: []engine.Sort{{Property: c.Property("created"), Descending: true}}, Offset: left, Count: oldestAtOnce}
	oldest := func() (ids []string, err error) {
		err = b.cfg.Data.List(ctx, q, func(it *engine.Item) error {
			ids = append(ids, it.ID)
			return nil
		})
		return ids, err
	}
	ids, err := oldest()
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	expired, err := b.removeExpired(ctx, of)
	if err == nil && expired > 0 {
		ids, err = oldest()
	}
	for _, id := range ids {
		if gone := b.cfg.Data.Delete(ctx, c, id, nil); gone == nil {
			removed++
		} else if engine.CodeOf(gone) != engine.NotFound && err == nil {
			err = gone
		}
	}
	return removed + expired, err
}

// reportLimit logs that a limit was reached.
func (b *Bound) reportLimit(what string, limit int, account string, ended int) {
	if ended == 0 {
		return
	}
	now := b.cfg.Now()
	b.mu.Lock()
	b.ended += ended
	all := b.ended
	due := b.warned.IsZero() || now.Sub(b.warned) >= boundWarnEvery
	if due {
		b.warned, b.ended = now, 0
	}
	b.mu.Unlock()
	if due {
		b.cfg.Log.Warn("a table has reached a limit; the oldest rows were deleted", "table", b.cfg.Class.FullName, "limit", limit, "counts", what, "account", account, "deleted", all)
	}
}
