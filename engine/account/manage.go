package account

import (
	"context"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"restsrv/engine"
)

// maxID is the maximum length of an account name in bytes.
const maxID = 255

// Account is a stored account, for administration. It does not contain the password hash, which never leaves this
// package.
type Account struct {
	ID           string // <login>@<type>
	Name         string
	Roles        []string
	Disabled     bool
	NeedPwdReset bool          // stored for applications; it does not block REST
	PasswordDate time.Time     // when the password was last set
	Properties   engine.Fields // properties that applications use
}

// checkID rejects account names that cannot be used to sign in. The login must not contain a colon, because HTTP
// Basic ends the user name there.
func checkID(id string) error {
	login, kind, ok := strings.Cut(id, "@")
	bad := func(r rune) bool { return r == ':' || r == '@' || unicode.IsControl(r) }
	switch {
	case !ok || login == "" || kind == "":
		return engine.Errorf(engine.Invalid, "account", "an account is named <user>@<type>, for example admin@local, found %s", engine.Quote(id))
	case len(id) > maxID:
		return engine.Errorf(engine.Invalid, "account", "an account name has at most %d bytes, found %d", maxID, len(id))
	case !utf8.ValidString(id) || strings.ContainsFunc(login, bad) || strings.ContainsFunc(kind, bad):
		return engine.Errorf(engine.Invalid, "account", "an account name holds no colon, no second @ and no control character, found %s", engine.Quote(id))
	case strings.TrimSpace(login) != login || strings.TrimSpace(kind) != kind:
		return engine.Errorf(engine.Invalid, "account", "an account name has no space at its ends, found %s", engine.Quote(id))
	}
	return nil
}

func checkRoles(roles []string) error {
	for _, role := range roles {
		if role == "" || strings.TrimSpace(role) != role {
			return engine.Errorf(engine.Invalid, "role", "a role is named by text without spaces at its ends, found %s", engine.Quote(role))
		}
		if role == engine.Everyone {
			return engine.Errorf(engine.Invalid, "role", "* is everyone, and no role that one account has")
		}
		if strings.HasSuffix(role, "@local") {
			return engine.Errorf(engine.Invalid, "role", "%s is the name of an account, and none of a role: it would give what that is granted", engine.Quote(role))
		}
		if err := checkText("role name", role, maxID); err != nil {
			return err
		}
	}
	return nil
}

// checkAccount rejects an account if its name or roles are invalid.
func checkAccount(a Account) error {
	if err := checkText("name", a.Name, maxID); err != nil {
		return err
	}
	return checkRoles(a.Roles)
}

// Add creates an account with a password, and sets its PasswordDate to now. It calls Config.First before the very
// first account. Errors: Invalid if the name, a role or the password is not valid. If the account exists, the error
// is Invalid with the reason duplicate.
func (s *Store) Add(ctx context.Context, a Account, password string) error {
	if err := s.CheckNew(ctx, a); err != nil {
		return err
	}
	hash, err := s.hasher.Hash(ctx, password)
	if err != nil {
		return err
	}
	if n, err := s.countAccounts(ctx); err != nil {
		return err
	} else if n == 0 && s.first != nil {
		if err := s.first(engine.AsServer(ctx)); err != nil {
			return err
		}
	}
	return s.createAccount(ctx, a, hash)
}

// CheckNew returns the error that Add would return for the account regardless of the password. Use it before
// asking for a password.
func (s *Store) CheckNew(ctx context.Context, a Account) error {
	if err := checkID(a.ID); err != nil {
		return err
	}
	if err := checkAccount(a); err != nil {
		return err
	}
	item, err := s.find(ctx, s.classes.account, a.ID)
	if err == nil && item != nil {
		err = alreadyExists(a.ID)
	}
	return err
}

func alreadyExists(id string) error {
	return engine.Errorf(engine.Invalid, "duplicate", "account %s exists already", engine.Quote(id))
}

// newAccount returns the stored values of an account with that password hash.
func (s *Store) newAccount(a Account, hash string) engine.Values {
	return engine.ValuesOf(s.classes.account,
		engine.Named("id", a.ID),
		engine.Named("name", a.Name),
		engine.Named("pwd", hash),
		engine.Named("pwdDate", engine.InstantOf(s.clock())),
		engine.Named("disabled", a.Disabled),
		engine.Named("needPwdReset", a.NeedPwdReset),
		engine.Named("roles", strings.Join(a.Roles, "\n")),
		engine.Named("properties", propertiesText(a.Properties)),
		engine.Named("folded", foldName(a.ID)),
	)
}

