// Package page is how the few pages look that the server itself shows to
// people, to sign in, to consent, to be told of a failure: one frame, one style
// sheet, no JavaScript, and the headers that keep other sites, caches and logs
// away from them. What a page says and asks is its owner's. It is not for pages
// of applications.
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

// policy lets a page have its one style sheet and nothing else: no script, no
// image, no frame around it. It says nothing of where forms may lead, because
// browsers hold that against every redirect after it, and the way of OAuth2
// leads on to the client and whatever that leads to.
var policy = func() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; frame-ancestors 'none'"
}()

// Page is a kind of page. It is safe for concurrent use.
type Page struct{ t func() *template.Template }

// New makes a kind of page: body is the template of what stands below the
// heading. It is parsed when it is first written, which panics if it cannot be:
// it is a constant of the program.
func New(body string) *Page {
	return &Page{sync.OnceValue(func() *template.Template {
		t := template.Must(template.New("page").Parse(frame))
		template.Must(t.New("body").Parse(body))
		return t
	})}
}

// Write answers with the page: of is what the body's template shows. Nothing
// has been written if it fails.
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
	_, _ = w.Write(b.Bytes()) // the client may be gone
	return nil
}

// Guard sets the headers that keep an answer from other sites, caches and logs:
// for pages, which Write gives them itself, and for what leads from one to the
// next.
func Guard(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", policy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY") // for browsers that do not know frame-ancestors
}
