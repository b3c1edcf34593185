package account

import (
	"maps"
	"slices"
	"sync"
)

// listeners holds the functions that were passed to OnChange.
type listeners struct {
	mu   sync.Mutex
	last int
	all  map[int]func(id string)
}

// OnChange calls f with the name of each account as soon as this Store changes
// it. Use it to remove the account from other caches. The returned function
// unregisters f.
func (s *cache) OnChange(f func(id string)) (stop func()) {
	l := &s.changed
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[int]func(string){}
	}
	l.last++
	id := l.last
	l.all[id] = f
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.all, id)
	}
}

// notifyAll calls all listeners with the name of a changed account.
func (l *listeners) notifyAll(account string) {
	l.mu.Lock()
	all := slices.Collect(maps.Values(l.all))
	l.mu.Unlock()
	for _, f := range all {
		f(account)
	}
}
