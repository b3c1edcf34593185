package main

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const filesApplication = `{"namespace": "sample",
	"classes": [{"name": "note", "key": ["id"], "properties": [{"name": "id", "type": "guid"}, {"name": "scan", "type": "file"}]}],
	"modules": {"rest": {"globals": {"di": {"crud": {"module": "builtin/crud"}}}}}}`

// upload makes a note with a file and returns the id of the file.
func (p *process) upload(t *testing.T, id, base64 string) string {
	t.Helper()
	status, body, err := p.request("POST", "/rest/crud/note@sample", "application/json", `{"id":"`+id+`","scan":{"name":"a.txt","mimeType":"text/plain","body":"`+base64+`"}}`)
	var note struct{ Scan struct{ ID string } }
	if err != nil || status != 200 || json.Unmarshal([]byte(body), &note) != nil || note.Scan.ID == "" {
		t.Fatalf("upload: %d %s %v", status, body, err)
	}
	return note.Scan.ID
}

// stored are the contents in the file storage of an application.
func stored(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, "files", "objects"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestFiles holds that the content that a deleted object leaves is found when
// it is old enough, and removed when asked for, beside the running server.
func TestFiles(t *testing.T) {
	t.Parallel()
	dir := application(t, map[string]string{"deploy.json": filesApplication})
	config := filepath.Join(dir, "deploy.json")
	p := start(t, dir)
	p.upload(t, "n1", "dGVh")
	kept := p.upload(t, "n2", "bWlsaw==")
	if status, body, err := p.request("DELETE", "/rest/crud/note@sample/n1", "", ""); err != nil || status != 200 {
		t.Fatal(status, body, err)
	}
	if out := mustRun(t, "files", "-config", config); out != "0 orphans of 0 bytes found\n" {
		t.Errorf("what is young is an orphan: %s", out)
	}
	old := time.Now().Add(-2 * time.Hour)
	for _, file := range stored(t, dir) {
		if err := os.Chtimes(file, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if out := mustRun(t, "files", "-config", config); !strings.HasSuffix(out, "1 orphans of 3 bytes found; restsrv files -remove removes them\n") || !strings.HasPrefix(out, "content  ") {
		t.Errorf("found %s", out)
	}
	if n := len(stored(t, dir)); n != 2 {
		t.Errorf("looking left %d contents", n)
	}
	if out := mustRun(t, "files", "-config", config, "-remove"); !strings.HasSuffix(out, "1 orphans of 3 bytes removed\n") {
		t.Errorf("removed %s", out)
	}
	if n := len(stored(t, dir)); n != 1 {
		t.Errorf("%d contents are left, want 1", n)
	}
	if status, body, err := p.request("GET", "/files/"+kept, "", ""); err != nil || status != 200 || body != "milk" {
		t.Errorf("the file that is held: %d %q %v", status, body, err)
	}
}

// TestExportFiles holds that an export with -files brings the contents of files
// into another application, and one without leaves them out.
func TestExportFiles(t *testing.T) {
	t.Parallel()
	from := application(t, map[string]string{"deploy.json": filesApplication})
	to := application(t, map[string]string{"deploy.json": filesApplication})
	p := start(t, from)
	id := p.upload(t, "n1", "dGVh")
	p.upload(t, "n2", "dGVh")
	file := filepath.Join(to, "all.ndjson")
	if out := mustRun(t, "export", "-config", filepath.Join(from, "deploy.json")); strings.Contains(out, "_content") || strings.Count(out, `"#file"`) != 2 {
		t.Errorf("without -files:\n%s", out)
	}
	mustRun(t, "export", "-config", filepath.Join(from, "deploy.json"), "-files", "-o", file)
	mustRun(t, "import", "-config", filepath.Join(to, "deploy.json"), file)
	if n := len(stored(t, to)); n != 1 {
		t.Errorf("%d contents came, want 1", n)
	}
	other := start(t, to)
	status, body := other.get(t, "/files/"+id, func(r *http.Request) { r.SetBasicAuth("admin@local", adminPassword) })
	if status != 200 || body != "tea" {
		t.Errorf("the file there: %d %q", status, body)
	}
}

// TestProgress holds that a terminal sees a bar, and nobody else does.
func TestProgress(t *testing.T) {
	dir := application(t, map[string]string{"deploy.json": filesApplication, "n.ndjson": `{"_class":"note@sample","_id":"n1"}`})
	for _, terminal := range []bool{true, false} {
		var out, bar strings.Builder
		err := run(t.Context(), []string{"import", "-config", filepath.Join(dir, "deploy.json"), filepath.Join(dir, "n.ndjson")},
			stdio{In: strings.NewReader(""), Out: &out, Err: &bar, Env: func(string) string { return "" }, Terminal: terminal})
		if err != nil {
			t.Fatal(err)
		}
		if shown := strings.Contains(bar.String(), "importing"); shown != terminal || strings.Contains(out.String(), "importing") {
			t.Errorf("terminal %v: %q and %q", terminal, bar.String(), out.String())
		}
	}
}
