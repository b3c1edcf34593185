package script

// patience lets a loop in Go that a script has started end when its turn must
// end: no interrupt reaches it.
type patience struct{ n uint }

// perLook is how many steps pass between two looks at the clock.
const perLook = 1024

// check is called at each step of such a loop, inside a turn. It ends the
// turn, as an interrupt would, when its time is up.
func (p *patience) check(h *host) {
	if p.n++; p.n%perLook != 0 || h == nil {
		return
	}
	if why := h.v.clock.expired(); why != nil {
		panic(stopped{why})
	}
}

// stopped is the panic that ends a turn.
type stopped struct{ why error }

// Error is why.
func (s stopped) Error() string { return s.why.Error() }
