package command_test

import (
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/cmd/restsrv/command"
	"restsrv/engine/store/postgres/pgtest"
)

const filesApplication = `{"namespace": "sample",
	"classes": [{"name": "note", "key": ["id"], "properties": [{"name": "id", "type": "guid"}, {"name": "scan", "type": "file"}]}],
	"modules": {"rest": {"globals": {"di": {"crud": {"module": "builtin/crud"}}}}}}`

// uploadFile creates a note with a file and returns the id of the file.
func uploadFile(p *apptest.Process, t *testing.T, id, base64 string) string {
	t.Helper()
	status, body, err := p.Request("POST", "/rest/crud/note@sample", "application/json", `{"id":"`+id+`","scan":{"name":"a.txt","mimeType":"text/plain","body":"`+base64+`"}}`)
	var note struct{ Scan struct{ ID string } }
	if err != nil || status != 200 || json.Unmarshal([]byte(body), &note) != nil || note.Scan.ID == "" {
		t.Fatalf("upload: got %d %s %v, want 200 and an id", status, body, err)
	}
	return note.Scan.ID
}

// stored returns the files with contents in the file storage of an application.
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

// TestFiles checks that restsrv files lists and removes contents to which no object refers, such as
// after a crash, if they are old enough. It runs while the server runs.
func TestFiles(t *testing.T) {
	t.Parallel()
	dir := apptest.WriteApplication(t, map[string]string{"deploy.json": filesApplication})
	config := filepath.Join(dir, "deploy.json")
	p := apptest.Start(t, dir)
	uploadFile(p, t, "n1", "dGVh")
	kept := uploadFile(p, t, "n2", "bWlsaw==")
	if status, body, err := p.Request("DELETE", "/rest/crud/note@sample/n1", "", ""); err != nil || status != 200 {
		t.Fatal(status, body, err)
	}
	wantStored(t, "after the deletion", dir, 1)
	orphan := filepath.Join(dir, "files", "objects", "ab", strings.Repeat("ab", 31))
	if err := os.MkdirAll(filepath.Dir(orphan), 0o700); err != nil {
		t.Fatal(err)
	}
	apptest.WriteFile(t, orphan, "tea")
	if out := apptest.MustRun(t, "files", "-config", config); out != "0 orphans of 0 bytes found\n" {
		t.Errorf("new contents: got %s, want no orphans", out)
	}
	old := time.Now().Add(-2 * time.Hour)
	for _, file := range stored(t, dir) {
		if err := os.Chtimes(file, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if out := apptest.MustRun(t, "files", "-config", config); !strings.HasSuffix(out, "1 orphans of 3 bytes found; restsrv files -remove removes them\n") || !strings.HasPrefix(out, "content  ") {
		t.Errorf("restsrv files: got %s, want one orphan of 3 bytes", out)
	}
	if n := len(stored(t, dir)); n != 2 {
		t.Errorf("contents after restsrv files without -remove: got %d, want 2", n)
	}
	if out := apptest.MustRun(t, "files", "-config", config, "-remove"); !strings.HasSuffix(out, "1 orphans of 3 bytes removed\n") {
		t.Errorf("restsrv files -remove: got %s, want one orphan of 3 bytes", out)
	}
	if n := len(stored(t, dir)); n != 1 {
		t.Errorf("%d contents are left, want 1", n)
	}
	if status, body, err := p.Request("GET", "/files/"+kept, "", ""); err != nil || status != 200 || body != "milk" {
		t.Errorf("the file in use: got %d %q %v, want 200 milk", status, body, err)
	}
}

// wantStored waits until the file storage has a number of contents. Contents to which no object
// refers are removed in the background.
func wantStored(t *testing.T, what, dir string, want int) {
	t.Helper()
	for range 200 {
		if len(stored(t, dir)) == want {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("%s: %d contents are stored, want %d", what, len(stored(t, dir)), want)
}

const stagedApplication = `{"namespace": "sample",
	"classes": [{"name": "note", "key": ["id"], "properties": [{"name": "id", "type": "string"}, {"name": "code", "type": "string", "nullable": true, "unique": true},
		{"name": "scan", "type": "file", "nullable": true}, {"name": "next", "type": "reference", "refClass": "note", "nullable": true}]}],
	"modules": {"rest": {"globals": {"di": {"crud": {"module": "builtin/crud"}, "acceptor": {"module": "builtin/acceptor",
		"options": {"dataRepo": "ion://securedDataRepo", "metaRepo": "ion://metaRepo"}}, "js": {"module": "js.js", "options": {"fileStorage": "ion://fileStorage"}}}}}}}`

const stagedScript = `module.exports = {
  'POST /throws': async () => { await fileStorage.accept(Buffer.from('throws')); throw new Error('no'); },
  'POST /forgets': async () => { await fileStorage.accept(Buffer.from('forgets')); return 1; },
  'POST /creates': async () => { const f = await fileStorage.accept(Buffer.from('creates')); await dataRepo.createItem('note@sample', {id: 'js', scan: f.id}); return 1; },
  'POST /undone': async () => { try { await dataRepo.transaction(async () => {
    await dataRepo.createItem('note@sample', {id: 'undone', scan: {name: 'a', body: Buffer.from('undone').toString('base64')}});
    throw new Error('no'); }); } catch (e) { return 1; } },
};`

// TestFailedRequestsLeaveNoFiles sends files in each kind of request that stores them, and counts
// the contents in the folder. A content must be removed if its request failed, or if no object
// refers to it any more.
func TestFailedRequestsLeaveNoFiles(t *testing.T) {
	t.Parallel()
	onEachDatabase(t, func(t *testing.T, db string) {
		dir := apptest.WriteApplication(t, map[string]string{"deploy.json": stagedApplication, "js.js": stagedScript})
		p := apptest.Start(t, dir, "-db", db)
		do := func(want int, stored int, method, path, contentType, body string) {
			t.Helper()
			status, answer, err := p.Request(method, path, contentType, body)
			if err != nil || status != want {
				t.Errorf("%s %s: got %d %s %v, want %d", method, path, status, answer, err, want)
			}
			wantStored(t, method+" "+path+" "+body, dir, stored)
		}
		const crud, accept, js, jsonType = "/rest/crud/note@sample", "/rest/acceptor", "/rest/js", "application/json"
		file := func(text string) string {
			return `{"name":"a.txt","body":"` + base64.StdEncoding.EncodeToString([]byte(text)) + `"}`
		}
		form := func(id, text string) string {
			return "--XX\r\nContent-Disposition: form-data; name=\"id\"\r\n\r\n" + id +
				"\r\n--XX\r\nContent-Disposition: form-data; name=\"scan\"; filename=\"a.txt\"\r\n\r\n" + text + "\r\n--XX--\r\n"
		}
		const formType = "multipart/form-data; boundary=XX"
		do(200, 1, "POST", crud, jsonType, `{"id":"n1","code":"taken","scan":`+file("one")+`}`)
		do(400, 1, "POST", crud, jsonType, `{"id":"n1","scan":`+file("two")+`}`)
		do(400, 1, "POST", crud, formType, form("n1", "three"))
		do(400, 1, "POST", crud, formType, strings.TrimSuffix(form("n2", "cut off"), "--\r\n"))
		do(400, 1, "POST", crud, jsonType, `{"id":"n2","code":"taken","scan":`+file("four")+`}`)
		do(400, 1, "POST", crud, jsonType, `{"id":"n1","next":{"id":"n3","scan":`+file("nested")+`}}`)
		do(404, 1, "PATCH", crud+"/n9", formType, form("n9", "five"))
		do(400, 1, "POST", accept, jsonType, `[{"_class":"note@sample","id":"n4","scan":`+file("six")+`},{"_class":"note@sample","id":"n5","code":"taken"}]`)
		do(500, 1, "POST", js+"/throws", "", "")
		do(200, 1, "POST", js+"/forgets", "", "")
		do(200, 1, "POST", js+"/undone", "", "")
		do(200, 2, "POST", js+"/creates", "", "")
		do(200, 1, "DELETE", crud+"/js", "", "")
		do(200, 1, "PATCH", crud+"/n1", jsonType, `{"scan":`+file("replaced")+`}`)
		do(200, 2, "POST", accept, jsonType, `[{"_class":"note@sample","id":"n6","scan":`+file("seven")+`},{"_class":"note@sample","id":"n7","scan":`+file("seven")+`}]`)
		do(200, 2, "DELETE", crud+"/n6", "", "")
		do(200, 1, "PATCH", crud+"/n7", jsonType, `{"scan":null}`)
		do(200, 0, "DELETE", crud+"/n1", "", "")
	})
}

// onEachDatabase runs a test with the URL of a new database of each kind.
func onEachDatabase(t *testing.T, run func(t *testing.T, db string)) {
	t.Run("sqlite", func(t *testing.T) { run(t, "sqlite:restsrv.db") })
	t.Run("postgres", func(t *testing.T) { run(t, pgtest.Database(t)) })
}

// TestExportFiles checks that an export with -files takes the contents of files to another
// application, and that an export without it does not.
func TestExportFiles(t *testing.T) {
	t.Parallel()
	from := apptest.WriteApplication(t, map[string]string{"deploy.json": filesApplication})
	to := apptest.WriteApplication(t, map[string]string{"deploy.json": filesApplication})
	p := apptest.Start(t, from)
	id := uploadFile(p, t, "n1", "dGVh")
	uploadFile(p, t, "n2", "dGVh")
	file := filepath.Join(to, "all.ndjson")
	if out := apptest.MustRun(t, "export", "-config", filepath.Join(from, "deploy.json")); strings.Contains(out, "_content") || strings.Count(out, `"#file"`) != 2 {
		t.Errorf("export without -files: got\n%s\nwant two files without contents", out)
	}
	apptest.MustRun(t, "export", "-config", filepath.Join(from, "deploy.json"), "-files", "-o", file)
	apptest.MustRun(t, "import", "-config", filepath.Join(to, "deploy.json"), file)
	if n := len(stored(t, to)); n != 1 {
		t.Errorf("%d contents came, want 1", n)
	}
	other := apptest.Start(t, to)
	status, body := other.Get(t, "/files/"+id, func(r *http.Request) { r.SetBasicAuth("admin@local", apptest.AdminPassword) })
	if status != 200 || body != "tea" {
		t.Errorf("the imported file: got %d %q, want 200 tea", status, body)
	}
}

// TestProgress checks that a progress bar is shown only at a terminal.
func TestProgress(t *testing.T) {
	dir := apptest.WriteApplication(t, map[string]string{"deploy.json": filesApplication, "n.ndjson": `{"_class":"note@sample","_id":"n1"}`})
	for _, terminal := range []bool{true, false} {
		var out, bar strings.Builder
		err := command.Run(t.Context(), []string{"import", "-config", filepath.Join(dir, "deploy.json"), filepath.Join(dir, "n.ndjson")},
			command.Stdio{In: strings.NewReader(""), Out: &out, Err: &bar, Env: func(string) string { return "" }, Terminal: terminal})
		if err != nil {
			t.Fatal(err)
		}
		if shown := strings.Contains(bar.String(), "importing"); shown != terminal || strings.Contains(out.String(), "importing") {
			t.Errorf("terminal %v: got the progress %q and the output %q, want progress only on a terminal", terminal, bar.String(), out.String())
		}
	}
}
