package js

// Patience stops a Go loop that a script has started when its turn has exceeded
// its time. Interrupts do not reach such a loop.
type Patience struct{ n uint }

// perLook is the number of steps between two checks of the clock.
const perLook = 1024

// Check must be called in each step of such a loop, inside a turn. If the time
// of the turn is exceeded, it panics with stopped, which has the same effect as
// an interrupt.
func (p *Patience) Check(h *Realm) {
	if p.n++; p.n%perLook != 0 || h == nil {
		return
	}
	if why := h.owner.Expired(); why != nil {
		panic(Stopped{why})
	}
}

// Stopped is the panic value that ends a turn.
type Stopped struct{ why error }

// Error implements error.
func (s Stopped) Error() string { return s.why.Error() }
