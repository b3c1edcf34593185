package clients

import (
	"os"
	"path/filepath"
	"testing"

	"restsrv/cmd/restsrv/apptest"
)

// TestConsentPages tests the pages of /oauth2/grant in a browser.
func TestConsentPages(t *testing.T) {
	t.Parallel()
	tool(t, "chromium")
	dir := t.TempDir()
	config := `{"globals": {"plugins": {"oauth": {"module": "lib/oAuthAdapter", "options": {"clients": [
		{"id": "native", "name": "A tool of <b>ours</b>", "public": true, "redirectUris": ["http://127.0.0.1/livez"]}]}}}}}`
	if err := os.WriteFile(filepath.Join(dir, "deploy.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	browse(t, "consent.mjs", map[string]string{"main": apptest.Start(t, dir).URL})
}
