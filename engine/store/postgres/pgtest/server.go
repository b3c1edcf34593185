package pgtest

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience limits the time for starting a server.
const patience = 30 * time.Second

// Server is a temporary cluster with a running PostgreSQL, which listens on a socket in the folder of the cluster. The
// server ends when this process ends, even after a crash.
type Server struct {
	URL string // address of the database named postgres

	dir      string
	bin      string
	settings []string
	as       *credential   // nil to run as the current user
	running  chan struct{} // closed when the server has ended; nil before the first start
	process  *os.Process
}

// NewServer starts a cluster for one test. Each setting has the form name=value. fsync is on, so that a killed server
// keeps all committed transactions.
func NewServer(t testing.TB, settings ...string) *Server {
	t.Helper()
	s, err := newServer(settings...)
	giveUp(t, err)
	t.Cleanup(s.Remove)
	return s
}

func newServer(settings ...string) (*Server, error) {
	bin, err := findBinaries()
	if err != nil {
		return nil, err
	}
	removeLeftOvers()
	s := &Server{bin: bin, settings: settings}
	if s.dir, err = os.MkdirTemp("", fmt.Sprintf("%s%d-", prefix, os.Getpid())); err != nil {
		return nil, err
	}
	s.URL = "postgres://postgres@/postgres?" + url.Values{"host": {s.dir}, "sslmode": {"disable"}}.Encode()
	if err := errors.Join(s.becomeUser(), s.initializeCluster()); err != nil {
		s.Remove()
		return nil, err
	}
	if err := s.Start(); err != nil {
		s.Remove()
		return nil, err
	}
	return s, nil
}

// prefix is the beginning of the names of cluster folders. It is followed by the id of the process that created the
// folder.
const prefix = "restsrv-pg-"

// removeLeftOvers removes the cluster folders of processes that were killed. Their servers have ended with them.
func removeLeftOvers() {
	folders, _ := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	for _, folder := range folders {
		number, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(folder), prefix), "-")
		pid, err := strconv.Atoi(number)
		if err == nil && hasEnded(pid) {
			_ = os.RemoveAll(folder)
		}
	}
}

// findBinaries returns the folder with the programs of PostgreSQL. It prefers the folder in PATH to the newest
// installed version.
func findBinaries() (string, error) {
	if path, err := exec.LookPath("postgres"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), "initdb")); err == nil {
				return filepath.Dir(path), nil
			}
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	version := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
		return n
	}
	slices.SortFunc(found, func(a, b string) int { return version(a) - version(b) })
	if len(found) == 0 {
		return "", errors.New("neither PATH nor /usr/lib/postgresql has its binaries")
	}
	return filepath.Dir(found[len(found)-1]), nil
}

// becomeUser gives the folder to an unprivileged user, because PostgreSQL refuses to run as root.
func (s *Server) becomeUser() error {
	if os.Getuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.ParseUint(u.Uid, 10, 32)
		gid, _ := strconv.ParseUint(u.Gid, 10, 32)
		s.as = newCredential(uint32(uid), uint32(gid))
		return os.Chown(s.dir, int(uid), int(gid))
	}
	return errors.New("it does not run as root, and there is no user postgres or nobody")
}

func (s *Server) newCommand(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = childAttributes(s.as)
	return cmd
}

// initializeCluster creates the cluster. If possible, the default collation is that of a language, so that tests fail
// if a column lacks an explicit collation.
func (s *Server) initializeCluster() error {
	data := filepath.Join(s.dir, "data")
	args := []string{"-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "-N", "--locale=C"}
	out, err := s.newCommand("initdb", append(args, "--locale-provider=icu", "--icu-locale=en-US")...).CombinedOutput()
	if err != nil {
		_ = os.RemoveAll(data)
		out, err = s.newCommand("initdb", args...).CombinedOutput()
	}
	if err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
}

// Start starts the server and waits until it accepts connections.
func (s *Server) Start() error {
	args := []string{"-D", filepath.Join(s.dir, "data"), "-k", s.dir, "-c", "listen_addresses=", "-c", "max_connections=400", "-c", "logging_collector=off"}
	for _, setting := range s.settings {
		args = append(args, "-c", setting)
	}
	cmd := s.newCommand("postgres", args...)
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stderr = log
	started := make(chan error)
	s.running = make(chan struct{})
	go func() {
		// The kernel ends the server when the thread that started the server ends, so keep the thread.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(s.running)
	}()
	if err := <-started; err != nil {
		return err
	}
	s.process = cmd.Process
	return s.awaitReady()
}

func (s *Server) awaitReady() error {
	db, err := sql.Open("postgres", s.URL)
	if err != nil {
		return err
	}
	defer db.Close()
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if err = db.Ping(); err == nil {
			return nil
		}
		select {
		case <-s.running:
			text, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			return fmt.Errorf("postgres ended at once:\n%s", text)
		default:
		}
		if time.Since(begin) > patience {
			return fmt.Errorf("postgres does not answer: %w", err)
		}
	}
}

// Stop ends the server with a fast shutdown: it closes connections and rolls back their transactions.
func (s *Server) Stop() { s.signal(syscall.SIGINT) }

// Kill ends all processes of the server immediately, as a power failure would.
func (s *Server) Kill() {
	if s.process == nil {
		return
	}
	killAll(s.process)
	<-s.running
	s.process = nil
}

func (s *Server) signal(sig os.Signal) {
	if s.process == nil {
		return
	}
	_ = s.process.Signal(sig)
	<-s.running
	s.process = nil
}

// Remove ends the server and removes its folder.
func (s *Server) Remove() {
	s.signal(syscall.SIGQUIT)
	_ = os.RemoveAll(s.dir)
}
