package vm

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/dop251/goja"

	"restsrv/engine"
)

// Input is the body of a request that the script reads as a stream. The body is not in memory: each piece is read from
// the connection when the script asks for it.
type Input struct {
	src       io.Reader
	interrupt func() // makes a Read of src that waits return an error; may be nil

	Stream goja.Value // the value of req.body; nil until a script reads it. Only accessed inside a turn

	reading sync.Mutex // held while src is read
	mu      sync.Mutex // protects the following fields
	err     error      // io.EOF at the end of the body, or the error of reading it
	ended   time.Time  // time at which err was set
	taken   bool       // Go code reads the body; see Take
}

// inputWork is a Work whose script reads the body of the request as a stream.
type inputWork interface{ Input() *Input }

// NewInput returns the body src of a request. interrupt makes a Read that waits for the client return an error; it may
// be nil.
func NewInput(src io.Reader, interrupt func()) *Input { return &Input{src: src, interrupt: interrupt} }

// inputPiece is the maximum size of a piece, in bytes.
const inputPiece = 64 << 10

// ReadPiece returns the next bytes of the body. The error is io.EOF at the end.
func (in *Input) ReadPiece() ([]byte, error) {
	b := make([]byte, inputPiece)
	n, err := in.Read(b)
	if n > 0 {
		return b[:n:n], nil
	}
	return nil, err
}

// Read implements io.Reader.
func (in *Input) Read(p []byte) (n int, err error) {
	in.reading.Lock()
	defer in.reading.Unlock()
	for {
		if err := in.state(); err != nil {
			return 0, err
		}
		n, err = in.src.Read(p)
		if err != nil {
			in.finish(err)
		}
		if n > 0 || err != nil {
			return n, in.after(n, err)
		}
	}
}

// after returns the error of a Read that has returned n bytes.
func (in *Input) after(n int, err error) error {
	if n > 0 {
		return nil // the next Read returns the error
	}
	return err
}

func (in *Input) state() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.err
}

func (in *Input) finish(err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.err == nil {
		in.err, in.ended = err, time.Now()
	}
}

// Failed reports whether e is the error with which the body ended.
func (in *Input) Failed(e *engine.Error) bool { return in.state() == error(e) }

// endedAt returns the time at which the body was complete or failed, or the zero Time.
func (in *Input) endedAt() time.Time {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.ended
}

// Take returns a reader of the body for Go code. The script cannot read the body any more. The error is Invalid if Take
// was called before.
func (in *Input) Take() (io.Reader, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.taken {
		return nil, engine.Errorf(engine.Invalid, "body", "the body of the request has already been read")
	}
	in.taken = true
	return in, nil
}

var errInputClosed = errors.New("the request has ended")

// Close ends the body, also for a Read that waits for the client, and waits until no Read runs.
func (in *Input) Close() {
	in.finish(errInputClosed)
	for !in.reading.TryLock() {
		if in.interrupt != nil {
			in.interrupt()
		}
		time.Sleep(time.Millisecond)
	}
	in.reading.Unlock()
}
