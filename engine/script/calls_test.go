package script

import (
	"net/http"
	"testing"

	"restsrv/engine"
)

// idleWork is work that has no effect.
type idleWork struct{ work }

func (idleWork) Displaced() outcome { return outcome{displaced: true} }

func TestHeadMayRunAgain(t *testing.T) {
	for method, want := range map[string]bool{http.MethodGet: true, http.MethodHead: true, http.MethodPost: false} {
		c := &call{work: idleWork{}, req: &engine.Request{Method: method}, done: make(chan *pending, 1)}
		c.begun.Store(true)
		c.handleDiscard()
		if c.out.again != want {
			t.Errorf("%s: runs again: got %v, want %v", method, c.out.again, want)
		}
		c = &call{work: idleWork{}, req: &engine.Request{Method: method}, done: make(chan *pending, 1)}
		c.begun.Store(true)
		c.wrote.Store(true)
		c.handleDiscard()
		if c.out.again {
			t.Errorf("%s that wrote runs again, want it not to", method)
		}
		c = &call{work: idleWork{}, req: &engine.Request{Method: method}, done: make(chan *pending, 1)}
		c.handleDiscard()
		if !c.out.again {
			t.Errorf("%s that never began does not run again", method)
		}
	}
}