func (s *Store) createAccount(ctx context.Context, a Account, hash string) error {
	_, err := s.data.Create(engine.AsServer(ctx), s.classes.account, s.newAccount(a, hash), engine.WriteOptions{})
	if engine.IsDuplicate(err) {
		return alreadyExists(a.ID)
	}
	s.forgetAccount(a.ID)
	if err == nil {
		s.auditChange(ctx, a.ID, "added")
	}
	return err
}

// SetPassword replaces the password of an account. The old password becomes void, and so do all tokens that were
// issued while it was valid, because a caller with the old password may have created them. This takes effect at once
// in this process, and within a second in others. No token can outlive the write: it changes PasswordDate, and
// tokens from an earlier date are not accepted. Afterwards the tokens are deleted, but only to save space. Errors:
// NotFound, Invalid if the password is empty or too long.
func (s *Store) SetPassword(ctx context.Context, id, password string) error {
	if _, err := s.existingAccount(ctx, id); err != nil {
		return err
	}
	hash, err := s.hasher.Hash(ctx, password)
	if err != nil {
		return err
	}
	err = s.changeAccount(ctx, id, "password",
		engine.Named("pwd", hash),
		engine.Named("pwdDate", engine.InstantOf(s.clock())),
		engine.Named("needPwdReset", false),
	)
	if err != nil {
		return err
	}
	return s.removeTokens(ctx, id)
}

// Disable stops an account from signing in by password or token, at once; in other processes within a second. It
// revokes the account's tokens, sessions and OAuth2 grants; Enable does not restore them. Errors: NotFound.
func (s *Store) Disable(ctx context.Context, id string) error {
	item, err := s.existingAccount(ctx, id)
	if err != nil {
		return err
	}
	ended := max(engine.InstantOf(s.clock()), validFrom(item)+1) // later than validFrom, even if the clock was set back
	if err := s.changeAccount(ctx, id, "disabled", engine.Named("disabled", true), engine.Named("ended", ended)); err != nil {
		return err
	}
	return s.removeTokens(ctx, id)
}

// Enable lets a disabled account sign in again, with its password. Errors: NotFound.
func (s *Store) Enable(ctx context.Context, id string) error {
	return s.changeAccount(ctx, id, "enabled", engine.Named("disabled", false))
}

// changeAccount stores values of an account. what describes the change in the audit log.
func (s *Store) changeAccount(ctx context.Context, id, what string, sets ...engine.Field) error {
	_, err := s.data.Update(engine.AsServer(ctx), s.classes.account, id, engine.ValuesOf(s.classes.account, sets...), engine.WriteOptions{})
	s.forgetAccount(id)
	switch {
	case err == nil:
		s.auditChange(ctx, id, what)
	case engine.CodeOf(err) == engine.NotFound:
		return unknownAccount(id)
	}
	return err
}

// Get returns an account. Errors: NotFound.
func (s *directory) Get(ctx context.Context, id string) (Account, error) {
	item, err := s.existingAccount(ctx, id)
	if err != nil {
		return Account{}, err
	}
	return describeAccount(item), nil
}

// List returns all accounts, ordered by name.
func (s *directory) List(ctx context.Context) ([]Account, error) {
	c := s.classes.account
	q := &engine.Query{Class: c, Sort: []engine.Sort{{Property: c.Property("id")}}, Count: -1}
	var accounts []Account
	err := s.data.List(engine.AsServer(ctx), q, func(it *engine.Item) error {
		accounts = append(accounts, describeAccount(it))
		return nil
	})
	return accounts, err
}

func (s *directory) countAccounts(ctx context.Context) (int64, error) {
	return s.data.Count(engine.AsServer(ctx), &engine.Query{Class: s.classes.account, Count: -1})
}

// existingAccount returns the stored account, or the error NotFound.
func (s *directory) existingAccount(ctx context.Context, id string) (*engine.Item, error) {
	item, err := s.find(ctx, s.classes.account, id)
	if err == nil && item == nil {
		err = unknownAccount(id)
	}
	return item, err
}

func unknownAccount(id string) error {
	return engine.Errorf(engine.NotFound, "unknown-account", "there is no account %s", engine.Quote(id))
}

func describeAccount(it *engine.Item) Account {
	reset, _ := it.Get("needPwdReset").(bool)
	return Account{
		ID: it.ID, Name: it.Text("name"), Roles: splitRoles(it.Text("roles")),
		Disabled: isDisabled(it), NeedPwdReset: reset, PasswordDate: it.When("pwdDate"),
		Properties: storedProperties(it),
	}
}
