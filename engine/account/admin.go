package account

import (
	"context"
	"crypto/rand"
	"strings"

	"restsrv/engine"
)

// The account that the first start creates, and its role, which may do
// everything.
const (
	AdminID   = "admin@local"
	AdminRole = "admin"
)

// Admin is the result of EnsureAdmin.
type Admin struct {
	Created   bool   // set if there were no accounts, so AdminID was created
	Generated string // its password, if none was given; it should be shown once and not stored
}

// EnsureAdmin creates the administrator if there are no accounts at all. If
// password is "", it generates a random one. It is cheap if there are accounts.
// Errors: Invalid if the password is too long.
func (s *Store) EnsureAdmin(ctx context.Context, password string) (Admin, error) {
	n, err := s.countAccounts(ctx)
	if err != nil || n > 0 {
		return Admin{}, err
	}
	generated := ""
	if password == "" {
		generated = strings.ToLower(rand.Text())
		password = generated
	}
	a := Account{ID: AdminID, Name: "Administrator", Roles: []string{AdminRole}}
	err = s.Add(ctx, a, password)
	if engine.IsDuplicate(err) { // another process created it first
		return Admin{}, nil
	}
	if err != nil {
		return Admin{}, err
	}
	return Admin{Created: true, Generated: generated}, nil
}

// AdminPasswordDiffers reports whether the administrator has another password than the given one.
// The server uses it for a warning at the start: RESTSRV_ADMIN_PASSWORD has no effect on an
// existing account, and the operator should use restsrv user passwd instead. AdminPasswordDiffers
// computes a hash, which takes time, so call it when the server already answers requests. Errors:
// NotFound if there is no such account.
func (s *Store) AdminPasswordDiffers(ctx context.Context, password string) (bool, error) {
	if password == "" {
		return false, nil
	}
	item, err := s.find(ctx, s.classes.account, AdminID)
	if err != nil {
		return false, err
	}
	if item == nil {
		return false, engine.Errorf(engine.NotFound, "no-account", "there is no account %s", AdminID)
	}
	if len(password) > MaxPassword {
		return true, nil
	}
	if err := s.hasher.enter(ctx, engine.CallerFrom(ctx)); err != nil {
		return false, err
	}
	defer s.hasher.leave()
	return !parseHash(item.Text("pwd")).matches(password), nil
}
