package vm

import (
	"context"
	"io"
	"sync"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/script/js"
)

// The producer of a Source has to wait when the Source holds sourceBytes bytes or sourceChunks chunks. The second limit
// keeps the turns of a producer of small chunks short.
const (
	sourceBytes  = 64 << 10
	sourceChunks = 256
)

// Source carries the bytes that a script produces to Go code: the chunks of an async iterator, such as an async
// generator or a ReadableStream. The producer waits while the consumer has not taken the bytes. The producer runs in
// turns of the VM; the consumer runs on another goroutine.
type Source struct {
	vm   *VM
	call *Call

	changed chan struct{} // buffered; receives a value when there are bytes to take, or at the end

	mu      sync.Mutex
	chunks  [][]byte
	size    int  // bytes of chunks
	text    bool // the first chunk is a text
	begun   bool // there was a chunk
	ended   bool
	err     error // reason of the failure; nil if the source has not failed
	stopped bool  // the consumer needs no more bytes
	waiting bool  // the producer waits until there is room

	// The following fields may be used only inside a turn.
	room     func(any) error // resolves the promise for which the producer waits
	noted    bool            // the source is in VM.sources
	cancel   goja.Callable   // ends the iterator
	finished func()          // called when the producer has ended; may be nil
}

// IsStream reports whether value is an object that a script produces bytes with: an async iterator or a ReadableStream.
// If the scripts of a VM use neither, it has no symbol asyncIterator.
func IsStream(v *VM, value goja.Value) bool {
	o, ok := value.(*goja.Object)
	if !ok || v.Platform == nil {
		return false
	}
	symbol := v.Platform.AsyncIterator()
	if symbol == nil {
		return false
	}
	method := o.GetSymbol(symbol)
	return method != nil && !goja.IsUndefined(method)
}

// NewSource starts to read the async iterator or ReadableStream value on behalf of the current call. It must be called
// inside goja's Try. It throws a TypeError if value is no such object.
func NewSource(v *VM, value goja.Value) *Source {
	s := &Source{vm: v, call: v.Call, changed: make(chan struct{}, 1)}
	to := v.JS.NewObject()
	v.Method(to, "push", s.push)
	v.Method(to, "room", s.awaitRoom)
	v.Method(to, "end", s.end)
	s.cancel, _ = goja.AssertFunction(v.CallModule("#source", "pump", value, to))
	return s
}

