package oauth

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"restsrv/engine"
)

// consentID is the key of what an account agreed to for a client.
func consentID(a *asked) string { return hashOf(a.client.ID + "\x00" + a.account.ID) }

// agreed reports whether the account let the client have as much before, and
// the client is one for which that is remembered.
func (p *Provider) agreed(ctx context.Context, a *asked) (bool, error) {
	if !a.client.Remember {
		return false, nil
	}
	it, err := p.find(ctx, p.classes.consent, consentID(a))
	if err != nil || it == nil {
		return false, err
	}
	scope, err := engine.ParseScope(text(it, "scope"))
	return err == nil && a.scope.Within(scope), nil
}

// agree remembers what was agreed to, for a client that wants it.
func (p *Provider) agree(ctx context.Context, a *asked) error {
	if !a.client.Remember {
		return nil
	}
	c := p.classes.consent
	_, err := p.cfg.Data.Save(asServer(ctx), []engine.Record{{Class: c, ID: consentID(a), Values: values(c,
		set{"id", consentID(a)}, set{"client", a.client.ID}, set{"account", a.account.ID},
		set{"scope", optional(a.scope.String())}, set{"given", moment(p.cfg.Now())})}})
	return err
}

// disagree forgets what was agreed to before.
func (p *Provider) disagree(ctx context.Context, a *asked) error {
	err := p.cfg.Data.Delete(asServer(ctx), p.classes.consent, consentID(a), nil)
	if err != nil && engine.CodeOf(err) == engine.NotFound {
		return nil
	}
	return err
}

// inWords says what a scope allows.
func inWords(s *engine.Scope) []string {
	if s == nil {
		return []string{"everything that you may do here, through every service"}
	}
	var lines []string
	for _, word := range strings.Fields(s.String()) {
		service, permission, _ := strings.Cut(word, ":")
		through := "through the service “" + service + "”"
		if service == "*" {
			through = "through every service"
		}
		do := map[string]string{"read": "read", "write": "change", "delete": "delete", "use": "create and link"}[permission]
		if do == "" {
			lines = append(lines, "everything that you may do here, "+through)
			continue
		}
		lines = append(lines, do+" what you may "+do+", "+through)
	}
	return lines
}

// style looks like the pages to sign in.
const style = `
:root { color-scheme: light dark; --edge: #767a80; --accent: #1f5fbf; }
@media (prefers-color-scheme: dark) { :root { --edge: #8d9299; --accent: #8ab4f8; } }
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1rem; font: 1rem/1.5 system-ui, sans-serif; }
main { width: 100%; max-width: 26rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 1.25rem; }
ul { padding-left: 1.25rem; }
form { display: flex; gap: .75rem; margin: 1.5rem 0; }
button { flex: 1; padding: .7rem; font: inherit; font-weight: 600; border: 1px solid var(--edge); border-radius: .4rem; background: Canvas; color: CanvasText; cursor: pointer; }
button[name=grant] { border-color: var(--accent); background: var(--accent); color: Canvas; }
button:focus-visible, a:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
a { color: var(--accent); }
.hint { font-size: .875rem; opacity: .8; }
main { overflow-wrap: anywhere; }
`

// pagePolicy lets a page show its own style and nothing else. It says nothing
// of form-action: browsers hold that against where the answer leads to, which
// is the client's and whatever that leads to.
var pagePolicy = func() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; frame-ancestors 'none'"
}()

// pages has a referrer policy beside the header's no-referrer: with that one
// browsers that speak plain HTTP to another machine send forms with "Origin:
// null", which can be compared with nothing.
var pages = template.Must(template.New("head").Parse(`<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="same-origin"><title>{{.Title}}</title><style>` + style + `</style></head>
<body><main>
<h1>{{.Title}}</h1>
{{if .Client}}<p><strong>{{.Client}}</strong> asks to act for you, <strong>{{.Account}}</strong>. It may then:</p>
<ul>
{{range .Lines}}<li>{{.}}</li>
{{end}}</ul>
<p>It does not learn your password.</p>
<form method="post">
<button type="submit" name="grant" value="1">Grant</button>
<button type="submit" name="deny" value="1">Deny</button>
</form>
<p class="hint">The client is {{.ID}}. Either answer takes you to {{.Host}}.{{if .SignOut}} You are not {{.Account}}? <a href="{{.SignOut}}">Sign out</a> first.{{end}}</p>
{{else}}<p>{{.Text}}</p>
<p>The request for access cannot be answered: the application that sent you here has to be mended, or is not what it seems.</p>
{{end}}</main></body>
</html>
`))

// page is what a page shows: a question of a client, or a text.
type page struct {
	Title, Client, ID, Account, Host, Text string
	SignOut                                string // path of the page for it
	Lines                                  []string
}

func show(w http.ResponseWriter, status int, v page) {
	var b bytes.Buffer
	if err := pages.Execute(&b, v); err != nil {
		engine.Fail(w, engine.Wrap(err, "a page could not be made"))
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the client may be gone
}

func (p *Provider) showConsent(w http.ResponseWriter, _ *http.Request, a *asked) {
	where := a.redirect
	if u, err := url.Parse(where); err == nil && u.Host != "" {
		where = u.Scheme + "://" + u.Host
	}
	show(w, http.StatusOK, page{Title: "Grant access?", Client: a.client.Name, ID: a.client.ID, Account: a.account.ID, Host: where, SignOut: p.cfg.SignOut, Lines: inWords(a.scope)})
}

func showRefusal(w http.ResponseWriter, status int, f *failure) {
	show(w, status, page{Title: "This does not work", Text: "The server says: " + f.kind.Error() + ", " + described(f.text) + "."})
}
