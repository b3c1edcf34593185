package vm

import (
	"net/http"
	"testing"

	"restsrv/engine/service"
)

// idleWork is work that has no effect.
type idleWork struct{ Work }

func (idleWork) Displaced() Outcome { return Outcome{Displaced: true} }

func TestHeadMayRunAgain(t *testing.T) {
	for method, want := range map[string]bool{http.MethodGet: true, http.MethodHead: true, http.MethodPost: false} {
		c := &Call{work: idleWork{}, Req: &service.Request{Method: method}, done: make(chan *pending, 1)}
		c.begun.Store(true)
		c.handleDiscard()
		if c.out.again != want {
			t.Errorf("%s: runs again: got %v, want %v", method, c.out.again, want)
		}
		c = &Call{work: idleWork{}, Req: &service.Request{Method: method}, done: make(chan *pending, 1)}
		c.begun.Store(true)
		c.Wrote.Store(true)
		c.handleDiscard()
		if c.out.again {
			t.Errorf("%s that wrote runs again, want it not to", method)
		}
		c = &Call{work: idleWork{}, Req: &service.Request{Method: method}, done: make(chan *pending, 1)}
		c.handleDiscard()
		if !c.out.again {
			t.Errorf("%s that never began does not run again", method)
		}
	}
}