// push implements push(chunk). It returns false if the producer must wait until there is room.
func (s *Source) push(fc goja.FunctionCall) goja.Value {
	b, err := chunkBytes(fc.Argument(0))
	if err != nil {
		panic(s.vm.JS.NewTypeError(err.Error()))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(b) > 0 && !s.stopped && !s.ended {
		if !s.begun {
			s.begun, s.text = true, goja.IsString(fc.Argument(0))
		}
		s.chunks, s.size = append(s.chunks, b), s.size+len(b)
		s.note()
	}
	return s.vm.JS.ToValue(s.hasRoom())
}

// hasRoom reports whether the producer may continue. The caller must hold s.mu.
func (s *Source) hasRoom() bool { return s.size < sourceBytes && len(s.chunks) < sourceChunks }

// chunkBytes returns a copy of a chunk, which is a text or bytes.
func chunkBytes(v goja.Value) ([]byte, error) {
	if goja.IsString(v) {
		return []byte(v.String()), nil
	}
	if o, ok := v.(*goja.Object); ok {
		if b, ok := js.BytesOf(o); ok {
			return append([]byte(nil), b...), nil
		}
	}
	return nil, engine.Errorf(engine.Invalid, "chunk", "a chunk of a stream is a text or bytes, found %s", js.DescribeValue(v))
}

// note makes the VM call notify at the end of the turn, so that chunks of one turn are sent together. The caller must
// hold s.mu.
func (s *Source) note() {
	if !s.noted {
		s.noted = true
		s.vm.sources = append(s.vm.sources, s)
	}
}

// notifySources tells the consumers of the sources that have changed in this turn.
func notifySources(v *VM) {
	for i, s := range v.sources {
		s.noted = false
		s.notify()
		v.sources[i] = nil
	}
	v.sources = v.sources[:0]
}

func (s *Source) notify() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// awaitRoom implements room(), which returns a promise that is resolved when push may be called again.
func (s *Source) awaitRoom(goja.FunctionCall) goja.Value {
	p, resolve, _ := s.vm.JS.NewPromise()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped || s.hasRoom() {
		js.Must(resolve(goja.Undefined()))
		return s.vm.JS.ToValue(p)
	}
	s.room, s.waiting = resolve, true
	s.note()
	return s.vm.JS.ToValue(p)
}

// end implements end(failed, reason): the producer has ended.
func (s *Source) end(fc goja.FunctionCall) goja.Value {
	var err error
	if fc.Argument(0).ToBoolean() {
		err = s.vm.DescribeThrown(fc.Argument(1), nil)
	}
	s.mu.Lock()
	s.note()
	s.mu.Unlock()
	s.fail(err)
	if s.finished != nil {
		s.finished()
	}
	return goja.Undefined()
}

// fail ends the source with an error, or without one if err is nil. It has no effect on a source that has ended.
func (s *Source) fail(err error) {
	s.mu.Lock()
	if !s.ended {
		s.ended, s.err = true, err
	}
	s.mu.Unlock()
}

// take returns the bytes that are available. At the end, it returns the error of the source, or io.EOF.
func (s *Source) take() ([][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	chunks := s.chunks
	s.chunks, s.size = nil, 0
	switch {
	case !s.ended:
		return chunks, nil
	case s.err != nil:
		return chunks, s.err
	}
	return chunks, io.EOF
}

// resume lets the producer continue if it waits for room. The consumer calls it when it has used the bytes that it took.
func (s *Source) resume() {
	s.mu.Lock()
	waiting := s.waiting
	s.waiting = false
	s.mu.Unlock()
	if waiting {
		s.vm.Do(Task{s.call, s.giveRoom}, false)
	}
}

// giveRoom resolves the promise of awaitRoom. It runs as a turn.
func (s *Source) giveRoom() error {
	resolve := s.room
	if s.room = nil; resolve == nil {
		return nil
	}
	return resolve(goja.Undefined())
}

// stop ends a source whose bytes are not needed any more. It calls the method return or cancel of the iterator in a
// turn, and returns without waiting for it.
func (s *Source) stop(reason string) {
	s.mu.Lock()
	done := s.stopped || s.ended
	s.stopped, s.waiting = true, false
	s.chunks, s.size = nil, 0
	s.mu.Unlock()
	if done {
		return
	}
	alive := s.vm.Do(Task{s.call, func() error {
		if s.call.Over.Load() {
			return nil
		}
		if _, err := s.cancel(goja.Undefined(), s.vm.NewError(reason, "stream-closed")); err != nil {
			return err
		}
		return s.giveRoom()
	}}, false)
	if !alive {
		s.fail(nil)
	}
}

// hasEnded reports whether the producer has ended.
func (s *Source) hasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// Reader returns the bytes of a source as an io.Reader for Go code that reads until the end. Its Read fails when ctx
// ends. Close must be called, and stops the source.
func (s *Source) Reader(ctx context.Context) io.ReadCloser { return &sourceReader{s: s, ctx: ctx} }

type sourceReader struct {
	s    *Source
	ctx  context.Context
	rest [][]byte
	err  error
}

// Read implements io.Reader.
func (r *sourceReader) Read(p []byte) (int, error) {
	for {
		if len(r.rest) > 0 {
			n := copy(p, r.rest[0])
			if r.rest[0] = r.rest[0][n:]; len(r.rest[0]) == 0 {
				r.rest = r.rest[1:]
			}
			return n, nil
		}
		if r.err != nil {
			return 0, r.err
		}
		if r.rest, r.err = r.s.take(); len(r.rest) > 0 || r.err != nil {
			continue
		}
		r.s.resume()
		select {
		case <-r.s.changed:
		case <-r.ctx.Done():
			r.err = r.ctx.Err()
		}
	}
}

// Close implements io.Closer.
func (r *sourceReader) Close() error {
	r.s.stop("the bytes of the stream are not needed any more")
	return nil
}
