package file

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"restsrv/engine"
	"restsrv/engine/quota"
)

// Limits are the maximum total size of stored files, in bytes: for each account, and for all accounts together. A
// file counts for the account that stored it last. Running uploads count, too. 0 means that there is no limit.
type Limits struct {
	PerAccount, All int64
}

// fileBytes is added to the size of each file. It stands for the row of the file, and for the space that the file
// system uses even for small files.
const fileBytes = 4 << 10

// The usage of an account is read again from the database after ownUsageTime, the usage of all
// accounts after allUsageTime. warnEvery is the minimum time between two warnings in the log.
// fullFor is the Retry-After of an upload that is rejected because of the limit for all accounts
// together.
const (
	ownUsageTime = 5 * time.Second
	allUsageTime = 30 * time.Second
	warnEvery    = time.Minute
	fullFor      = time.Hour
)

// room counts the bytes that accounts have stored and are uploading, and compares them with the limits.
type room struct {
	limits Limits
	stored *quota.Quota
	now    func() time.Time
	log    *slog.Logger

	mu      sync.Mutex
	waiting map[string]int64 // bytes of uploads in requests that have not ended, by owner
	total   int64            // sum of the values of waiting
	refused int
	warned  time.Time
}

func newRoom(cfg Config) *room {
	return &room{limits: cfg.Limits, now: cfg.Now, log: cfg.Log, waiting: map[string]int64{},
		stored: quota.New(quota.Config{Data: cfg.Data, Class: cfg.Class, Size: "size", Own: ownUsageTime, All: allUsageTime, Now: cfg.Now})}
}

// upload is a file that is being received. A nil *upload stands for an upload without limits.
type upload struct {
	room     *room
	owner    string
	own, all int64 // stored bytes of the owner and of all accounts when the upload began
	taken    int64 // bytes that this upload has reserved
}

// beginUpload starts an upload for the account in ctx. It returns the errors of grow.
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

// grow reserves the given number of bytes for the upload. The error is TooLarge if this would
// exceed the limit of the account, and Unavailable if it would exceed the limit for all accounts
// together.
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

// logRefusal logs that uploads are rejected because of a limit, at most once per warnEvery. The caller must hold
// r.mu.
func (r *room) logRefusal(owner string, limit int64) {
	r.refused++
	if now := r.now(); r.warned.IsZero() || now.Sub(r.warned) >= warnEvery {
		r.log.Warn("rejecting uploads because the stored files have reached their limit", "setting", "fileBytes", "limit", limit, "account", owner, "refused", r.refused)
		r.warned = now
	}
}

// end releases the reserved bytes, when the request has ended or the upload has failed. If stored is true, the bytes
// count as stored from now on.
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

// endWithRequest calls end when the request in ctx has ended. It counts the file as stored. If no
// item holds the file then, the count is wrong until the usage is read again.
func (u *upload) endWithRequest(ctx context.Context) {
	if u != nil && !engine.StagingFrom(ctx).Add(func(bool) { u.end(true) }) {
		u.end(true)
	}
}
