package oauth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"strings"
	"time"

	"github.com/go-oauth2/oauth2/v4"
	"github.com/go-oauth2/oauth2/v4/errors"
	"github.com/go-oauth2/oauth2/v4/models"
	"github.com/go-oauth2/oauth2/v4/server"

	"restsrv/engine"
)

// flows implements the Manager of the library on our storage. The library only formats the
// answers.
type flows struct {
	*core
	*clientStore
	*grantStore
}

// newLibrary returns the server of the library. It enables only the features that this package
// uses.
func (p *Provider) newLibrary() *server.Server {
	s := server.NewServer(&server.Config{
		TokenType:                   "Bearer",
		AllowedResponseTypes:        []oauth2.ResponseType{oauth2.Code},
		AllowedGrantTypes:           []oauth2.GrantType{oauth2.AuthorizationCode, oauth2.Refreshing, oauth2.ClientCredentials},
		AllowedCodeChallengeMethods: []oauth2.CodeChallengeMethod{oauth2.CodeChallengeS256},
	}, &flows{core: p.core, clientStore: p.clientStore, grantStore: p.grantStore})
	s.SetInternalErrorHandler(func(err error) *errors.Response { return failureOf(err).response() })
	return s
}

// GetClient returns a client.
func (f *flows) GetClient(ctx context.Context, id string) (oauth2.ClientInfo, error) {
	c, err := f.findClient(ctx, id)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return nil, invalidClient()
	}
	return &models.Client{ID: c.ID, Public: c.Public, UserID: c.Account}, nil
}

// GenerateAuthToken creates a grant with a code.
func (f *flows) GenerateAuthToken(ctx context.Context, _ oauth2.ResponseType, r *oauth2.TokenGenerateRequest) (oauth2.TokenInfo, error) {
	c, err := f.findClient(ctx, r.ClientID)
	if err != nil {
		return nil, err
	}
	a, basis, err := f.currentAccount(ctx, r.UserID)
	if err != nil {
		return nil, err
	}
	redirect, ok := "", false
	if c != nil {
		redirect, ok = c.redirectFor(r.RedirectURI)
	}
	if !ok || a == nil {
		return nil, invalidRequest("the client or the account was changed meanwhile")
	}
	code, hash := newSecret()
	now := f.cfg.Now()
	class := f.classes.grant
	_, err = f.cfg.Data.Create(engine.AsServer(ctx), class, engine.ValuesOf(class,
		engine.Named("id", newID()), engine.Named("client", c.ID), engine.Named("account", a.ID), engine.Named("basis", basis),
		engine.Named("scope", textOrNil(r.Scope)), engine.Named("created", instantOrNil(now)), engine.Named("expires", instantOrNil(now.Add(f.cfg.Options.CodeLifetime))),
		engine.Named("code", hash), engine.Named("used", false), engine.Named("redirect", redirect), engine.Named("redirected", r.RedirectURI != ""),
		engine.Named("challenge", textOrNil(r.CodeChallenge)),
	), engine.WriteOptions{})
	if err != nil {
		return nil, err
	}
	f.sweeper.Begin()
	if err := f.bound.Added(ctx, a.ID); err != nil {
		return nil, err
	}
	ti := models.NewToken()
	ti.SetCode(code)
	return ti, nil
}

// GenerateAccessToken exchanges a code, or issues a token for the account of
// the client.
func (f *flows) GenerateAccessToken(ctx context.Context, gt oauth2.GrantType, r *oauth2.TokenGenerateRequest) (oauth2.TokenInfo, error) {
	c, err := f.findClient(ctx, r.ClientID)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return nil, invalidClient()
	}
	var g given
	var account string
	if gt == oauth2.ClientCredentials {
		account = c.Account
		g, err = f.issueOwnToken(ctx, c, r.Scope)
	} else {
		g, account, err = f.exchangeCode(ctx, c, r)
	}
	if err != nil {
		return nil, err
	}
	f.audit(ctx, newEvent(engine.TokenIssued, c.ID, account,
		engine.Field{Name: "grant", Value: gt.String()}, engine.Field{Name: "scope", Value: g.scope.String()}))
	return g.tokenInfo(f.cfg.Now()), nil
}

// RefreshAccessToken exchanges a refresh token.
func (f *flows) RefreshAccessToken(ctx context.Context, r *oauth2.TokenGenerateRequest) (oauth2.TokenInfo, error) {
	c, err := f.findClient(ctx, r.ClientID)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return nil, invalidClient()
	}
	g, account, err := f.exchangeRefresh(ctx, c, r)
	if err != nil {
		return nil, err
	}
	f.audit(ctx, newEvent(engine.TokenIssued, c.ID, account,
		engine.Field{Name: "grant", Value: refreshToken}, engine.Field{Name: "scope", Value: g.scope.String()}))
	return g.tokenInfo(f.cfg.Now()), nil
}

