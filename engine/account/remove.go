package account

import (
	"context"

	"restsrv/engine"
)

// Remove deletes an account and its tokens; elsewhere it ends within a second.
// What it was granted and has made stays, and Import does not bring it back.
// Errors: NotFound.
func (s *Store) Remove(ctx context.Context, id string) error {
	err := s.data.Delete(engine.AsServer(ctx), s.classes.account, id, nil)
	s.forgetAccount(id)
	switch {
	case err == nil:
		s.told(ctx, id, "removed")
	case engine.CodeOf(err) == engine.NotFound:
		return unknown(id)
	default:
		return err
	}
	if _, err := s.data.Save(engine.AsServer(ctx), []engine.Record{s.mark(id)}); err != nil {
		return err
	}
	return s.removeTokens(ctx, id)
}
