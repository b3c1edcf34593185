package access

import (
	"context"

	"restsrv/engine"
)

// Checker checks and explains the permissions of accounts on any resource. Unlike a Repository,
// it also counts the grants to everyone.
type Checker struct{ gate *gate }

var _ engine.Access = (*Checker)(nil)

// NewChecker returns a Checker. It does not use cfg.Inner.
func NewChecker(cfg Config) *Checker { return &Checker{newGate(cfg)} }

// Check implements engine.Access.
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
