// Package lease makes sure that only one of the processes that share a database does a task,
// while the other processes wait. Still, the task must be harmless if two processes do it at the
// same time. This can happen if a process was suspended for a while: it notices too late that
// another process has taken over.
//
// A lease is a row. Its holder writes the row every second. A waiting process takes over a row
// that has not changed for a while. It measures this time with its own clock, so the clocks of
// the processes do not have to agree.
package lease

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"restsrv/engine"
)

const (
	renewal = time.Second     // between two writes of the holder
	lost    = 5 * time.Second // time without a write after which the holder is considered dead
	look    = 100 * time.Millisecond
)

// ErrTaken is the cause with which the context of work ends if another process has taken over the
// lease (see Hold).
var ErrTaken = errors.New("another process has taken over")

// className cannot be the name of a class of an application.
const className = "#lease"

// Class returns the system class in which leases are stored. The caller passes it to the store
// when it opens the store, and to Hold. No other code should read or write items of this class.
func Class() *engine.Class {
	return engine.SystemClass(className, engine.SystemProperty("id", engine.String), engine.SystemProperty("holder", engine.String),
		engine.SystemProperty("renewed", engine.Int)) // number of renewals
}

// Hold waits until the lease with that name is free, and runs work while it
// holds the lease. If the lease is lost, the context of work ends with ErrTaken
// as its cause. waiting is called once if Hold has to wait; it may be nil.
func Hold(ctx context.Context, data engine.Repository, c *engine.Class, name string, waiting func(), work func(context.Context) error) error {
	h := &holder{data: data, class: c, name: name, id: rand.Text()}
	if err := h.takeLease(engine.AsServer(ctx), waiting); err != nil {
		return err
	}
	held, end := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.renewLease(held, end)
	}()
	err := work(held)
	if taken := context.Cause(held); err != nil && errors.Is(taken, ErrTaken) {
		err = errors.Join(taken, err)
	}
	end(nil)
	<-done
	h.release(engine.AsServer(context.WithoutCancel(ctx)))
	return err
}

type holder struct {
	data     engine.Repository
	class    *engine.Class
	name, id string
	renewed  int64
	revision uint64
}

// takeLease waits until this holder owns the row.
func (h *holder) takeLease(ctx context.Context, waiting func()) error {
	var seen uint64
	var since time.Time
	for {
		it, err := h.data.Get(ctx, h.class, h.name)
		switch {
		case engine.CodeOf(err) == engine.NotFound:
			it, err = h.data.Create(ctx, h.class, h.rowValues(), engine.WriteOptions{})
		case err != nil:
		case since.IsZero() || it.Revision != seen:
			seen, since = it.Revision, time.Now()
			err = errTryAgain
		case time.Since(since) < lost:
			err = errTryAgain
		default:
			it, err = h.writeRow(ctx, seen)
		}
		switch {
		case err == nil:
			h.revision = it.Revision
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !shouldRetry(err):
			return err
		}
		if waiting != nil {
			waiting()
			waiting = nil
		}
		select {
		case <-time.After(look):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

var errTryAgain = errors.New("another process holds the lease")

// shouldRetry reports whether an error means that another process was faster.
func shouldRetry(err error) bool {
	code := engine.CodeOf(err)
	return errors.Is(err, errTryAgain) || code == engine.Unmatched || code == engine.NotFound || code == engine.Invalid
}

func (h *holder) rowValues() engine.Values {
	return engine.ValuesOf(h.class, engine.Named("id", h.name), engine.Named("holder", h.id), engine.Named("renewed", h.renewed))
}

// writeRow writes the row if it still has that revision.
func (h *holder) writeRow(ctx context.Context, revision uint64) (*engine.Item, error) {
	h.renewed++
	return h.data.Update(ctx, h.class, h.name, h.rowValues(), engine.WriteOptions{Match: &engine.Match{Revisions: []uint64{revision}}})
}

// renewLease renews the lease until ctx ends. If a renewal fails, renewLease tries again. If
// another process has taken over the lease, or could have done so since the last renewal,
// renewLease calls end with ErrTaken.
func (h *holder) renewLease(ctx context.Context, end context.CancelCauseFunc) {
	tick := time.NewTicker(renewal)
	defer tick.Stop()
	renewed := time.Now()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		at := time.Now()
		limited, cancel := context.WithDeadline(engine.AsServer(ctx), renewed.Add(lost))
		it, err := h.writeRow(limited, h.revision)
		cancel()
		switch {
		case err == nil:
			renewed, h.revision = at, it.Revision
		case shouldRetry(err), time.Since(renewed) >= lost:
			end(ErrTaken)
			return
		}
	}
}

// release gives the lease back. If that fails, the lease expires.
func (h *holder) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lost)
	defer cancel()
	_ = h.data.Delete(ctx, h.class, h.name, &engine.Match{Revisions: []uint64{h.revision}})
}
