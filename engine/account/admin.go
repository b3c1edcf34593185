package account

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"

	"restsrv/engine"
)

// The account that the first start creates, and its role, which may do
// everything.
const (
	AdminID   = "admin@local"
	AdminRole = "admin"
)

// Admin says what EnsureAdmin did.
type Admin struct {
	Created   bool   // there were no accounts: AdminID was created
	Generated string // its password when none was given; show it once and keep it nowhere else
}

// EnsureAdmin creates the administrator when there are no accounts at all,
// with the given password or, if that is "", with a random one. It is cheap
// when there is nothing to do. Errors: Invalid for a password that is too
// long.
func (s *Store) EnsureAdmin(ctx context.Context, password string) (Admin, error) {
	n, err := s.count(ctx)
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
	if isDuplicate(err) { // another process was faster
		return Admin{}, nil
	}
	if err != nil {
		return Admin{}, err
	}
	return Admin{Created: true, Generated: generated}, nil
}

// AdminPasswordDiffers reports whether the administrator has another password
// than the given one: a start with RESTSRV_ADMIN_PASSWORD set then warns,
// because the variable changes nothing (restsrv user passwd does). It hashes, so
// call it when the server already answers. Errors: NotFound when there is no
// such account.
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

func isDuplicate(err error) bool {
	var e *engine.Error
	return errors.As(err, &e) && e.Code == engine.Invalid && e.Reason == "duplicate"
}
