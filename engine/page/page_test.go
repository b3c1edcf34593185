package page

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// TestPage checks that a page escapes its data, and that its headers prevent scripts, frames and
// caching.
func TestPage(t *testing.T) {
	w := httptest.NewRecorder()
	if err := New(`<p>{{.}}</p>`).Write(w, 429, "Wait <b>", "<script>x</script>"); err != nil {
		t.Fatal(err)
	}
	body := w.Body.String()
	if w.Code != 429 || strings.Contains(body, "<script") || strings.Contains(body, "<b>") {
		t.Errorf("got status %d, want 429 and escaped data:\n%s", w.Code, body)
	}
	for _, want := range []string{`<html lang="en">`, "<title>Wait &lt;b&gt;</title>", "<h1>Wait &lt;b&gt;</h1>", "<p>&lt;script&gt;x&lt;/script&gt;</p>", style} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s:\n%s", want, body)
		}
	}
	for name, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
		"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Cross-Origin-Opener-Policy": "same-origin",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if p := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(p, "default-src 'none'; style-src 'sha256-") || !strings.HasSuffix(p, "frame-ancestors 'none'") {
		t.Errorf("got the policy %s", p)
	}
}

// TestPageFails checks that Write fails before any output if data for the template are missing.
func TestPageFails(t *testing.T) {
	w := httptest.NewRecorder()
	if err := New(`{{.Missing}}`).Write(w, 200, "Title", struct{}{}); err == nil || w.Body.Len() > 0 || len(w.Header()) > 0 {
		t.Errorf("got %v and the body %q, want an error and no output", err, w.Body)
	}
}
