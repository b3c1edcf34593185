package oauth

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/go-oauth2/oauth2/v4"
	oauth2errors "github.com/go-oauth2/oauth2/v4/errors"
)

// maxForm is the maximum length of a request body, in bytes.
const maxForm = 64 << 10

// form holds parameters. Each parameter was given once.
type form map[string]string

// readForm reads a form from the body of a request.
func readForm(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" {
		return nil, invalidRequest("Invalid request: content must be application/x-www-form-urlencoded")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxForm))
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return nil, &failure{kind: oauth2errors.ErrInvalidRequest, text: "the body is too long", status: http.StatusRequestEntityTooLarge}
		}
		return nil, invalidRequest("the body could not be read")
	}
	return parseForm(string(body))
}

func parseForm(text string) (url.Values, error) {
	v, err := url.ParseQuery(text)
	if err != nil {
		return nil, invalidRequest("the parameters are not form-encoded")
	}
	return v, nil
}

// mergeOnce merges parameters, and fails if a parameter is given twice (RFC 6749 sections 3.1 and
// 3.2). Parameters without a value are ignored, except deny, which a button sends without a
// value.
func mergeOnce(all ...url.Values) (form, error) {
	f, seen := form{}, map[string]bool{}
	for _, values := range all {
		for name, given := range values {
			if len(given) > 1 || seen[name] {
				return nil, invalidRequest("the parameter " + name + " is given more than once")
			}
			seen[name] = true
			if !utf8.ValidString(given[0]) || strings.ContainsRune(given[0], 0) {
				return nil, invalidRequest("the parameter " + name + " is not UTF-8 text")
			}
			if given[0] != "" || name == "deny" {
				f[name] = given[0]
			}
		}
	}
	return f, nil
}

// directHandler returns the handler of an endpoint that clients call directly, without a browser.
// The handler reads the form and authenticates the client before it uses any other parameter.
func (p *Provider) directHandler(answer func(r *http.Request, c *Client, f form) (map[string]any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			p.answerFailure(w, r, &failure{kind: oauth2errors.ErrInvalidRequest, text: "the method must be POST", status: http.StatusMethodNotAllowed})
			return
		}
		values, err := readForm(w, r)
		var f form
		if err == nil {
			f, err = mergeOnce(values)
		}
		var c *Client
		if err == nil {
			c, err = p.authenticateCaller(r, f)
		}
		var data map[string]any
		if err == nil {
			data, err = answer(r, c, f)
		}
		if err != nil {
			p.answerFailure(w, r, err)
			return
		}
		writeJSON(w, http.StatusOK, data)
	})
}

// answerFailure answers with an error in the form of RFC 6749 section 5.2. The body also
// contains the status, as in IONDV.
func (p *Provider) answerFailure(w http.ResponseWriter, r *http.Request, err error) {
	p.logFailure(r, err)
	data, status, header := p.library.GetErrorData(failureOf(err))
	for name := range header {
		w.Header().Set(name, header.Get(name))
	}
	data["code"] = status
	writeJSON(w, status, data)
}

func writeJSON(w http.ResponseWriter, status int, data map[string]any) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Pragma", "no-cache")
	h.Set("X-Content-Type-Options", "nosniff")
	if data == nil {
		w.WriteHeader(status)
		return
	}
	b, err := json.Marshal(data)
	if err != nil {
		status, b = http.StatusInternalServerError, []byte(`{"error":"server_error"}`)
	}
	h.Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b) // fails if the client is gone
}

// authenticateCaller authenticates the client that calls an endpoint, by Authorization:
// Basic or by client_id and client_secret in the form (RFC 6749 section 2.3.1).
func (p *Provider) authenticateCaller(r *http.Request, f form) (*Client, error) {
	attempts, err := offeredCredentials(r, f)
	if err != nil {
		return nil, err
	}
	for _, a := range attempts {
		c, err := p.authenticate(r.Context(), a.id, a.secret)
		if err != nil {
			return nil, err
		}
		if c == nil {
			continue
		}
		if named := f["client_id"]; named != "" && named != a.id && named != c.ID && named+"@"+clientType != c.ID {
			return nil, invalidRequest("client_id and Authorization name different clients")
		}
		return c, nil
	}
	return nil, invalidClient()
}

