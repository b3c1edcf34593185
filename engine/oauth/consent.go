package oauth

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"restsrv/engine"
	"restsrv/engine/page"
	"restsrv/engine/service"
)

// consentID returns the key of the consent of an account to a client.
func consentID(a *asked) string { return hashOf(a.client.ID + "\x00" + a.account.ID) }

// hasConsent reports whether a stored consent covers the request. Only clients with
// Remember have stored consents.
func (p *Provider) hasConsent(ctx context.Context, a *asked) (bool, error) {
	if !a.client.Remember {
		return false, nil
	}
	it, err := p.find(ctx, p.classes.consent, consentID(a))
	if err != nil || it == nil {
		return false, err
	}
	scope, err := engine.ParseScope(it.Text("scope"))
	return err == nil && a.scope.Within(scope), nil
}

// storeConsent stores a consent, if the client has Remember.
func (p *Provider) storeConsent(ctx context.Context, a *asked) error {
	if !a.client.Remember {
		return nil
	}
	c := p.classes.consent
	_, err := p.cfg.Data.Save(engine.AsServer(ctx), []engine.Record{{Class: c, ID: consentID(a), Values: engine.ValuesOf(c,
		engine.Named("id", consentID(a)), engine.Named("client", a.client.ID), engine.Named("account", a.account.ID),
		engine.Named("scope", textOrNil(a.scope.String())), engine.Named("given", instantOrNil(p.cfg.Now())))}})
	return err
}

// deleteConsent deletes a stored consent.
func (p *Provider) deleteConsent(ctx context.Context, a *asked) error {
	err := p.cfg.Data.Delete(engine.AsServer(ctx), p.classes.consent, consentID(a), nil)
	if err != nil && engine.CodeOf(err) == engine.NotFound {
		return nil
	}
	return err
}

// describeScope describes a scope for the user.
func describeScope(s *engine.Scope) []string {
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

var (
	consentPage = page.New(`<p><strong>{{.Client}}</strong> asks to act for you, <strong>{{.Account}}</strong>. It may then:</p>
<ul>
{{range .Lines}}<li>{{.}}</li>
{{end}}</ul>
<p>It does not learn your password.</p>
<form method="post" class="choice">
<button type="submit" name="grant" value="1">Grant</button>
<button type="submit" name="deny" value="1" class="other">Deny</button>
</form>
<p class="hint">The client is {{.ID}}. Either answer takes you to {{.Host}}.{{if .SignOut}} You are not {{.Account}}? <a href="{{.SignOut}}">Sign out</a> first.{{end}}</p>`)

	refusalPage = page.New(`<p class="note bad" role="alert">{{.Text}}</p>
<p>{{.Advice}}</p>`)
)

// question holds the values for consentPage.
type question struct {
	Client, ID, Account, Host string
	SignOut                   string // path of the page for signing out
	Lines                     []string
}

func showPage(w http.ResponseWriter, p *page.Page, status int, title string, of any) {
	if err := p.Write(w, status, title, of); err != nil {
		service.Fail(w, engine.Wrap(err, "a page could not be made"))
	}
}

func (p *Provider) showConsent(w http.ResponseWriter, _ *http.Request, a *asked) {
	where := a.redirect
	if u, err := url.Parse(where); err == nil && u.Host != "" {
		where = u.Scheme + "://" + u.Host
	}
	showPage(w, consentPage, http.StatusOK, "Grant access?", question{
		Client: a.client.Name, ID: a.client.ID, Account: a.account.ID, Host: where, SignOut: p.cfg.SignOut, Lines: describeScope(a.scope)})
}

// showRefusal shows an error to the user. It blames the application only if the
// request was wrong, not if the server is busy or failed.
func showRefusal(w http.ResponseWriter, status int, f *failure) {
	advice := "The request for access cannot be answered: the application that sent you here has to be mended, or is not what it seems."
	if status == http.StatusTooManyRequests || status >= http.StatusInternalServerError {
		advice = "The request for access was not answered. Go back and try again later."
	}
	showPage(w, refusalPage, status, "This does not work", struct{ Text, Advice string }{
		"The server says: " + f.kind.Error() + ", " + errorDescription(f.text) + ".", advice})
}
