package security

import (
	"os"
	"path/filepath"
	"testing"

	"restsrv/cmd/restsrv/apptest"
)

// TestSandboxKeepsFiles checks that a file that a script test uploads is stored only in the
// sandbox. The sandbox must return it, and the application must not have it.
func TestSandboxKeepsFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"deploy.json": `{"namespace": "s", "classes": [{"name": "doc", "key": ["id"], "properties": [{"name": "id", "type": "string"}, {"name": "scan", "type": "file"}]}],
			"modules": {"rest": {"globals": {"di": {"crud": {"module": "builtin/crud"}}}}}}`,
		"scripts/keep.test.js": `test('keeps', async () => {
			const account = 'admin@local', scan = { name: 'a.txt', body: 'aGk=' };
			const made = await request('POST', '/rest/crud/doc@s', { account, json: { id: '1', scan } });
			const [, id] = made.text.match(/files\/([^"]+)/) || [];
			const got = await request('GET', '/files/' + id, { account });
			if (made.status !== 200 || got.status !== 200 || got.text !== 'hi') throw new Error(made.text + ' ' + got.status);
		});`,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	apptest.MustRun(t, "test", "-config", filepath.Join(dir, "deploy.json"))
	if _, err := os.Stat(filepath.Join(dir, "files")); !os.IsNotExist(err) {
		t.Errorf("folder files of the application: got %v, want that it does not exist", err)
	}
}
