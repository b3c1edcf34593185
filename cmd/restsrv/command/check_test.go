package command_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/cmd/restsrv/command"
)

// contentsOf returns the files of a folder with their contents.
func contentsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		found[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func sameContents(t *testing.T, before, after map[string]string) {
	t.Helper()
	for path, text := range after {
		if old, ok := before[path]; !ok || old != text {
			t.Errorf("%s was created or changed, want no changes", path)
		}
	}
	if len(before) != len(after) {
		t.Errorf("got %d files, want %d as before", len(after), len(before))
	}
}

// TestCheckTouchesNothing checks that check leaves the application directory
// and the temporary folder unchanged, and that the sample has no mistakes.
func TestCheckTouchesNothing(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	c := apptest.NewCase(t, "")
	c.CopyFromRepository([]string{"deploy.json", "scripts"})
	c.WriteFile("restsrv.db", "a database")
	before := contentsOf(t, c.Dir)
	if out := apptest.MustRun(t, "check", "-config", filepath.Join(c.Dir, "deploy.json")); out != "1 class, 10 services, 2 scripts\nruns as is\n" {
		t.Error(out)
	}
	sameContents(t, before, contentsOf(t, c.Dir))
	if left, _ := os.ReadDir(temporary); len(left) != 0 {
		t.Errorf("temporary files: got %v, want none", left)
	}
}

// TestCheckLibrary compares the report about application library with testdata/library-check.txt.
func TestCheckLibrary(t *testing.T) {
	t.Parallel()
	out, stderr, err := apptest.RunCommand(t, "check", "-config", filepath.Join(apptest.Library.Original(t), "deploy.json"))
	if !errors.Is(err, command.ErrDiffers) {
		t.Fatal(err, stderr)
	}
	want, err := os.ReadFile(filepath.Join("../testdata", "library-check.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if out != string(want) {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
}

// TestCheckRealApplication runs check on the application develop-and-test.
func TestCheckRealApplication(t *testing.T) {
	t.Parallel()
	app := apptest.FindDevelopAndTest(t)
	out, stderr, err := apptest.RunCommand(t, "check", "-config", filepath.Join(app, "deploy.json"))
	if !errors.Is(err, command.ErrDiffers) {
		t.Fatal(err, stderr)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	differences, last := lines[:len(lines)-2], lines[len(lines)-1]
	if want := fmt.Sprintf("runs with the %d listed differences", len(differences)); last != want {
		t.Errorf("it ends with %q, want %q", last, want)
	}
	if counted := lines[len(lines)-2]; !strings.HasPrefix(counted, "162 classes, ") || !strings.HasSuffix(counted, " services, 0 scripts") {
		t.Errorf("got the summary %q, want 162 classes and 0 scripts", counted)
	}
	placed := regexp.MustCompile(`^[^ :]+(:\d+:\d+)?: \S`)
	for i, line := range differences {
		if !placed.MatchString(line) || slices.Contains(differences[:i], line) {
			t.Errorf("got a line that is repeated or has no place: %s", line)
		}
	}
	for _, want := range []string{
		`deploy.json:96:7: globals.plugins.fileStorage: found module "core/impl/resource/OwnCloudStorage"`,
		`deploy.json:200:5: globals.jobs: found jobs, `,
		`deploy.json:338:5: modules.geomap: found module "geomap", which restsrv does not have`,
		`deploy.json:513:11: modules.rest.globals.authMode.echo-errtype: found "a7b4e07d"`,
		`deploy.json:526:13: modules.rest.globals.di.echo-pwd.module: found "service/EchoRest.js", which is not there, expected a script: services echo-pwd, echo-errtype, echo-oauth, echo-token, echo answer 503`,
		`meta/adress.class.json:8:3: name: found class "adress@develop-and-test"`,
		`navigation/functional/reportMeta.json:2:3: code: `,
		`views/person@develop-and-test/item.json:90:11: tabs[0].fullFields[3].property: found "uid"`,
	} {
		if n := apptest.CountLines(differences, want); n != 1 {
			t.Errorf("told %d times: %s\n%s", n, want, out)
		}
	}
	if n := apptest.CountLines(differences, ": modules."); n < 12 || len(differences) > 70 {
		t.Errorf("got %d differences in modules of %d, want at least 12 of at most 70", n, len(differences))
	}
}
