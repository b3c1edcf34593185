package account

import (
	"context"

	"restsrv/engine"
)

// Remove deletes an account, its tokens and its grants, so that a later account with the same
// name does not get the tokens and grants. Other processes notice within a second. Objects that
// the account has created stay, and Import does not create the account again. Errors: NotFound.
func (s *Store) Remove(ctx context.Context, id string) error {
	if _, err := s.data.Get(engine.AsServer(ctx), s.classes.account, id); engine.CodeOf(err) == engine.NotFound && err != nil {
		return unknownAccount(id)
	}
	if s.removing != nil {
		if err := s.removing(ctx, id); err != nil {
			return err
		}
	}
	err := s.data.Delete(engine.AsServer(ctx), s.classes.account, id, nil)
	s.forgetAccount(id)
	switch {
	case err == nil:
		s.auditChange(ctx, id, "removed")
	case engine.CodeOf(err) == engine.NotFound:
		return unknownAccount(id)
	default:
		return err
	}
	if _, err := s.data.Save(engine.AsServer(ctx), []engine.Record{s.usedRecord(id)}); err != nil {
		return err
	}
	return s.removeTokens(ctx, id)
}
