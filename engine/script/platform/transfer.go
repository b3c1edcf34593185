package platform

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"
)

// transfer is a response whose body is still arriving. It is closed at its end, after an error, and when the request of
// the client has ended.
type transfer struct {
	ctx      context.Context // ends with the request of the client, by cancel, or when the timer fires
	cancel   context.CancelCauseFunc
	limit    time.Duration
	timer    *time.Timer // runs while the head or a piece is awaited
	fetch    *Fetch
	message  *message
	response *http.Response
	received int64
	closed   func()
}

func newTransfer(ctx context.Context, f *Fetch, m *message) *transfer {
	t := &transfer{limit: f.Timeout, fetch: f, message: m}
	if t.limit <= 0 {
		t.limit = DefaultFetchTimeout
	}
	t.ctx, t.cancel = context.WithCancelCause(ctx)
	t.timer = time.AfterFunc(t.limit, func() { t.cancel(errTimeout{t.limit}) })
	return t
}

// onClose makes close call f. It must be called before the body is read.
func (t *transfer) onClose(f func()) {
	t.closed = sync.OnceFunc(f)
	context.AfterFunc(t.ctx, t.closed)
}

// close releases the connection.
func (t *transfer) close() {
	t.timer.Stop()
	t.cancel(context.Canceled)
	if t.response != nil {
		_ = t.response.Body.Close()
	}
}

func (t *transfer) maxBytes() int64 {
	if t.fetch.MaxBytes > 0 {
		return t.fetch.MaxBytes
	}
	return DefaultFetchBytes
}

func (t *transfer) tooLong() error {
	return refusedError("fetch: the answer of %s is longer than %d bytes, the limit globals.scripts.fetch.maxBytes of deploy.json", t.message.url.hostPort(), t.maxBytes())
}

// readAll returns the rest of the body and closes the transfer.
func (t *transfer) readAll() ([]byte, error) {
	defer t.close()
	limit := t.maxBytes() - t.received
	b, err := io.ReadAll(io.LimitReader(t.response.Body, limit+1))
	switch {
	case err != nil:
		return nil, explainError(t.ctx, t.message, err)
	case int64(len(b)) > limit:
		return nil, t.tooLong()
	}
	return b, nil
}

// readPiece returns the next bytes of the body. At the end, it returns io.EOF and closes the transfer, as after any
// other error. Each piece may take as long as a whole response that is read at once.
func (t *transfer) readPiece() ([]byte, error) {
	t.timer.Reset(t.limit)
	b := make([]byte, 64<<10)
	n, err := t.response.Body.Read(b)
	t.timer.Stop()
	if t.received += int64(n); t.received > t.maxBytes() {
		t.close()
		return nil, t.tooLong()
	}
	if n > 0 {
		return b[:n:n], nil
	}
	if err == nil {
		return t.readPiece()
	}
	if err != io.EOF {
		err = explainError(t.ctx, t.message, err)
	}
	t.close()
	return nil, err
}
