package vm

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/service"
)

// Stream is the body of an answer that a script produces while it is sent.
type Stream struct {
	call   *Call
	source *Source
	events bool          // the body consists of server-sent events
	beat   time.Duration // interval of comments between events, when there are no events
	begun  time.Time
	sent   int64
	tail   [2]byte // the last bytes that were sent
	closed atomic.Bool
	leave  func() // gives back the place of the stream
}

var _ service.Stream = (*Stream)(nil)

// StreamOptions describes a stream.
type StreamOptions struct {
	Events    bool          // the body consists of server-sent events (text/event-stream)
	Heartbeat time.Duration // interval of comments while there are no events; 0 means 15 s
}

const defaultHeartbeat = 15 * time.Second

// cancelWait is the time for which the end of a stream waits for the iterator, so that its finally blocks can use data.
const cancelWait = time.Second

// NewStream returns a stream for the answer of the current call. value is an async iterator or a ReadableStream. It
// must be called inside goja's Try, and throws an error if the service or the account has too many streams.
func NewStream(v *VM, value goja.Value, o StreamOptions) *Stream {
	c, l := v.Call, &v.Service.Limits
	leave, err := c.takePlace(&v.Service.Counters.Streams, "streams", l.Streams, l.AccountStreams)
	if err != nil {
		panic(v.ErrorOf(err, nil))
	}
	c.Detach()
	if o.Heartbeat <= 0 {
		o.Heartbeat = defaultHeartbeat
	}
	v.Service.Counters.streamsBegun.Add(1)
	return &Stream{call: c, source: NewSource(v, value), events: o.Events, beat: o.Heartbeat, begun: time.Now(), leave: leave}
}

// First describes the first chunk of a stream.
type First struct{ Text bool } // the chunk is a text, not bytes

// Await waits for the first chunk or the end of the stream, so that a failure before it is answered like any other
// failure of the handler. The error is a *Failure, or Timeout.
func (s *Stream) Await(ctx context.Context) (First, error) {
	limit := time.NewTimer(time.Until(s.call.start.Add(s.call.Service.Limits.Wall)))
	defer limit.Stop()
	for {
		if first, ready, err := s.source.peek(); ready {
			return first, err
		}
		select {
		case <-s.source.changed:
		case <-limit.C:
			return First{}, timeoutError(s.call.Service)
		case <-ctx.Done():
			return First{}, timeoutError(s.call.Service)
		}
	}
}

// peek reports whether there is a chunk or the source has ended. It returns the error of a source that has failed
// before its first chunk.
func (s *Source) peek() (first First, ready bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.chunks) > 0 {
		return First{s.text}, true, nil
	}
	return First{true}, s.ended, s.err
}

// FailureOf returns the outcome for a stream that has failed before its first bytes.
func (s *Stream) FailureOf(err error) Outcome {
	if f, ok := err.(*Failure); ok {
		return s.call.work.Fail(s.call, f)
	}
	return Outcome{Err: err}
}

// Send implements service.Stream. It writes the chunks as the script produces them. The script waits while w blocks.
func (s *Stream) Send(w service.StreamWriter) error {
	err := s.send(w)
	if f, ok := err.(*Failure); ok {
		s.call.Service.Log.Error("a stream failed after its answer had begun; the connection is closed", s.call.Service.FailureArgs(f, "request", s.call.Req.ID)...)
		s.call.Service.Counters.streamsFailed.Add(1)
	}
	return err
}

func (s *Stream) send(w service.StreamWriter) error {
	c, l := s.call, &s.call.Service.Limits
	last := time.NewTimer(l.StreamTime)
	defer last.Stop()
	pause := time.NewTimer(s.maxPause())
	defer pause.Stop()
	reason := engine.Errorf(engine.Timeout, "streamTime", "the stream took longer than %s, the limit streamTime", l.StreamTime)
	replaced, stopping := c.Service.Ending.begun(), c.Service.Stopping.begun()
	for {
		chunks, ended := s.source.take()
		if err := s.write(w, chunks); err != nil {
			return err
		}
		if ended == io.EOF {
			return nil
		}
		if ended != nil {
			return ended
		}
		if len(chunks) > 0 {
			s.source.resume()
			pause.Reset(s.maxPause())
		}
		select {
		case <-s.source.changed:
		case <-pause.C:
			if !s.events {
				return engine.Errorf(engine.Timeout, "timeout", "the stream produced no data for %s, the limit wallTime", l.Wall)
			}
			if err := s.heartbeat(w); err != nil {
				return err
			}
			pause.Reset(s.maxPause())
		case <-last.C:
			return s.endEarly(reason)
		case <-replaced:
			replaced = nil
			reason = &engine.Error{Code: engine.Unavailable, Reason: "reload", Message: errReplaced.Error()}
			last.Reset(min(l.StreamGrace, time.Until(s.begun.Add(l.StreamTime))))
		case <-stopping:
			if stopping = nil; s.events {
				return nil
			}
		case <-c.ctx.Done():
			return c.ctx.Err()
		}
	}
}

// maxPause returns the time after which a stream without new data gets a heartbeat or fails.
func (s *Stream) maxPause() time.Duration {
	if s.events {
		return s.beat
	}
	return s.call.Service.Limits.Wall
}

// endEarly ends a stream that is not complete. Clients of server-sent events connect again after a regular end. Any
// other body would look complete after a regular end, so the connection is broken instead.
func (s *Stream) endEarly(reason error) error {
	if s.events {
		return nil
	}
	return reason
}

func (s *Stream) write(w service.StreamWriter, chunks [][]byte) error {
	for _, b := range chunks {
		if s.sent += int64(len(b)); s.sent > int64(s.call.Service.Limits.StreamBytes) {
			return engine.Errorf(engine.TooLarge, "streamBytes", "the stream has more than %d bytes, the limit streamBytes", s.call.Service.Limits.StreamBytes)
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
		if n := len(b); n == 1 {
			s.tail = [2]byte{s.tail[1], b[0]}
		} else {
			s.tail = [2]byte(b[n-2:])
		}
	}
	if len(chunks) == 0 {
		return nil
	}
	return w.Flush()
}

// heartbeat sends a comment, unless the last event is incomplete.
func (s *Stream) heartbeat(w service.StreamWriter) error {
	if s.sent > 0 && s.tail != [2]byte{'\n', '\n'} {
		return nil
	}
	if _, err := w.Write([]byte(":\n\n")); err != nil {
		return err
	}
	return w.Flush()
}

// Close implements service.Stream. It ends the iterator of the script, and the call unless the call has work for
// req.waitUntil.
func (s *Stream) Close() {
	if s.closed.Swap(true) {
		return
	}
	c := s.call
	c.Service.Counters.streamBytes.Add(uint64(s.sent))
	if !s.source.hasEnded() {
		s.source.stop("the stream was closed")
		s.awaitEnd()
	}
	s.leave()
	if c.after.hasWork() {
		go c.finishWork()
		return
	}
	c.end()
}

// awaitEnd waits until the iterator has ended, at most cancelWait.
func (s *Stream) awaitEnd() {
	limit := time.NewTimer(cancelWait)
	defer limit.Stop()
	for !s.source.hasEnded() {
		select {
		case <-s.source.changed:
		case <-limit.C:
			return
		}
	}
}
