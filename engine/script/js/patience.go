package js

// Patience ends a long loop in Go code when the time of the turn is over. An interrupt of the watchdog stops only
// JavaScript, so such a loop must check the time itself. Use one Patience per loop.
type Patience struct{ n uint }

// perLook is the number of steps between two checks of the clock, which is slow compared with a step.
const perLook = 1024

// Check must be called in each step of a loop that a script started, inside a turn. If the time of the turn is over,
// it panics with Stopped, which ends the turn like an interrupt.
func (p *Patience) Check(h *Realm) {
	if p.n++; p.n%perLook != 0 || h == nil {
		return
	}
	if why := h.owner.Expired(); why != nil {
		panic(Stopped{why})
	}
}

// Stopped is the panic value that ends a turn. Scripts cannot catch it.
type Stopped struct{ why error }

// Error implements error.
func (s Stopped) Error() string { return s.why.Error() }
