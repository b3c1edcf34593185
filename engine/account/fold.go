package account

import (
	"context"
	"strings"
	"unicode"

	"restsrv/engine"
	"restsrv/engine/query"
)

// foldName returns the key under which account names are found regardless of the
// letter case of the login. The letter case of the type, after the @, counts.
func foldName(id string) string {
	login, kind, _ := strings.Cut(id, "@")
	return strings.Map(foldLetter, login) + "@" + kind
}

// foldLetter returns the same letter for all letters that differ only in case.
func foldLetter(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}

// lookupAccount returns the account that matches a user name, or nil. Its number of statements
// does not depend on whether the account exists.
func (s *directory) lookupAccount(ctx context.Context, id string) (*engine.Item, error) {
	if !s.foldsCase {
		return s.find(ctx, s.classes.account, id)
	}
	spelling, err := s.storedSpelling(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.find(ctx, s.classes.account, spelling)
}

// storedSpelling returns the stored account name that matches a name in any letter case. It
// returns the name unchanged if it matches no account or several.
func (s *directory) storedSpelling(ctx context.Context, id string) (string, error) {
	c := s.classes.account
	column := c.Property("folded")
	// Accounts of older versions may have null as their folded name, so these accounts are read
	// too. The loop below stores their folded names.
	filter, err := query.AnyOf(column, []any{foldName(id), nil})
	if err != nil {
		return "", err
	}
	var same, old []string
	err = s.data.List(engine.AsServer(ctx), &engine.Query{Class: c, Filter: filter, Count: -1}, func(it *engine.Item) error {
		if it.Get("folded") == nil {
			old = append(old, it.ID)
		}
		if foldName(it.ID) == foldName(id) {
			same = append(same, it.ID)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	for _, name := range old {
		v := engine.ValuesOf(c, engine.Named("folded", foldName(name)))
		if _, err := s.data.Update(engine.AsServer(ctx), c, name, v, engine.WriteOptions{}); err != nil && engine.CodeOf(err) != engine.NotFound {
			s.log.Warn("an account of an older version could not be prepared for sign-ins in any letter case", "account", name, "error", err)
		}
	}
	if len(same) != 1 {
		return id, nil
	}
	return same[0], nil
}
