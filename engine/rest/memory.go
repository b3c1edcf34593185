package rest

import (
	"context"

	"restsrv/engine"
	"restsrv/engine/share"
)

// reservation is the memory that one request has reserved in a pool. The pools limit the memory of all request bodies
// and responses; see Config.
type reservation struct {
	pool  *share.Pool // nil if there is no limit
	ctx   context.Context
	grant share.Grant // the reserved share of the pool
	bytes int         // size of grant; 0 before the first reservation
}

var _ engine.Memory = (*reservation)(nil)

// Try implements engine.Memory. It reserves memory without waiting.
func (r *reservation) Try(bytes int) bool {
	if bytes <= max(r.bytes, engine.SmallBytes) || r.pool == nil {
		return true
	}
	ok := r.grant.Grow(int64(bytes))
	if r.bytes == 0 {
		r.grant, ok = r.pool.TryAcquire(share.Key(r.ctx), int64(bytes))
	}
	if ok {
		r.bytes = bytes
	}
	return ok
}

// Wait implements engine.Memory. It releases the reserved memory and then waits until bytes are free.
func (r *reservation) Wait(bytes int) (err error) {
	r.release()
	if bytes <= engine.SmallBytes || r.pool == nil {
		return nil
	}
	if r.grant, err = r.pool.Acquire(r.ctx, share.Key(r.ctx), int64(bytes)); err == nil {
		r.bytes = bytes
	}
	return err
}

// settle adjusts the reservation to the size of the finished response. Some services, such as
// scripts, reserve less memory than their response needs, and the pool may have no room for the
// rest. In that case, a request that only reads (reading is true) fails. A request that writes
// succeeds, because its data is already stored and a client would repeat the request after an
// error; the memory of its response is counted beyond the limit of the pool.
func (r *reservation) settle(body []byte, reading bool) error {
	if r.bytes == 0 && len(body) <= engine.SmallBytes || r.pool == nil {
		return nil
	}
	if r.bytes > cap(body) {
		r.bytes = cap(body)
		r.grant.Shrink(int64(r.bytes))
	}
	if len(body) <= r.bytes || r.Try(len(body)) {
		return nil
	}
	if reading {
		return noRoomForAnswer()
	}
	r.release()
	r.grant, r.bytes = r.pool.Charge(share.Key(r.ctx), int64(len(body))), len(body)
	return nil
}

func noRoomForAnswer() error {
	return &engine.Error{Code: engine.Unavailable, Reason: "answer-bytes",
		Message: "the answers of other requests leave no memory for this answer; try again later"}
}

func (r *reservation) release() {
	r.grant.Release()
	r.bytes = 0
}
