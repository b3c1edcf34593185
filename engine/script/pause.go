package script

import "time"

// pause stops the clock of a turn while the server compiles files for it: what
// bounds that is their size and the patience with the compiler, and a script
// that requires a large package has not computed for long. What it returns sets
// the clock going again.
func (k *clock) pause() (resume func()) {
	began := time.Now()
	k.mu.Lock()
	k.paused = true
	k.mu.Unlock()
	return func() {
		k.mu.Lock()
		k.paused, k.seen = false, false
		now := time.Now()
		k.start, k.looked = k.start.Add(now.Sub(began)), now
		k.mu.Unlock()
	}
}
