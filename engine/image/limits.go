package image

import (
	"context"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"restsrv/engine"
)

// limits are the limits of a storage and of all storages that With has derived from it.
type limits struct {
	memory *semaphore.Weighted
	most   int64 // size of memory in bytes
	least  int64 // each image counts at least this many bytes, so that at most atOnce images fit into the memory
	atOnce int64 // maximum number of images that are decoded at the same time: half of the processors
	time   time.Duration

	mu      sync.Mutex
	queue   int // maximum number of images in the queue of one account
	waiting int // number of images in all queues
	lanes   map[string]*lane
}

// lane is the queue of the images of one account. At most limits.atOnce images of the account wait for memory or are
// decoded at the same time. So an account with many images does not delay the images of other accounts for long.
type lane struct {
	turn    *semaphore.Weighted
	waiting int
}

// crowd is the limit for all accounts divided by the limit for one account: so many accounts with
// full queues reach it together.
const crowd = 4

func newLimits(cfg Config) *limits {
	atOnce := int64(max(1, runtime.GOMAXPROCS(0)/2))
	return &limits{
		memory: semaphore.NewWeighted(cfg.Memory), most: cfg.Memory, least: cfg.Memory / atOnce, atOnce: atOnce, time: cfg.Time,
		queue: cfg.Waiting, lanes: map[string]*lane{},
	}
}

// waitForMemory waits until the needed memory is free; need is its size in bytes. The caller must call done to
// release the memory.
func (l *limits) waitForMemory(ctx context.Context, need int64) (done func(), err error) {
	account := ""
	if a := engine.AccountFrom(ctx); a != nil {
		account = a.ID
	}
	own := l.enterLane(account)
	if own == nil {
		return nil, &engine.Error{Code: engine.Unavailable, Reason: "thumbnails", Message: "too many thumbnails are being made", RetryAfter: 2 * time.Second}
	}
	if err := own.turn.Acquire(ctx, 1); err != nil {
		l.leaveLane(account, own)
		return nil, err
	}
	need = max(need, l.least)
	if err := l.memory.Acquire(ctx, need); err != nil {
		own.turn.Release(1)
		l.leaveLane(account, own)
		return nil, err
	}
	return func() {
		l.memory.Release(need)
		own.turn.Release(1)
		l.leaveLane(account, own)
	}, nil
}

// enterLane adds an image to the queue of the account. It returns nil if too many images are waiting.
func (l *limits) enterLane(account string) *lane {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.lanes[account]
	if own == nil {
		own = &lane{turn: semaphore.NewWeighted(l.atOnce)}
	}
	if own.waiting >= l.queue || l.waiting >= crowd*l.queue {
		return nil
	}
	own.waiting++
	l.waiting++
	l.lanes[account] = own
	return own
}

func (l *limits) leaveLane(account string, own *lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting--
	if own.waiting--; own.waiting == 0 {
		delete(l.lanes, account)
	}
}
