package oauth

import (
	"context"
	"net/http"

	"github.com/go-oauth2/oauth2/v4"
	"github.com/go-oauth2/oauth2/v4/errors"

	"restsrv/engine"
)

// revoke handles POST /oauth2/revoke (RFC 7009). An access token is revoked alone. A refresh
// token revokes its whole grant, even if the token was exchanged already: a client that lost the
// answer to the exchange has no other token. An unknown token is no error.
func (p *Provider) revoke(r *http.Request, c *Client, f form) (map[string]any, error) {
	secret := f["token"]
	if secret == "" {
		return nil, invalidRequest("token is missing")
	}
	if !wellFormed(secret) {
		return nil, nil
	}
	ctx := r.Context()
	for _, kind := range [...]string{"access", "refresh"} {
		it, err := p.byHash(ctx, kind, hashOf(secret))
		if err != nil {
			return nil, err
		}
		if it == nil {
			continue
		}
		if it.Text("client") != c.ID {
			return nil, unauthorizedClient("the token is another client's")
		}
		remove := p.library.Manager.RemoveAccessToken
		if kind == "refresh" {
			remove = p.library.Manager.RemoveRefreshToken
		}
		if err := remove(ctx, secret); err != nil {
			return nil, err
		}
		p.audit(ctx, newEvent(engine.TokenRevoked, c.ID, it.Text("account"), engine.Field{Name: "what", Value: kind + " token"}))
		return nil, nil
	}
	return nil, p.revokeSpent(ctx, c, secret)
}

// revokeSpent revokes the grant of a refresh token that was exchanged already.
func (p *Provider) revokeSpent(ctx context.Context, c *Client, refresh string) error {
	it, _, err := p.findFamily(ctx, refresh)
	if err != nil || it == nil {
		return err
	}
	if it.Text("client") != c.ID {
		return unauthorizedClient("the token is another client's")
	}
	ended, err := p.endGrant(ctx, it.ID)
	if ended {
		p.audit(ctx, newEvent(engine.TokenRevoked, c.ID, it.Text("account"), engine.Field{Name: "what", Value: "refresh token"}))
	}
	return err
}

// introspect handles POST /oauth2/introspect (RFC 7662). A client can see only
// its own tokens, and must authenticate with a secret.
func (p *Provider) introspect(r *http.Request, c *Client, f form) (map[string]any, error) {
	if c.Public {
		return nil, invalidClient()
	}
	secret := f["token"]
	if secret == "" {
		return nil, invalidRequest("token is missing")
	}
	inactive := map[string]any{"active": false}
	if !wellFormed(secret) {
		return inactive, nil
	}
	ctx, m := r.Context(), p.library.Manager
	ti, err := m.LoadAccessToken(ctx, secret)
	kind, created, lifetime := "Bearer", oauth2.TokenInfo.GetAccessCreateAt, oauth2.TokenInfo.GetAccessExpiresIn
	if isInvalidToken(err) {
		ti, err = m.LoadRefreshToken(ctx, secret)
		kind, created, lifetime = "", oauth2.TokenInfo.GetRefreshCreateAt, oauth2.TokenInfo.GetRefreshExpiresIn
	}
	switch {
	case isInvalidToken(err):
		return inactive, nil
	case err != nil:
		return nil, err
	case ti.GetClientID() != c.ID:
		return inactive, nil
	}
	data := map[string]any{
		"active": true, "client_id": ti.GetClientID(), "username": ti.GetUserID(), "sub": ti.GetUserID(),
		"iat": created(ti).Unix(), "exp": created(ti).Add(lifetime(ti)).Unix(), "iss": p.cfg.Issuer(),
	}
	if kind != "" {
		data["token_type"] = kind
	}
	if scope := ti.GetScope(); scope != "" {
		data["scope"] = scope
	}
	return data, nil
}

// isInvalidToken reports whether the library's error means that a token is not valid.
func isInvalidToken(err error) bool {
	return err == errors.ErrInvalidAccessToken || err == errors.ErrInvalidRefreshToken
}

// serveMetadata handles GET /.well-known/oauth-authorization-server (RFC 8414).
// It never uses an address from the request.
func (p *Provider) serveMetadata(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
		return
	}
	issuer := p.cfg.Issuer()
	proofs := []string{"client_secret_basic", "client_secret_post"}
	data := map[string]any{
		"issuer":                                         issuer,
		"authorization_endpoint":                         issuer + grantPath,
		"token_endpoint":                                 issuer + tokenPath,
		"revocation_endpoint":                            issuer + revokePath,
		"introspection_endpoint":                         issuer + introspectPath,
		"response_types_supported":                       []string{"code"},
		"response_modes_supported":                       []string{"query"},
		"grant_types_supported":                          grantTypes(),
		"code_challenge_methods_supported":               []string{"S256"},
		"token_endpoint_auth_methods_supported":          append([]string{"none"}, proofs...),
		"revocation_endpoint_auth_methods_supported":     append([]string{"none"}, proofs...),
		"introspection_endpoint_auth_methods_supported":  proofs,
		"authorization_response_iss_parameter_supported": p.cfg.PublicURL,
	}
	writeJSON(w, http.StatusOK, data)
}
