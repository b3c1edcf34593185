package oauth

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-oauth2/oauth2/v4"
	"github.com/go-oauth2/oauth2/v4/errors"
	"github.com/go-oauth2/oauth2/v4/server"

	"restsrv/engine"
	"restsrv/engine/page"
	"restsrv/engine/service"
)

// asked is a request for a code. Its client and its redirect URI have been checked.
type asked struct {
	client   *Client
	account  *engine.Account // the account that must consent
	redirect string          // the URI that receives the answer
	form     form
	scope    *engine.Scope
}

// serveGrant handles /oauth2/grant. GET shows the consent page, and POST is the answer of the
// user.
func (p *Provider) serveGrant(w http.ResponseWriter, r *http.Request) {
	page.Guard(w.Header())
	if r.Method != http.MethodGet && r.Method != http.MethodPost {
		w.Header().Set("Allow", "GET, POST")
		http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
		return
	}
	f, err := readParameters(w, r)
	if err != nil {
		p.refuseRequest(w, r, err)
		return
	}
	account, ok := p.cfg.Sessions.Require(w, f.returnRequest(r))
	if !ok {
		return
	}
	a, err := p.findClientAndRedirect(r.Context(), f)
	if err != nil {
		p.refuseRequest(w, r, err)
		return
	}
	a.account = account
	location, err := p.decideGrant(r, a)
	switch {
	case err != nil:
		p.logFailure(r, err)
		service.Redirect(w, p.answerURL(a, failureOf(err).redirectParameters()))
	case location != "":
		service.Redirect(w, location)
	default:
		p.showConsent(w, r, a)
	}
}

