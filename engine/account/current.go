package account

import (
	"context"

	"restsrv/engine"
)

// Current returns the stored account with the given name. basis is a text that
// changes when the account gets another password or is disabled. Sessions and
// grants store this text, and are void if it differs. Each call reads the
// database. Errors: Unauthenticated if the account does not exist or is
// disabled.
func (s *directory) Current(ctx context.Context, id string) (a *engine.Account, basis string, err error) {
	item, err := s.find(ctx, s.classes.account, id)
	if err != nil {
		return nil, "", err
	}
	if item == nil || isDisabled(item) {
		return nil, "", engine.Errorf(engine.Unauthenticated, "account", "the account may not sign in")
	}
	if at := validFrom(item); at != 0 {
		basis = at.String()
	}
	a, err = s.buildAccount(ctx, item)
	return a, basis, err
}