// attempt is one interpretation of the credentials of a client.
type attempt struct{ id, secret string }

// offeredCredentials returns the possible interpretations of the credentials in a request.
func offeredCredentials(r *http.Request, f form) ([]attempt, error) {
	lines := r.Header["Authorization"]
	if len(lines) == 0 {
		if f["client_id"] == "" {
			return nil, invalidClient()
		}
		return []attempt{{f["client_id"], f["client_secret"]}}, nil
	}
	scheme, payload, _ := strings.Cut(lines[0], " ")
	switch {
	case len(lines) > 1:
		return nil, invalidRequest("the header Authorization is given more than once")
	case f["client_secret"] != "":
		return nil, invalidRequest("the client authenticates by Authorization or by client_secret, not by both")
	case !strings.EqualFold(scheme, "Basic"):
		return nil, invalidClient()
	}
	attempts := parseBasic(strings.TrimSpace(payload))
	if attempts == nil {
		return nil, invalidClient()
	}
	return attempts, nil
}

// parseBasic parses the payload of Basic authentication: base64 of id:secret, or id:secret in
// plain text, which services accept too. RFC 6749 requires clients to form-encode both parts
// first, but many clients do not. An @ in the id shows whether the client does: a plain @ means
// that it does not, and %40 means that it does. If there is no @ and the secret could be encoded
// or not, both interpretations are returned.
func parseBasic(payload string) []attempt {
	if !strings.Contains(payload, ":") {
		b, err := base64.StdEncoding.DecodeString(payload)
		if err != nil || !utf8.Valid(b) {
			return nil
		}
		payload = string(b)
	}
	id, secret, ok := strings.Cut(payload, ":")
	if !ok || id == "" {
		return nil
	}
	plain := attempt{id, secret}
	decodedID, idErr := url.QueryUnescape(id)
	decodedSecret, secretErr := url.QueryUnescape(secret)
	encoded := attempt{decodedID, decodedSecret}
	switch {
	case idErr != nil || secretErr != nil || strings.Contains(id, "@") || encoded == plain:
		return []attempt{plain}
	case strings.Contains(encoded.id, "@"):
		return []attempt{encoded}
	}
	return []attempt{encoded, plain}
}

// serveToken handles POST /oauth2/token.
func (p *Provider) serveToken(r *http.Request, c *Client, f form) (map[string]any, error) {
	request := &oauth2.TokenGenerateRequest{
		ClientID: c.ID, Scope: f["scope"], Code: f["code"], CodeVerifier: f["code_verifier"],
		RedirectURI: f["redirect_uri"], Refresh: f["refresh_token"], Request: r,
	}
	kind := oauth2.GrantType(f["grant_type"])
	switch {
	case f["grant_type"] == "":
		return nil, invalidRequest("grant_type is missing")
	case !p.library.CheckGrantType(kind):
		return nil, &failure{kind: oauth2errors.ErrUnsupportedGrantType, text: "grant_type is not one of " + strings.Join(grantTypes(), ", ")}
	case !c.mayUse(kind.String()):
		return nil, unauthorizedClient("the client may not use grant_type " + kind.String())
	case kind == oauth2.AuthorizationCode && request.Code == "":
		return nil, invalidRequest("code is missing")
	case kind == oauth2.Refreshing && request.Refresh == "":
		return nil, invalidRequest("refresh_token is missing")
	}
	ti, err := p.library.GetAccessToken(r.Context(), kind, request)
	if err != nil {
		return nil, err
	}
	return p.library.GetTokenData(ti), nil
}
