package account

import (
	"context"

	"restsrv/engine"
)

// Current returns the account of that name as it is stored now, and a text that
// changes with its password: whoever was let in by a password keeps the text
// and compares. It asks the database each time. Errors: Unauthenticated when
// the account is gone or disabled.
func (s *Store) Current(ctx context.Context, id string) (a *engine.Account, basis string, err error) {
	item, err := s.find(ctx, s.classes.account, id)
	if err != nil {
		return nil, "", err
	}
	if item == nil || disabled(item) {
		return nil, "", engine.Errorf(engine.Unauthenticated, "account", "the account may not sign in")
	}
	if at, ok := item.Get("pwdDate").(engine.Instant); ok {
		basis = at.String()
	}
	a, err = s.identity(ctx, item)
	return a, basis, err
}
