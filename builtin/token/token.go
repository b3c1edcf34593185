// Package token is the service under /rest/token, with which an account issues, lists and revokes
// its own tokens. To issue a token, the account needs permission to use engine.TokenResource.
// Package engine/account implements the tokens.
package token

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"time"

	"restsrv/engine"
	"restsrv/engine/service"
	"restsrv/engine/wire"
)

// maxBody is the maximum size of a body in bytes, more than a name and a lifetime need.
const maxBody = 64 << 10

type token struct {
	tokens engine.TokenIssuer
	access engine.Access
	audit  engine.Auditor // may be nil
}

// New returns the module "builtin/token". It has no options. It accepts the options of IONDV's token service and
// ignores them: they choose the issuer, and this server has only one.
func New(env *service.Env, _ service.Options) (service.Service, error) {
	if env.Tokens == nil {
		return nil, errors.New("this server has no token issuer")
	}
	if env.Access == nil {
		return nil, errors.New("this server cannot check who may issue tokens")
	}
	return &token{env.Tokens, env.Access, env.Audit}, nil
}

// Errors implements service.Service.
func (s *token) Errors() service.ErrorForm { return service.ProblemErrors }

// Routes implements service.Service. HEAD needs its own route, because GET / issues a token and
// HEAD must not have an effect.
func (s *token) Routes() []service.Route {
	return []service.Route{
		{Method: "GET", Path: "/", Handler: s.issueBare},
		{Method: "HEAD", Path: "/", Handler: s.checkHead},
		{Method: "POST", Path: "/", MaxBody: maxBody, Handler: s.issue},
		{Method: "GET", Path: "/list", Handler: s.list},
		{Method: "DELETE", Path: "/:id", Handler: s.revoke},
	}
}

// tokenOwner returns the id of the account that sends the request. The anonymous account cannot
// have tokens.
func tokenOwner(r *service.Request) (string, error) {
	if r.Account == nil || r.Account.ID == engine.Anonymous.ID {
		return "", engine.Errorf(engine.Forbidden, "anonymous", "tokens are for accounts that sign in")
	}
	return r.Account.ID, nil
}

// checkIssuer returns the id of the account that sends the request. The account must have permission to issue tokens;
// listing and revoking need no permission. A request with an OAuth2 token that has a scope is refused: the new tokens
// would have no scope, and would stay valid after the access of the OAuth2 client was revoked.
func (s *token) checkIssuer(ctx context.Context, r *service.Request) (string, error) {
	account, err := tokenOwner(r)
	if err != nil {
		return "", err
	}
	if r.Account.Scope != nil {
		return "", engine.Errorf(engine.Forbidden, "scope", "a token with a scope gives no tokens without one")
	}
	may, err := s.access.Check(ctx, r.Account, engine.TokenResource, engine.MayUse)
	if err == nil && !may {
		err = engine.Denied()
	}
	return account, err
}

// auditToken sends an event about a token to the auditor.
func (s *token) auditToken(ctx context.Context, kind engine.EventKind, r *service.Request, details engine.Fields) {
	if s.audit != nil {
		s.audit.Audit(ctx, engine.Event{Kind: kind, Account: r.Account.ID, Caller: engine.CallerFrom(ctx), Service: r.Service, Details: details})
	}
}

func (s *token) auditIssued(ctx context.Context, r *service.Request, t engine.Token) {
	s.auditToken(ctx, engine.TokenIssued, r, engine.Fields{{Name: "token", Value: t.ID}, {Name: "name", Value: t.Name}, {Name: "expires", Value: engine.InstantOf(t.Expires)}})
}

// markSecret forbids caches to store a response that contains a token.
func markSecret(r *service.Response) *service.Response {
	r.SetHeader("Cache-Control", "no-store")
	return r
}

// issueBare answers with a new token as plain text. The content type is that of IONDV.
func (s *token) issueBare(ctx context.Context, r *service.Request) (*service.Response, error) {
	account, err := s.checkIssuer(ctx, r)
	if err != nil {
		return nil, err
	}
	text, t, err := s.tokens.Issue(ctx, account, "", 0)
	if err != nil {
		return nil, err
	}
	s.auditIssued(ctx, r, t)
	return markSecret(&service.Response{ContentType: "text/html; charset=utf-8", Body: []byte(text)}), nil
}

func (s *token) checkHead(ctx context.Context, r *service.Request) (*service.Response, error) {
	if _, err := s.checkIssuer(ctx, r); err != nil {
		return nil, err
	}
	return markSecret(&service.Response{ContentType: "text/html; charset=utf-8"}), nil
}

