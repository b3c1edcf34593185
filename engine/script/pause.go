package script

import "time"

// pause stops the clock of a turn while the server compiles files for it.
// Compilation has its own limits, for the size of files and for the time of the
// compiler, and a script that requires a large package should not run into the
// CPU limit. resume starts the clock again.
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
