package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tick is the unit of processor times in /proc. In Linux it is always the same.
const tick = 10 * time.Millisecond

// program is a server that the benchmark can start.
type program struct {
	name    string
	dir     string // directory of its files and its log
	path    string // path of the binary
	ready   string // path that is answered with 200 when the server is ready
	command func(addr, sync string) (args, env []string, err error)
	numbers *counters // shared by all processes of the program, since they use one database
	db      *database
	address string // address of its database, for the flag -db of the floor
	classes bool   // set if it has the classes with references (see entries)

	// prepare creates accounts and grants when the database is new. It may be nil.
	prepare func(ctx context.Context, p *process) error
}

// process is a running program.
type process struct {
	*program
	addr    string
	started time.Duration // time from the start of the process to the first answer with status 200
	cmd     *exec.Cmd
	gone    chan struct{} // closed when the process has ended
}

// start starts the program and waits until it is ready. sync is the synchronous mode of SQLite,
// "normal" or "full".
func (g *program) start(ctx context.Context, sync string) (*process, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	args, env, err := g.command(addr, sync)
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(g.logFile(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p := &process{program: g, addr: addr, gone: make(chan struct{})}
	p.cmd = exec.Command(g.path, args...)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = g.dir, log, log
	p.cmd.Env = env
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "RESTSRV_") { // they could be settings of a real server
			p.cmd.Env = append(p.cmd.Env, v)
		}
	}
	begin := time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.cmd.Wait()
		close(p.gone)
	}()
	if err := p.awaitReady(ctx); err != nil {
		p.stop()
		return nil, fmt.Errorf("%s: %w; its output ends with:\n%s", g.name, err, g.logTail())
	}
	p.started = time.Since(begin)
	return p, nil
}

// awaitReady sends requests for the path ready until the status is 200, for at most 30 s.
func (p *process) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		_, err := p.fetch(ctx, "GET", p.ready, "", "")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not ready: %w", err)
		case <-p.gone:
			return errors.New("ended before it answered")
		case <-time.After(500 * time.Microsecond):
		}
	}
}

// stop asks the process to end and waits. After 15 s it kills the process.
func (p *process) stop() {
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.gone:
	case <-time.After(15 * time.Second):
		p.cmd.Process.Kill()
		<-p.gone
	}
}

// cpuTime returns the user and system time of the process and of its children that have ended.
func (p *process) cpuTime() (time.Duration, error) {
	text, err := os.ReadFile(p.procFile("stat"))
	if err != nil {
		return 0, fmt.Errorf("%s is gone: %w", p.name, err)
	}
	return parseStat(text)
}

// parseStat returns the sum of the processor times in /proc/<pid>/stat. The second field, the name
// of the process, may contain spaces and brackets, so fields are counted from the end of that name.
func parseStat(text []byte) (time.Duration, error) {
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 15 {
		return 0, fmt.Errorf("not a process state: %q", text)
	}
	var total int64
	for _, f := range fields[11:15] { // utime stime cutime cstime
		n, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("not a process time: %q", f)
		}
		total += n
	}
	return time.Duration(total) * tick, nil
}

// memory returns the resident memory in bytes, now and at its peak.
func (p *process) memory() (now, peak int64, err error) {
	text, err := os.ReadFile(p.procFile("status"))
	if err != nil {
		return 0, 0, fmt.Errorf("%s is gone: %w", p.name, err)
	}
	for line := range strings.Lines(string(text)) {
		fmt.Sscanf(line, "VmRSS: %d kB", &now)
		fmt.Sscanf(line, "VmHWM: %d kB", &peak)
	}
	return now << 10, peak << 10, nil
}

func (p *process) procFile(file string) string {
	return filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid), file)
}

func (g *program) logFile() string { return filepath.Join(g.dir, g.name+".log") }

// logTail returns the end of the program's log.
func (g *program) logTail() string {
	text, err := os.ReadFile(g.logFile())
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2000):])
}

// freeAddr returns a loopback address with a port that is not in use. Another process could take
// the port before it is used.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
