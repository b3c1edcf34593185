package store

import (
	"sync/atomic"
	"time"
)

// The most that a batch waits for more writes: for the next one, and in all.
const (
	gatherPause = time.Millisecond
	gatherTime  = 5 * time.Millisecond
)

// crowd makes the batches of a queue large where a commit is a flush to the
// disk. Without it half of the clients would write while the commit of the other
// half flushes, and take turns so for ever. Who was answered by a commit is
// likely to come again at once: so a batch waits until as many writes are there
// as the last one had, unless none comes for a while. A lone client waits for
// nobody.
type crowd struct {
	expected int          // writes of the last batch
	wanted   atomic.Int32 // how long the queue must be for the batch to go on; 0 when nobody waits for it
	enough   chan struct{}
	timer    *time.Timer
}

func newCrowd() crowd {
	t := time.NewTimer(0)
	<-t.C
	return crowd{enough: make(chan struct{}), timer: t}
}

// came is told how long the queue is with one more write. It wakes the batch
// once, when it has what it waits for.
func (c *crowd) came(length int) {
	if n := c.wanted.Load(); n > 0 && length >= int(n) && c.wanted.CompareAndSwap(n, 0) {
		c.enough <- struct{}{}
	}
}

// gather waits for a batch that has one write so far.
func (c *crowd) gather(jobs *queue) {
	seen := jobs.len()
	if seen+1 >= c.expected {
		return
	}
	c.wanted.Store(int32(c.expected - 1))
	for end := time.Now().Add(gatherTime); jobs.len() < c.expected-1; {
		c.timer.Reset(gatherPause)
		select {
		case <-c.enough:
			c.timer.Stop()
			return
		case now := <-c.timer.C:
			if jobs.len() == seen || now.After(end) {
				break
			}
			seen = jobs.len()
			continue
		}
		break
	}
	if c.wanted.Swap(0) == 0 {
		<-c.enough // it was found to be enough meanwhile
	}
}
