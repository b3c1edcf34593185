package conns

import (
	"sync/atomic"
	"time"
)

// The maximum times for which a batch waits for more writes: gatherPause for the next write, and gatherTime in total.
const (
	gatherPause = time.Millisecond
	gatherTime  = 5 * time.Millisecond
)

// crowd makes the batches of a queue large if a commit flushes to the disk. Without it, half of the clients would
// write while the commit of the other half flushes, and the halves would alternate forever. A client that has just got
// the result of a write is likely to send its next write at once. So a batch waits until it has as many writes as the
// previous batch, or until no further write arrives for gatherPause. A lone client does not wait.
type crowd struct {
	expected int          // number of writes in the previous batch
	wanted   atomic.Int32 // length of the queue at which the batch goes on; 0 when no batch waits
	enough   chan struct{}
	timer    *time.Timer
}

func newCrowd() crowd {
	t := time.NewTimer(0)
	<-t.C
	return crowd{enough: make(chan struct{}), timer: t}
}

// noteLength must be called with the length of the queue when a write has joined the queue. It wakes the waiting batch
// once, when the queue is long enough.
func (c *crowd) noteLength(length int) {
	if n := c.wanted.Load(); n > 0 && length >= int(n) && c.wanted.CompareAndSwap(n, 0) {
		c.enough <- struct{}{}
	}
}

// gather waits for further writes, on behalf of a batch that consists of one write so far.
func (c *crowd) gather(jobs *queue) {
	seen := jobs.Len()
	if seen+1 >= c.expected {
		return
	}
	c.wanted.Store(int32(c.expected - 1))
	for end := time.Now().Add(gatherTime); jobs.Len() < c.expected-1; {
		c.timer.Reset(gatherPause)
		select {
		case <-c.enough:
			c.timer.Stop()
			return
		case now := <-c.timer.C:
			if jobs.Len() == seen || now.After(end) {
				break
			}
			seen = jobs.Len()
			continue
		}
		break
	}
	if c.wanted.Swap(0) == 0 {
		<-c.enough // noteLength has already found the queue long enough, and sends
	}
}
