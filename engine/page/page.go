// Package page renders the few HTML pages of the server itself, such as sign-in, consent and
// errors. The pages have a common frame, one style sheet and no JavaScript. The package sets
// headers that protect the pages from other sites, caches and logs. The callers define the content.
// Pages of applications should not use this package.
package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"sync"
)

//go:embed page.html
var frame string

//go:embed page.css
var style string

// policy allows only the style sheet of the page: no scripts, images or frames. It does not
// restrict the targets of forms: browsers apply such a rule also to redirects after the form is
// sent, and OAuth2 redirects to the client and from there to other sites.
var policy = func() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; frame-ancestors 'none'"
}()

// Page is a kind of page. It is safe for concurrent use.
type Page struct{ t func() *template.Template }

// New returns a kind of page. body is the template for the part below the heading. The template
// is parsed on first use, and Write panics if it is not valid. Use only constants of the program.
func New(body string) *Page {
	return &Page{sync.OnceValue(func() *template.Template {
		t := template.Must(template.New("page").Parse(frame))
		template.Must(t.New("body").Parse(body))
		return t
	})}
}

// Write answers with the page. The parameter of is the data for the template of the body. If Write
// fails, it has not written any output.
func (p *Page) Write(w http.ResponseWriter, status int, title string, of any) error {
	var b bytes.Buffer
	err := p.t().Execute(&b, struct {
		Title string
		Style template.CSS
		Of    any
	}{title, template.CSS(style), of})
	if err != nil {
		return err
	}
	Guard(w.Header())
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the client may have disconnected
	return nil
}

// Guard sets headers that protect an answer from other sites, caches and logs. Write calls it.
// Callers that redirect from one page to another must call it themselves.
func Guard(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", policy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY") // for browsers without support for frame-ancestors
}
