package file

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"restsrv/engine"
)

// Limits bound the bytes of the files of an account, by whoever stored them last,
// and of all. Uploads under way count. 0 is no limit.
type Limits struct {
	PerAccount, All int64
}

// fileBytes is what a file counts besides its content: its row, and what the file
// system and its thumbnails need at least.
const fileBytes = 4 << 10

// The usage of an account and of all is read again after these times, and a warning
// comes once a minute at most. A client may try again after fullFor.
const (
	ownUsageTime = 5 * time.Second
	allUsageTime = 30 * time.Second
	warnEvery    = time.Minute
	fullFor      = time.Hour
)

// room counts what accounts have stored and are about to.
type room struct {
	limits Limits
	stored *engine.Quota
	now    func() time.Time
	log    *slog.Logger

	mu      sync.Mutex
	waiting map[string]int64 // bytes of requests that have not ended, by owner
	total   int64            // the same of all
	refused int
	warned  time.Time
}

func newRoom(cfg Config) *room {
	return &room{limits: cfg.Limits, now: cfg.Now, log: cfg.Log, waiting: map[string]int64{},
		stored: engine.NewQuota(engine.QuotaConfig{Data: cfg.Data, Class: cfg.Class, Size: "size", Own: ownUsageTime, All: allUsageTime, Now: cfg.Now})}
}

// upload is a content on its way. A nil upload has no limit.
type upload struct {
	room     *room
	owner    string
	own, all int64 // bytes that are stored already
	taken    int64
}

// begin begins an upload of the caller of ctx. Errors: those of grow.
func (r *room) begin(ctx context.Context) (*upload, error) {
	if r.limits == (Limits{}) {
		return nil, nil
	}
	u := &upload{room: r, owner: engine.OwnerOf(ctx)}
	own, all, err := r.stored.Usage(ctx, u.owner)
	if err != nil {
		return nil, err
	}
	u.own, u.all = own.Bytes+own.Rows*fileBytes, all.Bytes+all.Rows*fileBytes
	if err := u.grow(fileBytes); err != nil {
		return nil, err
	}
	return u, nil
}

// grow reserves so many bytes more. Errors: TooLarge if the account has no room for
// them, Unavailable if all have not.
func (u *upload) grow(bytes int64) error {
	if u == nil {
		return nil
	}
	r := u.room
	r.mu.Lock()
	defer r.mu.Unlock()
	limits := r.limits
	switch {
	case limits.PerAccount > 0 && u.owner != "" && u.own+r.waiting[u.owner]+bytes > limits.PerAccount:
		r.refuse(u.owner, limits.PerAccount)
		return engine.Errorf(engine.TooLarge, "files-account", "the files of an account have at most %d bytes together: remove some first", limits.PerAccount)
	case limits.All > 0 && u.all+r.total+bytes > limits.All:
		r.refuse(u.owner, limits.All)
		e := engine.Errorf(engine.Unavailable, "files-all", "the files of all accounts have at most %d bytes together", limits.All)
		e.RetryAfter = fullFor
		return e
	}
	r.waiting[u.owner] += bytes
	r.total += bytes
	u.taken += bytes
	return nil
}

// refuse reports that a limit was reached; mu is held.
func (r *room) refuse(owner string, limit int64) {
	r.refused++
	if now := r.now(); r.warned.IsZero() || now.Sub(r.warned) >= warnEvery {
		r.log.Warn("uploads are refused: there are too many bytes of files", "setting", "fileBytes", "limit", limit, "account", owner, "refused", r.refused)
		r.warned = now
	}
}

// end ends the upload: its request has ended, or has failed before.
func (u *upload) end(stored bool) {
	if u == nil {
		return
	}
	r := u.room
	r.mu.Lock()
	r.total -= u.taken
	if r.waiting[u.owner] -= u.taken; r.waiting[u.owner] == 0 {
		delete(r.waiting, u.owner)
	}
	r.mu.Unlock()
	if stored {
		r.stored.Add(u.owner, 1, u.taken-fileBytes)
	}
}

// until ends the upload when the request of ctx ends. Whether an object holds the
// file then is found out when the usage is read again.
func (u *upload) until(ctx context.Context) {
	if u != nil && !engine.StagingFrom(ctx).Add(func(bool) { u.end(true) }) {
		u.end(true)
	}
}