// issue answers with a new token and its properties as JSON.
func (s *token) issue(ctx context.Context, r *service.Request) (*service.Response, error) {
	account, err := s.checkIssuer(ctx, r)
	if err != nil {
		return nil, err
	}
	name, lifetime, err := readOrder(r)
	if err != nil {
		return nil, err
	}
	text, t, err := s.tokens.Issue(ctx, account, name, lifetime)
	if err != nil {
		return nil, err
	}
	s.auditIssued(ctx, r, t)
	return markSecret(service.JSON(appendToken(nil, t, text))), nil
}

func (s *token) list(ctx context.Context, r *service.Request) (*service.Response, error) {
	account, err := tokenOwner(r)
	if err != nil {
		return nil, err
	}
	tokens, err := s.tokens.Tokens(ctx, account)
	if err != nil {
		return nil, err
	}
	b := []byte{'['}
	for i, t := range tokens {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendToken(b, t, "")
	}
	return service.JSON(append(b, ']')), nil
}

func (s *token) revoke(ctx context.Context, r *service.Request) (*service.Response, error) {
	account, err := tokenOwner(r)
	if err != nil {
		return nil, err
	}
	if err := s.tokens.Revoke(ctx, account, r.Param("id")); err != nil {
		return nil, err
	}
	s.auditToken(ctx, engine.TokenRevoked, r, engine.Fields{{Name: "token", Value: r.Param("id")}})
	return &service.Response{}, nil
}

// appendToken appends a token as JSON. If text, the secret of the token, is not "", it is included.
func appendToken(b []byte, t engine.Token, text string) []byte {
	fields := engine.Fields{{Name: "id", Value: t.ID}, {Name: "name", Value: t.Name}}
	if text != "" {
		fields = append(fields, engine.Field{Name: "token", Value: text})
	}
	fields = append(fields,
		engine.Field{Name: "created", Value: engine.InstantOf(t.Created)},
		engine.Field{Name: "expires", Value: engine.InstantOf(t.Expires)})
	return engine.AppendValue(b, fields)
}

// readOrder reads the body {"name": ..., "lifetime": ...}. Both fields may be absent or null, and
// the body may be empty.
func readOrder(r *service.Request) (name string, lifetime time.Duration, err error) {
	body, err := r.ReadBody()
	if err != nil || len(body) == 0 {
		return "", 0, err
	}
	if t := r.MediaType(); t != "application/json" {
		return "", 0, engine.Errorf(engine.Invalid, "media-type", "the body is application/json, found %s", engine.Quote(t))
	}
	v, err := wire.Decode(body)
	if err != nil {
		return "", 0, err
	}
	fields, ok := v.(engine.Fields)
	if !ok {
		return "", 0, engine.Errorf(engine.Invalid, "body", `the body is an object such as {"name":"laptop","lifetime":3600}`)
	}
	for _, f := range fields {
		if f.Name != "name" && f.Name != "lifetime" {
			return "", 0, attributeError(f.Name, "unknown-attribute", "a token has no attribute %s, only name and lifetime", engine.Quote(f.Name))
		}
		if f.Value == nil {
			continue
		}
		if f.Name == "lifetime" {
			lifetime, err = readLifetime(f.Value)
		} else if name, ok = f.Value.(string); !ok {
			err = attributeError("name", "type", "name takes text")
		}
		if err != nil {
			return "", 0, err
		}
	}
	return name, lifetime, nil
}

// readLifetime reads a number of seconds. If it is too large for a Duration, it returns the longest
// Duration, which the issuer refuses.
func readLifetime(v any) (time.Duration, error) {
	number, ok := v.(json.Number)
	if !ok {
		return 0, attributeError("lifetime", "type", "lifetime takes a whole number of seconds")
	}
	property := engine.Property{Name: "lifetime", Type: engine.Int}
	n, err := property.Cast(number)
	if err != nil {
		return 0, err
	}
	seconds := n.(int64)
	if seconds < 1 {
		return 0, attributeError("lifetime", "lifetime", "lifetime is at least 1 second, found %d", seconds)
	}
	if seconds > math.MaxInt64/int64(time.Second) {
		return math.MaxInt64, nil
	}
	return time.Duration(seconds) * time.Second, nil
}

func attributeError(attribute, reason, format string, args ...any) error {
	e := engine.Errorf(engine.Invalid, reason, format, args...)
	e.Attribute = attribute
	return e
}
