package oauth

import (
	"context"
	"strings"

	"github.com/go-oauth2/oauth2/v4"
	"github.com/go-oauth2/oauth2/v4/errors"

	"restsrv/engine"
)

// exchangeCode exchanges a code for tokens, once. If a code is used again, its
// grant is revoked (RFC 6749 section 4.1.2).
func (f *flows) exchangeCode(ctx context.Context, c *Client, r *oauth2.TokenGenerateRequest) (g given, account string, err error) {
	var it *engine.Item
	if wellFormed(r.Code) {
		if it, err = f.byHash(ctx, "code", hashOf(r.Code)); err != nil {
			return g, "", err
		}
	}
	if it == nil || it.Text("client") != c.ID {
		return g, "", f.countGuess(ctx, "the code is unknown, expired or another client's")
	}
	if it.Flag("used") {
		return g, "", f.endReused(ctx, it, "code")
	}
	if !it.When("expires").After(f.cfg.Now()) {
		return g, "", invalidGrant("the code is unknown, expired or another client's")
	}
	if it.Flag("redirected") && r.RedirectURI == "" || r.RedirectURI != "" && r.RedirectURI != it.Text("redirect") {
		return g, "", invalidGrant("redirect_uri is not that of the code")
	}
	if challenge := it.Text("challenge"); !verifierMatches(challenge, r.CodeVerifier) || c.Public && challenge == "" {
		return g, "", invalidGrant("code_verifier is not that of the code_challenge")
	}
	if _, ok := c.redirectFor(it.Text("redirect")); !ok {
		return g, "", invalidGrant("the client was changed since it was granted")
	}
	granted, err := f.stillGranted(ctx, c, it)
	if err != nil {
		return g, "", err
	}
	family := ""
	if c.mayUse(refreshToken) {
		family = newFamily()
	}
	g, sets := f.issueTokens(c, granted, granted, family)
	done, err := f.changeGrant(ctx, it, append(sets, engine.Named("used", true))...)
	if err != nil {
		return g, "", err
	}
	if !done {
		return given{}, "", f.endReused(ctx, it, "code")
	}
	return g, it.Text("account"), nil
}

// stillGranted returns the scope of a grant. It fails if the account cannot sign in any more, or
// if the client is no longer allowed to have the scope.
func (f *flows) stillGranted(ctx context.Context, c *Client, it *engine.Item) (*engine.Scope, error) {
	a, err := f.grantAccount(ctx, it)
	if err != nil {
		return nil, err
	}
	scope, err := engine.ParseScope(it.Text("scope"))
	if err != nil || a == nil || !scope.Within(c.Scope) {
		return nil, invalidGrant("the account or the client was changed since it was granted")
	}
	return scope, nil
}

// exchangeRefresh exchanges a refresh token for new tokens, once. If a token is
// used again, the whole grant is revoked (RFC 9700 section 4.14.2).
func (f *flows) exchangeRefresh(ctx context.Context, c *Client, r *oauth2.TokenGenerateRequest) (g given, account string, err error) {
	var it *engine.Item
	if wellFormed(r.Refresh) {
		if it, err = f.byHash(ctx, "refresh", hashOf(r.Refresh)); err != nil {
			return g, "", err
		}
	}
	if it == nil {
		return g, "", f.spentError(ctx, c, r.Refresh)
	}
	if it.Text("client") != c.ID {
		return g, "", f.countGuess(ctx, unknownRefresh)
	}
	if !it.When("refreshExpires").After(f.cfg.Now()) {
		return g, "", invalidGrant(unknownRefresh)
	}
	granted, err := f.stillGranted(ctx, c, it)
	if err != nil {
		return g, "", err
	}
	scope := granted
	if r.Scope != "" {
		if scope, err = parseScope(r.Scope); err != nil {
			return g, "", err
		}
		if !scope.Within(granted) {
			return g, "", invalidScope("the scope is wider than what was granted")
		}
	}
	family, err := f.nextFamily(ctx, it, r.Refresh)
	if err != nil {
		return g, "", err
	}
	g, sets := f.issueTokens(c, granted, scope, family)
	done, err := f.changeGrant(ctx, it, sets...)
	if err != nil {
		return g, "", err
	}
	if !done {
		now, err := f.find(ctx, it.Class, it.ID)
		switch {
		case err != nil:
			return given{}, "", err
		case now != nil && now.Text("refresh") == it.Text("refresh"): // only the access token of the grant was revoked: try again
			return f.exchangeRefresh(ctx, c, r)
		}
		return given{}, "", f.endReused(ctx, it, "refresh token")
	}
	f.sweeper.Begin()
	return g, it.Text("account"), nil
}