// readParameters returns the parameters of the query and of the body together.
func readParameters(w http.ResponseWriter, r *http.Request) (form, error) {
	query, err := parseForm(r.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	if r.Method == http.MethodGet || r.ContentLength == 0 {
		return mergeOnce(query)
	}
	body, err := readForm(w, r)
	if err != nil {
		return nil, err
	}
	return mergeOnce(query, body)
}

// returnRequest returns r with all parameters in its URL. The browser returns to this URL after
// the sign-in. It leaves out a consent in the request, because the consent was given before the
// account was known.
func (f form) returnRequest(r *http.Request) *http.Request {
	v := url.Values{}
	for name, value := range f {
		if name != "grant" && name != "deny" && name != "allowed" {
			v.Set(name, value)
		}
	}
	again := *r
	again.URL = &url.URL{Path: grantPath, RawQuery: v.Encode()}
	return &again
}

// findClientAndRedirect returns the request with its client and its redirect URI. If it fails,
// the caller must show the error to the user and must not redirect it, because the URI could lead
// anywhere.
func (p *Provider) findClientAndRedirect(ctx context.Context, f form) (*asked, error) {
	if f["client_id"] == "" {
		return nil, &failure{kind: errors.ErrInvalidRequest, text: "Client application credentials were not specified.", shown: http.StatusUnauthorized}
	}
	c, err := p.findClient(ctx, f["client_id"])
	if err != nil {
		return nil, err
	}
	if c == nil {
		return nil, &failure{kind: errors.ErrInvalidClient, text: "Client not found.", shown: http.StatusNotFound}
	}
	if f["redirect_uri"] == "" && len(c.RedirectURIs) == 0 {
		return nil, invalidRequest("the client has registered no redirect URI")
	}
	uri, ok := c.redirectFor(f["redirect_uri"])
	if !ok {
		return nil, invalidRequest("redirect_uri is not one that the client has registered")
	}
	return &asked{client: c, redirect: uri, form: f}, nil
}

// decideGrant returns the URL to which the browser is redirected with a code, or "" if the account must be asked for
// its consent. If it returns an error, the caller redirects the browser to the client with that error.
func (p *Provider) decideGrant(r *http.Request, a *asked) (location string, err error) {
	if err := a.checkRequest(); err != nil {
		return "", err
	}
	ctx := r.Context()
	if r.Method == http.MethodGet {
		agreed, err := p.hasConsent(ctx, a)
		if err != nil || !agreed {
			return "", err
		}
		return p.grantCode(ctx, a)
	}
	if _, deny := a.form["deny"]; deny || a.form["allowed"] == "false" {
		p.audit(ctx, newEvent(engine.ConsentDenied, a.client.ID, a.account.ID))
		if err := p.deleteConsent(ctx, a); err != nil {
			return "", err
		}
		return "", &failure{kind: errors.ErrAccessDenied, text: "the account refused"}
	}
	if err := p.storeConsent(ctx, a); err != nil {
		return "", err
	}
	p.audit(ctx, newEvent(engine.ConsentGiven, a.client.ID, a.account.ID, engine.Field{Name: "scope", Value: a.scope.String()}))
	return p.grantCode(ctx, a)
}

// checkRequest rejects a request that is invalid or that the client is not allowed to make.
func (a *asked) checkRequest() (err error) {
	f, c := a.form, a.client
	switch {
	case f["response_type"] == "":
		return invalidRequest("response_type is missing")
	case f["response_type"] != "code":
		return &failure{kind: errors.ErrUnsupportedResponseType, text: "response_type must be code"}
	case f["response_mode"] != "" && f["response_mode"] != "query":
		return invalidRequest("response_mode must be query")
	case !c.mayUse(authorizationCode):
		return unauthorizedClient("the client may not use " + authorizationCode)
	case f["code_challenge"] == "" && (c.Public || f["code_challenge_method"] != ""):
		return invalidRequest("code_challenge is missing")
	case f["code_challenge"] != "" && f["code_challenge_method"] != "S256":
		return invalidRequest("code_challenge_method must be S256")
	case f["code_challenge"] != "" && (len(f["code_challenge"]) != 43 || !isUnreserved(f["code_challenge"])):
		return invalidRequest("code_challenge is not a SHA-256 in base64url")
	}
	a.scope, err = scopeFor(c, f["scope"])
	return err
}

// grantCode creates a code and returns the redirect that carries it.
func (p *Provider) grantCode(ctx context.Context, a *asked) (location string, err error) {
	ti, err := p.library.GetAuthorizeToken(ctx, &server.AuthorizeRequest{
		ResponseType: oauth2.Code, ClientID: a.client.ID, UserID: a.account.ID, Scope: a.scope.String(),
		RedirectURI: a.form["redirect_uri"], CodeChallenge: a.form["code_challenge"], CodeChallengeMethod: oauth2.CodeChallengeS256,
	})
	if err != nil {
		return "", err
	}
	v := url.Values{}
	for name, value := range p.library.GetAuthorizeData(oauth2.Code, ti) {
		if s, ok := value.(string); ok {
			v.Set(name, s)
		}
	}
	return p.answerURL(a, v), nil
}

// answerURL returns the redirect URI with the parameters of an answer added to its own query.
func (p *Provider) answerURL(a *asked, v url.Values) string {
	if state := a.form["state"]; state != "" {
		v.Set("state", state)
	}
	if p.cfg.PublicURL {
		v.Set("iss", p.cfg.Issuer())
	}
	switch uri := a.redirect; {
	case !strings.Contains(uri, "?"):
		return uri + "?" + v.Encode()
	case strings.HasSuffix(uri, "?") || strings.HasSuffix(uri, "&"):
		return uri + v.Encode()
	default:
		return uri + "&" + v.Encode()
	}
}

// redirectParameters returns the failure as parameters of a redirect.
func (f *failure) redirectParameters() url.Values {
	return url.Values{"error": {f.kind.Error()}, "error_description": {errorDescription(f.text)}}
}

// refuseRequest answers with an error that must not be redirected. A browser gets a page or one
// sentence, other clients get JSON.
func (p *Provider) refuseRequest(w http.ResponseWriter, r *http.Request, err error) {
	p.logFailure(r, err)
	f := failureOf(err)
	status := cmp.Or(f.status, http.StatusBadRequest)
	if f.retry > 0 {
		w.Header().Set("Retry-After", f.response().Header.Get("Retry-After"))
	}
	accepts := r.Header.Get("Accept")
	switch {
	case strings.Contains(accepts, "text/html"):
		showRefusal(w, status, f)
	case f.shown != 0 && r.Method == http.MethodGet && !strings.Contains(accepts, "application/json"):
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(f.shown)
		_, _ = io.WriteString(w, f.text) // the client may be gone
	default:
		writeJSON(w, status, map[string]any{"code": status, "error": f.kind.Error(), "error_description": errorDescription(f.text)})
	}
}
