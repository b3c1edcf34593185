package main

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// traced are the calls that change files, or might.
const traced = "open,openat,creat,close,write,writev,pwrite64,pwritev,pwritev2,ftruncate,truncate,fallocate,fsync,fdatasync,sync_file_range," +
	"rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,rmdir,link,linkat,symlink,symlinkat,copy_file_range,sendfile,splice,io_uring_setup"

// syscallTold is one of them, as strace tells it.
type syscallTold struct {
	name, args string
	result     string
}

var (
	callLine    = regexp.MustCompile(`^(\d+) +(\w+)\((.*)\) += (-?\w+|\?)`)
	begunLine   = regexp.MustCompile(`^(\d+) +(\w+)\((.*) <unfinished \.\.\.>$`)
	resumedLine = regexp.MustCompile(`^(\d+) +<\.\.\. \w+ resumed>(.*)\) += (-?\w+)`)
)

// replayTrace has a disk do what a trace of strace -f -y -x says was done below a
// directory. answer is told of everything that was written to a socket, before
// what comes after it is done.
func replayTrace(trace io.Reader, dir string, d *disk, answer func(text string)) error {
	r := &replaying{disk: d, dir: dir, answer: answer, begun: map[string]begun{}}
	lines := bufio.NewScanner(trace)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		if err := r.line(lines.Text()); err != nil {
			return fmt.Errorf("%w: %.300s", err, lines.Text())
		}
	}
	return lines.Err()
}

type replaying struct {
	disk   *disk
	dir    string
	answer func(string)
	begun  map[string]begun // by thread
}

// begun is a call that has not ended, and for fsync the moment of its beginning.
type begun struct {
	syscallTold
	moment int
}

func (r *replaying) line(text string) error {
	if m := begunLine.FindStringSubmatch(text); m != nil {
		c := syscallTold{name: m[2], args: m[3]}
		r.begun[m[1]] = begun{c, r.moment(c)}
		r.tell(c)
		return nil
	}
	if m := resumedLine.FindStringSubmatch(text); m != nil {
		b := r.begun[m[1]]
		delete(r.begun, m[1])
		b.args, b.result = b.args+m[2], m[3]
		return r.do(b.syscallTold, b.moment)
	}
	if m := callLine.FindStringSubmatch(text); m != nil {
		c := syscallTold{m[2], m[3], m[4]}
		r.tell(c)
		return r.do(c, r.moment(c))
	}
	return nil // signals and ends of threads
}

var (
	argFile   = regexp.MustCompile(`^(?:\d+|AT_FDCWD)<([^>]*)>`)
	argText   = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)
	argNumber = regexp.MustCompile(`, (\d+)(?:, (\d+))?$`)
)

// file is the path of the descriptor that a call is about.
func (c syscallTold) file() string {
	if m := argFile.FindStringSubmatch(c.args); m != nil {
		return m[1]
	}
	return ""
}

// texts are the texts among the arguments: paths and data.
func (c syscallTold) texts() (all []string) {
	for _, m := range argText.FindAllStringSubmatch(c.args, -1) {
		text, _ := strconv.Unquote(`"` + m[1] + `"`)
		all = append(all, text)
	}
	return all
}

// within is a path below the directory, false for others.
func (r *replaying) within(path string) (string, bool) {
	rel, ok := strings.CutPrefix(path, r.dir)
	return rel, ok && (rel == "" || rel[0] == '/')
}

func (r *replaying) node(c syscallTold) *node {
	rel, ok := r.within(c.file())
	if !ok {
		return nil
	}
	return r.disk.find(rel)
}

func (r *replaying) moment(c syscallTold) int {
	if n := r.node(c); n != nil {
		return r.disk.now(n)
	}
	return 0
}

// tell passes on what is written to a socket, when that begins.
func (r *replaying) tell(c syscallTold) {
	if c.name == "write" && strings.HasPrefix(c.file(), "socket:") {
		r.answer(strings.Join(c.texts(), ""))
	}
}

// do takes over a call that has ended.
func (r *replaying) do(c syscallTold, moment int) error {
	if c.result == "?" || c.result[0] == '-' { // it never ended, or failed
		return nil
	}
	switch c.name {
	case "open", "openat", "mkdirat", "renameat", "unlink", "unlinkat":
		return r.named(c)
	}
	n := r.node(c)
	if n == nil {
		return nil
	}
	switch c.name {
	case "fsync", "fdatasync":
		r.disk.sync(n, moment)
	case "pwrite64":
		n.writes = append(n.writes, writing{c.number(), []byte(c.texts()[0])})
	case "write":
		at := int64(0) // files are only written from their beginning on
		for _, w := range n.writes {
			at += int64(len(w.data))
		}
		n.writes = append(n.writes, writing{at + int64(len(n.content)), []byte(c.texts()[0])})
	case "ftruncate":
		n.writes = append(n.writes, writing{at: c.number()})
	case "close":
	default:
		return fmt.Errorf("the disk does not know %s", c.name)
	}
	return nil
}

// number is the last of the arguments.
func (c syscallTold) number() int64 {
	m := argNumber.FindStringSubmatch(c.args)
	if m == nil {
		return 0
	}
	last := m[1]
	if m[2] != "" {
		last = m[2]
	}
	n, _ := strconv.ParseInt(last, 10, 64)
	return n
}

// named takes over a call about names.
func (r *replaying) named(c syscallTold) error {
	paths := c.texts()
	if len(paths) == 0 {
		return nil
	}
	path, ok := r.within(paths[0])
	if !ok {
		return nil
	}
	at := r.disk.find(path)
	switch {
	case c.name == "mkdirat":
		return r.disk.name(path, folder())
	case c.name == "renameat":
		to, _ := r.within(paths[1])
		if err := r.disk.name(to, at); err != nil {
			return err
		}
		return r.disk.name(path, nil)
	case strings.HasPrefix(c.name, "unlink"):
		return r.disk.name(path, nil)
	case at == nil && strings.Contains(c.args, "O_CREAT"):
		return r.disk.name(path, &node{})
	case at != nil && strings.Contains(c.args, "O_TRUNC"):
		at.writes = append(at.writes, writing{})
	}
	return nil
}
