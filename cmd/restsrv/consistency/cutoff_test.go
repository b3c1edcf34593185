package consistency

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/engine/store/postgres/pgtest"
)

// TestCopiesCutOff kills commands that fill a database, each time a little later. When the same
// command runs again, it must complete the work: no object is missing or duplicated, and the
// order is right.
func TestCopiesCutOff(t *testing.T) {
	t.Parallel()
	dir := apptest.WriteApplication(t, map[string]string{"deploy.json": crashApp, "big.ndjson": bigExport(1500)})
	config, whole := filepath.Join(dir, "deploy.json"), filepath.Join(dir, "whole.ndjson")
	apptest.MustRun(t, "import", "-config", config, "-db", "sqlite:from.db", filepath.Join(dir, "big.ndjson"))
	apptest.MustRun(t, "export", "-config", config, "-db", "sqlite:from.db", "-files", "-o", whole)
	for name, filled := range map[string]struct {
		db      string
		command []string
	}{
		"import":             {"sqlite:imported.db", []string{"import", whole}},
		"import, PostgreSQL": {pgtest.Database(t), []string{"import", whole}},
		"migrate":            {"sqlite:copied.db", []string{"migrate", "-from", "sqlite:from.db", "-force"}},
	} {
		t.Run(name, func(t *testing.T) {
			to := "-db"
			if filled.command[0] == "migrate" {
				to = "-to"
			}
			args := append([]string{filled.command[0], "-config", config, to, filled.db}, filled.command[1:]...)
			killed := 0
			for wait := 20 * time.Millisecond; wait < 400*time.Millisecond; wait = wait * 3 / 2 {
				if killAfter(t, wait+rand.N(wait), args) {
					killed++
				}
			}
			if killed < 2 {
				t.Errorf("got %d killed exports, want at least 2: the test proves nothing", killed)
			}
			t.Logf("%d were killed", killed)
			apptest.MustRun(t, args...)
			copied := filepath.Join(t.TempDir(), "copied.ndjson")
			apptest.MustRun(t, "export", "-config", config, "-db", filled.db, "-files", "-o", copied)
			if a, b := apptest.ReadFile(t, whole), apptest.ReadFile(t, copied); a != b {
				t.Errorf("copy: got %d bytes, want %d:\n%s", len(b), len(a), apptest.FirstDifference(b, a))
			}
		})
	}
}

// killAfter starts restsrv and kills it after a while. It returns false if the command ended
// before that.
func killAfter(t *testing.T, wait time.Duration, args []string) bool {
	t.Helper()
	cmd := exec.Command(apptest.Binary(t), args...)
	cmd.Env = os.Environ()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(wait, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	return !kill.Stop() && err != nil
}

// bigExport returns an export with a number of boxes, each with a part, a tag and a paper.
func bigExport(boxes int) string {
	var rows, items, links strings.Builder
	content := []byte("a scan")
	hash := hashOf(content)
	for i := range boxes {
		fmt.Fprintf(&items, `{"_class":"box@crash","_id":"b%[1]d","id":"b%[1]d","text":"box"}
{"_class":"part@crash","_id":"p%[1]d","id":"p%[1]d","text":"part","box":"b%[1]d"}
{"_class":"tag@crash","_id":"t%[1]d","id":"t%[1]d","text":"tag"}
{"_class":"paper@crash","_id":"s%[1]d","id":"s%[1]d","scan":{"id":"f%[1]d","name":"a","size":6,"hash":"%[2]s"}}
`, i, hash)
		fmt.Fprintf(&rows, `{"_class":"#file","_id":"f%[1]d","id":"f%[1]d","hash":"%[2]s","name":"a","size":6,"created":"2026-01-02T03:04:05.678Z","class":"paper@crash","item":"s%[1]d","attribute":"scan"}`+"\n", i, hash)
		fmt.Fprintf(&links, `{"_links":"box@crash.tags","_id":"b%d","members":["t%d"]}`+"\n", i, i)
	}
	return `{"_restsrv":"export","_version":1}` + "\n" + rows.String() + items.String() + links.String() +
		fmt.Sprintf(`{"_content":%q,"size":6,"data":%q}`+"\n", hash, base64.StdEncoding.EncodeToString(content)) +
		fmt.Sprintf(`{"_restsrv":"end","items":%d}`+"\n", 5*boxes)
}
