package server

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"restsrv/engine"
	"restsrv/engine/deploy"
	"restsrv/engine/script"
	"restsrv/engine/script/limits"
	"restsrv/engine/script/platform"
	"restsrv/engine/share"
)

// listenOn binds an address of the form host:port.
func listenOn(addr string) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		advice := "host:port, for example 127.0.0.1:8888"
		if _, err := strconv.ParseUint(addr, 10, 16); err == nil {
			advice = "host:port: use 127.0.0.1:" + addr + " for this machine only, or :" + addr + " for all its addresses"
		}
		return nil, fmt.Errorf("the address to listen on is %q, expected %s", addr, advice)
	}
	l, err := net.Listen("tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("another program uses the address %s: stop it, or choose another address with -addr or RESTSRV_ADDR", addr)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("the address %s needs rights that this user does not have; ports from 1024 need none: %w", addr, err)
	case err != nil:
		return nil, fmt.Errorf("the address %s cannot be used: %w", addr, err)
	}
	return l, nil
}

// waitForBytes is the maximum time for which a request waits for memory. While it waits, it holds no database
// connection.
const waitForBytes = 10 * time.Second

func newBytes(name string, b deploy.Bytes) *share.Pool {
	return share.New(share.Config{Name: name, Capacity: b.All, PerKey: b.PerAccount, MaxWait: waitForBytes})
}

// held returns the number of bytes in bodies and answers of requests.
func (s *Server) held() int64 {
	_, answers := s.answers.Held("")
	_, bodies := s.bodies.Held("")
	return answers + bodies
}

// warnOfFiles logs a warning if the application has file attributes but the folder for contents of
// files is not writable.
func (s *Server) warnOfFiles(a *loadedApp) {
	isFile := func(p *engine.Property) bool { return p.Type.IsFile() }
	if !slices.ContainsFunc(a.Meta.Classes(), func(c *engine.Class) bool { return slices.ContainsFunc(c.Properties, isFile) }) {
		return
	}
	if err := s.db.Files.Ready(); err != nil {
		s.log.Warn("the folder of files cannot be written: objects with files are refused", "folder", s.storedFiles(), "error", err)
	}
}

// databaseURL returns the URL of the database: the one in Config, or else the one in deploy.json.
func (s *Server) databaseURL(c *deploy.Config) string {
	return cmp.Or(s.options.Database, c.DB)
}

func (s *Server) listenAddr(c *deploy.Config) string {
	return cmp.Or(s.options.Addr, c.Addr)
}

// scriptConfig returns the settings in deploy.json that apply to all scripts. database is the URL of the
// database; dev is set with -watch and in a sandbox.
func scriptConfig(c *deploy.Config, database string, dev bool, log *slog.Logger) script.Config {
	return script.Config{
		Dir: c.Dir, MaxCPU: maxCPU(c), Heap: c.HeapBytes, Dev: dev, Log: log, NodeModules: c.Scripts.NodeModules, Namespace: c.Namespace,
		Platform: platform.Settings{
			Env:    c.Scripts.Env,
			Hidden: hiddenFromScripts(c, database),
			Fetch: platform.Fetch{
				Hosts: c.Scripts.FetchHosts, Private: c.Scripts.FetchPrivate,
				Timeout: c.Scripts.FetchTimeout, MaxBytes: c.Scripts.FetchBytes,
			},
		},
	}
}

// hiddenFromScripts returns paths of the server's own files, which scripts must not open: the
// database, the files beside it, and the contents of file attributes. Scripts can read this data
// only as the account of a request. Each path also stands for all paths that begin with it.
// database is the URL of the database in use.
func hiddenFromScripts(c *deploy.Config, database string) []string {
	hidden := []string{c.Abs("files"), c.Abs("admin-password")}
	for _, url := range []string{database, c.DB} {
		if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
			hidden = append(hidden, c.Abs(path), filepath.Join(filepath.Dir(c.Abs(path)), "admin-password"))
		}
	}
	return hidden
}

// ScriptLimits converts the limits of one script.
func ScriptLimits(l deploy.Limits) limits.Limits {
	return limits.Limits{
		CPU: l.CPUTime, Wall: l.WallTime, Transaction: l.TransactionTime, Load: l.LoadTime, Idle: l.Idle, CallStack: l.CallDepth,
		VMs: l.VMs, InFlight: l.InFlight, Queue: l.Queue, Body: l.BodyBytes, Response: l.ResponseBytes,
		Depth: l.JSONDepth, Rows: l.Rows, Text: l.TextBytes, Elements: l.Elements, Timers: l.Timers, Shared: l.SharedBytes,
		StreamTime: l.StreamTime, StreamGrace: l.StreamGrace, StreamBytes: l.StreamBytes, Streams: l.Streams, AccountStreams: l.AccountStreams,
		UploadBytes: l.UploadBytes, WorkTime: l.WorkTime, Works: l.Works, AccountWorks: l.AccountWorks, WorkPromises: l.WorkPromises,
	}
}

// maxCPU returns the largest limit of the CPU time of one turn (see deploy.Limits) of all scripts.
func maxCPU(c *deploy.Config) time.Duration {
	longest := time.Second
	for _, svc := range c.Services {
		longest = max(longest, svc.Limits.CPUTime, svc.Limits.LoadTime)
	}
	return longest
}
