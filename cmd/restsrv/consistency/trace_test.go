package consistency

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// traced lists the system calls that can change files.
const traced = "open,openat,creat,close,write,writev,pwrite64,pwritev,pwritev2,ftruncate,truncate,fallocate,fsync,fdatasync,sync_file_range," +
	"rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,rmdir,link,linkat,symlink,symlinkat,copy_file_range,sendfile,splice,io_uring_setup"

// syscallTold is one system call in the form of strace.
type syscallTold struct {
	name, args string
	result     string
}

// replayTrace applies the output of strace -f -y -x to a disk, for files below a directory. When
// data were written to a socket, it calls answer with them before it applies the next calls.
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

// begun is a call that has not ended yet. For fsync, moment is the moment of the disk at which
// the call began.
type begun struct {
	syscallTold
	moment int
}

func (r *replaying) line(text string) error {
	thread, call, _ := strings.Cut(text, " ")
	call = strings.TrimLeft(call, " ")
	if rest, ok := strings.CutPrefix(call, "<... "); ok {
		_, rest, _ = strings.Cut(rest, " resumed>")
		b := r.begun[thread]
		delete(r.begun, thread)
		args, result := outcome(rest)
		b.args, b.result = b.args+args, result
		return r.do(b.syscallTold, b.moment)
	}
	name, rest, ok := strings.Cut(call, "(")
	if !ok || strings.Contains(name, " ") {
		return nil // signals and ends of threads
	}
	if args, ok := strings.CutSuffix(rest, " <unfinished ...>"); ok {
		c := syscallTold{name: name, args: args}
		r.begun[thread] = begun{c, r.moment(c)}
		r.tell(c)
		return nil
	}
	c := syscallTold{name: name}
	c.args, c.result = outcome(rest)
	r.tell(c)
	return r.do(c, r.moment(c))
}

// outcome splits a call into its arguments and its result, which is "?" if the call never ended.
// It does not use regular expressions, because a line can have megabytes and matching would take
// minutes.
func outcome(text string) (args, result string) {
	at := strings.LastIndex(text, " = ")
	if at < 0 {
		return text, "?"
	}
	args = strings.TrimSuffix(strings.TrimRight(text[:at], " "), ")")
	result, _, _ = strings.Cut(text[at+len(" = "):], " ")
	return args, result
}

// file returns the path of the file descriptor in a call.
func (c syscallTold) file() string {
	descriptor, rest, _ := strings.Cut(c.args, "<")
	if _, err := strconv.Atoi(descriptor); err != nil && descriptor != "AT_FDCWD" {
		return ""
	}
	path, _, _ := strings.Cut(rest, ">")
	return path
}

// texts returns the quoted texts in the arguments: paths and data.
func (c syscallTold) texts() (all []string) {
	for rest := c.args; ; {
		start := strings.IndexByte(rest, '"')
		if start < 0 {
			return all
		}
		quoted, err := strconv.QuotedPrefix(rest[start:])
		if err != nil {
			return all
		}
		text, _ := strconv.Unquote(quoted)
		all, rest = append(all, text), rest[start+len(quoted):]
	}
}

// within returns a path relative to the directory. It returns false for a path outside.
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

// tell calls answer when a write to a socket begins.
func (r *replaying) tell(c syscallTold) {
	if c.name == "write" && strings.HasPrefix(c.file(), "socket:") {
		r.answer(strings.Join(c.texts(), ""))
	}
}

// do applies a call that has ended.
func (r *replaying) do(c syscallTold, moment int) error {
	if c.result == "?" || c.result[0] == '-' { // it never ended, or it failed
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
		at := int64(0) // programs here write files only from the beginning
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

// number returns the last argument.
func (c syscallTold) number() int64 {
	n, _ := strconv.ParseInt(c.args[strings.LastIndex(c.args, " ")+1:], 10, 64)
	return n
}

// named applies a call that changes names.
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
