package file

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"restsrv/engine"
	"restsrv/engine/quota"
)

// Limits are the maximum total size of the files of one account and of all
// accounts, in bytes. A file counts for the account that stored it last.
// Uploads that are running count, too. 0 means no limit.
type Limits struct {
	PerAccount, All int64
}

// fileBytes is the size that each file counts in addition to its content: its
// row, and the minimum that the file system and its thumbnails need.
const fileBytes = 4 << 10

// ownUsageTime and allUsageTime are the times after which the usage of an
// account and of all accounts is read again. warnEvery is the minimum interval
// of warnings. fullFor is the Retry-After when all accounts together are over
// the limit.
const (
	ownUsageTime = 5 * time.Second
	allUsageTime = 30 * time.Second
	warnEvery    = time.Minute
	fullFor      = time.Hour
)

// room counts the bytes that accounts have stored and are uploading.
type room struct {
	limits Limits
	stored *quota.Quota
	now    func() time.Time
	log    *slog.Logger

	mu      sync.Mutex
	waiting map[string]int64 // bytes of requests that have not ended, by owner
	total   int64            // sum of waiting
	refused int
	warned  time.Time
}

func newRoom(cfg Config) *room {
	return &room{limits: cfg.Limits, now: cfg.Now, log: cfg.Log, waiting: map[string]int64{},
		stored: quota.New(quota.Config{Data: cfg.Data, Class: cfg.Class, Size: "size", Own: ownUsageTime, All: allUsageTime, Now: cfg.Now})}
}

// upload is a content that is being received. A nil upload has no limit.
type upload struct {
	room     *room
	owner    string
	own, all int64 // bytes that were stored before
	taken    int64
}

// beginUpload starts an upload for the caller of ctx. Errors: those of grow.
func (r *room) beginUpload(ctx context.Context) (*upload, error) {
	if r.limits == (Limits{}) {
		return nil, nil
	}
	u := &upload{room: r, owner: quota.OwnerOf(ctx)}
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

// grow reserves more bytes. The error is TooLarge if the account would exceed
// its limit, and Unavailable if all accounts together would exceed theirs.
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
		r.logRefusal(u.owner, limits.PerAccount)
		return engine.Errorf(engine.TooLarge, "files-account", "the files of an account have at most %d bytes together: remove some first", limits.PerAccount)
	case limits.All > 0 && u.all+r.total+bytes > limits.All:
		r.logRefusal(u.owner, limits.All)
		e := engine.Errorf(engine.Unavailable, "files-all", "the files of all accounts have at most %d bytes together", limits.All)
		e.RetryAfter = fullFor
		return e
	}
	r.waiting[u.owner] += bytes
	r.total += bytes
	u.taken += bytes
	return nil
}

// logRefusal logs that a limit was reached. The caller must hold mu.
func (r *room) logRefusal(owner string, limit int64) {
	r.refused++
	if now := r.now(); r.warned.IsZero() || now.Sub(r.warned) >= warnEvery {
		r.log.Warn("rejecting uploads because the stored files have reached their limit", "setting", "fileBytes", "limit", limit, "account", owner, "refused", r.refused)
		r.warned = now
	}
}

// end ends the upload after its request has ended or the upload has failed.
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

// endWithRequest ends the upload when the request of ctx ends. It counts the
// file as stored. If no item holds the file, that is corrected when the usage
// is read again.
func (u *upload) endWithRequest(ctx context.Context) {
	if u != nil && !engine.StagingFrom(ctx).Add(func(bool) { u.end(true) }) {
		u.end(true)
	}
}