const unknownRefresh = "the refresh token is unknown, expired or another client's"

// spentError returns the error for a refresh token that is not the current token of a grant. If
// the token was the current token before, spentError revokes the grant.
func (f *flows) spentError(ctx context.Context, c *Client, refresh string) error {
	it, known, err := f.findFamily(ctx, refresh)
	switch {
	case err != nil:
		return err
	case !known:
		return f.countGuess(ctx, unknownRefresh)
	case it == nil || it.Text("client") != c.ID:
		return invalidGrant(unknownRefresh)
	}
	return f.endReused(ctx, it, "refresh token")
}

// findFamily returns the grant to which a refresh token belonged until it was exchanged, or nil
// if that grant has ended. known is false if no such token was issued, as far as the server
// knows.
//
// Usually findFamily checks only the first half of the token (see familyDigits). A text with a
// right first half and a wrong second half therefore counts as an exchanged token. This is
// intended, because the sender of the text knows a part of a secret.
func (p *grantStore) findFamily(ctx context.Context, refresh string) (grant *engine.Item, known bool, err error) {
	grant, err = p.byHash(ctx, "family", hashOf(familyOf(refresh)))
	if err != nil || grant != nil {
		return grant, grant != nil, err
	}
	spent, err := p.find(ctx, p.classes.spent, hashOf(refresh)) // a token of an older version
	if err != nil || spent == nil {
		return nil, false, err
	}
	grant, err = p.find(ctx, p.classes.grant, spent.Text("grant"))
	return grant, true, err
}

// issueOwnToken issues a token of a client for its own account.
func (f *flows) issueOwnToken(ctx context.Context, c *Client, asked string) (g given, err error) {
	scope, err := scopeFor(c, asked)
	if err != nil {
		return g, err
	}
	a, basis, err := f.currentAccount(ctx, c.Account)
	if err != nil {
		return g, err
	}
	if a == nil {
		return g, unauthorizedClient("the client has no account of its own")
	}
	g, sets := f.issueTokens(c, scope, scope, "")
	sets = append(sets, engine.Named("id", newID()), engine.Named("client", c.ID), engine.Named("account", a.ID),
		engine.Named("basis", basis), engine.Named("created", instantOrNil(f.cfg.Now())))
	class := f.classes.grant
	_, err = f.cfg.Data.Create(engine.AsServer(ctx), class, engine.ValuesOf(class, sets...), engine.WriteOptions{})
	f.sweeper.Begin()
	if err == nil {
		err = f.bound.Added(ctx, a.ID)
	}
	return g, err
}

// scopeFor returns the scope that a client gets: the requested scope, or the maximum of the
// client if it requested none. It fails if the client is not allowed to have the requested scope.
func scopeFor(c *Client, asked string) (*engine.Scope, error) {
	scope, err := parseScope(asked)
	if err != nil {
		return nil, err
	}
	if scope == nil {
		return c.Scope, nil
	}
	if !scope.Within(c.Scope) {
		return nil, invalidScope("the scope is wider than the client may have: " + c.Scope.String())
	}
	return scope, nil
}

// maxScope is the maximum length of a scope in bytes.
const maxScope = 2000

// parseScope parses the scope of a request (RFC 6749 section 3.3); nil if it is
// empty.
func parseScope(asked string) (*engine.Scope, error) {
	switch {
	case len(asked) > maxScope:
		return nil, invalidScope("the scope is too long")
	case strings.ContainsFunc(asked, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }):
		return nil, invalidScope("a scope is words in ASCII without quotes and backslashes, separated by blanks")
	}
	scope, err := engine.ParseScope(asked)
	if err != nil {
		return nil, invalidScope(failureOf(err).text)
	}
	return scope, nil
}

func invalidScope(text string) error {
	return &failure{kind: errors.ErrInvalidScope, text: text}
}
