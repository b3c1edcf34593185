package access

import (
	"context"

	"restsrv/engine"
)

// Checker answers and explains what accounts may do on any resource. It counts
// what is granted to everyone, which the gate to the data does not.
type Checker struct{ gate *gate }

var _ engine.Access = (*Checker)(nil)

// NewChecker makes one. It needs no Inner.
func NewChecker(cfg Config) *Checker { return &Checker{newGate(cfg)} }

// Check is engine.Access's.
func (c *Checker) Check(ctx context.Context, a *engine.Account, resource string, may engine.Permission) (bool, error) {
	switch {
	case a == nil || !limitOf(a).Has(may):
		return false, nil
	case c.gate.cfg.Unrestricted:
		return true, nil
	}
	grants, err := c.gate.cfg.Policy.Grants(ctx)
	if err != nil {
		return false, err
	}
	subjects := a.Subjects()
	return (grants.On(resource, subjects...) | grants.On(engine.Everything, subjects...)).Has(may), nil
}