// RemoveAccessToken revokes an access token.
func (f *flows) RemoveAccessToken(ctx context.Context, access string) error {
	for {
		it, err := f.byHash(ctx, "access", hashOf(access))
		if err != nil || it == nil {
			return err
		}
		if it.Get("refresh") == nil {
			_, err := f.endGrant(ctx, it.ID)
			return err
		}
		if done, err := f.changeGrant(ctx, it, engine.Named("access", nil), engine.Named("accessExpires", nil)); done || err != nil {
			return err
		}
	}
}

// RemoveRefreshToken revokes a refresh token, and with it the whole grant.
func (f *flows) RemoveRefreshToken(ctx context.Context, refresh string) error {
	it, err := f.byHash(ctx, "refresh", hashOf(refresh))
	if err != nil || it == nil {
		return err
	}
	_, err = f.endGrant(ctx, it.ID)
	return err
}

// LoadAccessToken returns the description of an access token, or an error if the token is not
// valid.
func (f *flows) LoadAccessToken(ctx context.Context, access string) (oauth2.TokenInfo, error) {
	it, err := f.byHash(ctx, "access", hashOf(access))
	if err != nil {
		return nil, err
	}
	if it == nil || !it.When("accessExpires").After(f.cfg.Now()) {
		return nil, errors.ErrInvalidAccessToken
	}
	ti := infoOf(it, "accessScope")
	ti.SetAccess(access)
	ti.SetAccessCreateAt(it.When("issued"))
	ti.SetAccessExpiresIn(it.When("accessExpires").Sub(it.When("issued")))
	return f.infoIfValid(ctx, it, ti)
}

// LoadRefreshToken returns the description of a refresh token, or an error if the token is not
// valid.
func (f *flows) LoadRefreshToken(ctx context.Context, refresh string) (oauth2.TokenInfo, error) {
	it, err := f.byHash(ctx, "refresh", hashOf(refresh))
	if err != nil {
		return nil, err
	}
	if it == nil || !it.When("refreshExpires").After(f.cfg.Now()) {
		return nil, errors.ErrInvalidRefreshToken
	}
	ti := infoOf(it, "scope")
	ti.SetRefresh(refresh)
	ti.SetRefreshCreateAt(it.When("issued"))
	ti.SetRefreshExpiresIn(it.When("refreshExpires").Sub(it.When("issued")))
	return f.infoIfValid(ctx, it, ti)
}

func infoOf(it *engine.Item, scope string) *models.Token {
	ti := models.NewToken()
	ti.SetClientID(it.Text("client"))
	ti.SetUserID(it.Text("account"))
	ti.SetScope(it.Text(scope))
	return ti
}

// infoIfValid returns ti, the description of a token, if the token is valid: the account of the
// grant can still sign in, and the client is still allowed to have the scope. Otherwise it
// returns an error.
func (f *flows) infoIfValid(ctx context.Context, it *engine.Item, ti *models.Token) (oauth2.TokenInfo, error) {
	a, err := f.grantAccount(ctx, it)
	if err != nil {
		return nil, err
	}
	c, err := f.clientOf(ctx, it)
	if err != nil {
		return nil, err
	}
	scope, err := engine.ParseScope(ti.GetScope())
	if err != nil || a == nil || c == nil || !scope.Within(c.Scope) {
		return nil, errors.ErrInvalidAccessToken
	}
	return ti, nil
}

func (g given) tokenInfo(now time.Time) oauth2.TokenInfo {
	ti := models.NewToken()
	ti.SetAccess(g.access)
	ti.SetAccessCreateAt(now)
	ti.SetAccessExpiresIn(g.lifetime)
	ti.SetRefresh(g.refresh)
	ti.SetScope(g.scope.String())
	return ti
}

// verifierMatches reports whether a PKCE verifier matches a challenge (RFC 7636 section 4.6). A
// verifier without a challenge does not match, because an attacker may have removed the
// challenge.
func verifierMatches(challenge, verifier string) bool {
	if challenge == "" || verifier == "" {
		return challenge == verifier
	}
	if len(verifier) < 43 || len(verifier) > 128 || !isUnreserved(verifier) {
		return false
	}
	sum := sha256.Sum256([]byte(verifier))
	return subtle.ConstantTimeCompare([]byte(challenge), []byte(base64.RawURLEncoding.EncodeToString(sum[:]))) == 1
}

func isUnreserved(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._~", r))
	})
}
