package account

// Spent returns the number of checks and their total cost for each algorithm.
func (h *Hasher) Spent() (checks, argon, pbkdf2 uint64) {
	return h.checks.Load(), h.argon.Load(), h.pbkdf2.Load()
}

// Busy reports whether any hash is being computed or any check waits in the queue.
func (h *Hasher) Busy() bool {
	computing, waiting := h.turns.counts()
	return computing+waiting > 0
}

// Waiting returns the number of requests that wait because of earlier failures.
func (s *Store) Waiting() int { return s.waiting.count() }

// Queued returns the number of checks in the queue.
func (h *Hasher) Queued() int64 {
	_, waiting := h.turns.counts()
	return int64(waiting)
}

// counts returns the number of slots in use and the number of turns that wait in lines.
func (q *turns) counts() (computing, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.slots - q.free, q.queued
}

// count returns the number of requests that wait.
func (c *crowd) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all
}
