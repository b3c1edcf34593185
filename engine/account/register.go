package account

import (
	"context"

	"restsrv/engine"
	"restsrv/engine/service"
)

// Register implements service.Accounts. In contrast to IONDV, it never changes
// an existing account. Otherwise a caller that may register accounts could set
// the password of another account and take it over.
func (s *Store) Register(ctx context.Context, r service.Registration) (*engine.Account, error) {
	if err := checkID(r.ID); err != nil {
		return nil, err
	}
	item, err := s.lookupAccount(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	if item != nil {
		return nil, alreadyExists(r.ID)
	}
	if err := CheckPassword(r.Password); err != nil {
		return nil, err
	}
	if err := s.Add(ctx, Account{ID: r.ID, Name: r.Name, Properties: r.Properties}, r.Password); err != nil {
		return nil, err
	}
	return s.Profile(ctx, r.ID)
}

// Profile implements service.Accounts.
func (s *directory) Profile(ctx context.Context, id string) (*engine.Account, error) {
	item, err := s.lookupAccount(ctx, id)
	if err != nil {
		return nil, err
	}
	if item == nil || isDisabled(item) {
		return nil, unknownAccount(id)
	}
	return s.buildAccount(ctx, item)
}
