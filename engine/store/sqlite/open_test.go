package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/store"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/sqlite"
)

func openFile(t *testing.T, cfg sqlite.Config) (*sqldb.Database, error) {
	db, err := sqlite.Open(t.Context(), cfg)
	if err == nil {
		t.Cleanup(func() { _ = errors.Join(db.Read.Close(), db.Write.Close(), db.Release()) })
	}
	return db, err
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("this is not a database, it is a text that is long enough"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		path string
		want error
	}{
		"no directory": {filepath.Join(dir, "none", "x.db"), sqlite.ErrNoDirectory},
		"a directory":  {dir, sqlite.ErrNotDatabase},
		"a text":       {text, sqlite.ErrNotDatabase},
	} {
		t.Run(name, func(t *testing.T) {
			for _, server := range []bool{false, true} {
				_, err := openFile(t, sqlite.Config{Path: test.path, Server: server})
				if !errors.Is(err, test.want) {
					t.Errorf("got %v, want %v", err, test.want)
				}
			}
			if entries, _ := os.ReadDir(dir); len(entries) != 1 {
				t.Errorf("files were left behind: %v", entries)
			}
		})
	}
	if _, err := openFile(t, sqlite.Config{Path: filepath.Join(dir, "x.db"), Synchronous: "off"}); err == nil || !strings.Contains(err.Error(), `"off"`) {
		t.Errorf("got %v, want a complaint about synchronous", err)
	}
}

// TestReadOnlyFile checks that Open refuses a database that cannot be written. Root can write every file. If the test
// runs as root, it therefore runs again as another user.
func TestReadOnlyFile(t *testing.T) {
	if os.Getuid() == 0 {
		asNobody(t)
		return
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "x.db")
	closeStore(t, mustOpen(t, path, note()))
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	if _, err := openFile(t, sqlite.Config{Path: path}); !errors.Is(err, sqlite.ErrReadOnly) {
		t.Errorf("file: got %v, want %v", err, sqlite.ErrReadOnly)
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	if _, err := openFile(t, sqlite.Config{Path: filepath.Join(dir, "y.db")}); !errors.Is(err, sqlite.ErrReadOnly) {
		t.Errorf("directory: got %v, want %v", err, sqlite.ErrReadOnly)
	}
}

// asNobody runs this test in a new process that has no privileges of root.
func asNobody(t *testing.T) {
	t.Helper()
	const nobody = 65534
	dir, err := os.MkdirTemp("", "readonly") // t.TempDir is not suitable: it is below a folder of root
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "sqlite.test")
	if err := errors.Join(os.Chmod(dir, 0o777), os.WriteFile(copied, text, 0o755)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(copied, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+dir, "HOME="+dir)
	cmd.SysProcAttr = asUser(nobody)
	out, err := cmd.CombinedOutput()
	if errors.Is(err, fs.ErrPermission) {
		t.Skipf("root may write everything, and no other user can run the test: %v", err)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("as another user: %v\n%s", err, out)
	}
}

func TestFileModes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	c := note()
	st := openAt(t, path, c)
	if _, err := st.Create(t.Context(), c, engine.Values{"a"}, engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal", "-shm", "-server"} {
		info, err := os.Stat(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", info.Name(), info.Mode())
		}
	}
}

// TestWarnsOfReadableFile checks that Open warns about a database that all users can read, and does not change the
// mode of the file.
func TestWarnsOfReadableFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	closeStore(t, mustOpen(t, path, note()))
	for mode, told := range map[fs.FileMode]bool{0o600: false, 0o640: false, 0o644: true} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		if _, err := openFile(t, sqlite.Config{Path: path, Log: slog.New(slog.NewTextHandler(&log, nil))}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(log.String(), "mode=0644") != told {
			t.Errorf("%v: logged %q", mode, log.String())
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%v: has become %v, %v", mode, info.Mode(), err)
		}
	}
}

// TestServers opens a file that a server uses. A second server must be refused. A command must be accepted, and the
// server must see the writes of the command at once.
func TestServers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "odd ?#% name.db")
	c, c2 := note(), note()
	server := openAt(t, path, c)
	if _, err := openFile(t, sqlite.Config{Path: path, Server: true}); !errors.Is(err, sqlite.ErrServed) {
		t.Errorf("got %v, want %v", err, sqlite.ErrServed)
	}
	db, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	command, err := store.Open(t.Context(), db, store.Config{Classes: []*engine.Class{c2}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := command.Create(t.Context(), c2, engine.Values{"a"}, engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Get(t.Context(), c, "a"); err != nil {
		t.Errorf("the server cannot read the object of the command: %v", err)
	}
	closeStore(t, command)
	if _, err := server.Create(t.Context(), c, engine.Values{"b"}, engine.WriteOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the database file is missing: %v", err)
	}
	if _, err := openFile(t, sqlite.Config{Path: path, Server: true}); !errors.Is(err, sqlite.ErrServed) {
		t.Errorf("after the command left: got %v, want %v", err, sqlite.ErrServed)
	}
}

func TestClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	c := note()
	st := mustOpen(t, path, c)
	if _, err := st.Create(t.Context(), c, engine.Values{"a"}, engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	closeStore(t, st)
	if _, err := os.Stat(path + "-wal"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the write-ahead log still exists: %v", err)
	}
	_, getErr := st.Get(t.Context(), c, "a")
	_, createErr := st.Create(t.Context(), c, engine.Values{"b"}, engine.WriteOptions{})
	for _, err := range []error{getErr, createErr} {
		if engine.CodeOf(err) != engine.Unavailable {
			t.Errorf("after close: got %v, want unavailable", err)
		}
	}
	st = openAt(t, path, c) // Close must have stored the data and released the lock
	if _, err := st.Get(t.Context(), c, "a"); err != nil {
		t.Error(err)
	}
}

// TestLocked checks that writes are unavailable while another program locks the file, and succeed afterwards.
func TestLocked(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for the busy timeout")
	}
	path := filepath.Join(t.TempDir(), "x.db")
	c := note()
	st := openAt(t, path, c)
	other, err := openFile(t, sqlite.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := other.Write.Connx(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	run(t, conn.Conn, "BEGIN IMMEDIATE")
	_, err = st.Create(t.Context(), c, engine.Values{"a"}, engine.WriteOptions{})
	var e *engine.Error
	if !errors.As(err, &e) || e.Code != engine.Unavailable || e.RetryAfter == 0 {
		t.Errorf("got %v, want unavailable with a time to retry", err)
	}
	if e != nil && strings.Contains(e.Message, "SQL") {
		t.Errorf("message %q contains details of the database", e.Message)
	}
	run(t, conn.Conn, "ROLLBACK")
	if _, err = st.Create(t.Context(), c, engine.Values{"a"}, engine.WriteOptions{}); err != nil {
		t.Errorf("after the lock was gone: %v", err)
	}
}

func run(t *testing.T, conn *sql.Conn, text string) {
	t.Helper()
	if _, err := conn.ExecContext(context.Background(), text); err != nil {
		t.Fatal(err)
	}
}
