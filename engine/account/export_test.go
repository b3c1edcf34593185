package account

// Spent tells how many checks there were, and what they have cost.
func (h *Hasher) Spent() (checks, argon, pbkdf2 uint64) {
	return h.checks.Load(), h.argon.Load(), h.pbkdf2.Load()
}

// Busy tells whether hashes are computed or waited for.
func (h *Hasher) Busy() bool {
	computing, waiting := h.turns.counts()
	return computing+waiting > 0
}

// Waiting tells how many requests wait because of failures before them.
func (s *Store) Waiting() int { return s.waiting.count() }

// Queued tells how many stand in the queue.
func (h *Hasher) Queued() int64 {
	_, waiting := h.turns.counts()
	return int64(waiting)
}
