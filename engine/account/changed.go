package account

import (
	"maps"
	"slices"
	"sync"
)

// listeners are those that OnChange was given.
type listeners struct {
	mu   sync.Mutex
	last int
	all  map[int]func(id string)
}

// OnChange has f called with the name of each account that is changed here, as
// soon as it is: what others remember of it ends then. The function returned
// ends that.
func (s *Store) OnChange(f func(id string)) (stop func()) {
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

// tell tells all of a changed account.
func (l *listeners) tell(account string) {
	l.mu.Lock()
	all := slices.Collect(maps.Values(l.all))
	l.mu.Unlock()
	for _, f := range all {
		f(account)
	}
}
