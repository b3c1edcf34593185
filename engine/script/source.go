package script

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/parser"

	"restsrv/engine"
	"restsrv/engine/script/transpile"
	"restsrv/engine/wire"
)

// LoadError says why a version of a service cannot be used.
type LoadError struct {
	File    string // relative to the application directory, with forward slashes
	Line    int    // 1-based; 0 when the whole file is meant
	Column  int
	Source  string // the line of the file, "" when unknown
	Excerpt string // the lines around it, numbered, with a caret; "" when unknown
	Message string
}

// Error is one line: file:line:column: message.
func (e *LoadError) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// source is one file in the content that a generation saw.
type source struct {
	file    string // relative, for people
	path    string // absolute
	hash    [sha256.Size]byte
	text    []byte
	program *goja.Program // of a .js file
	data    any           // of a .json file, decoded
	needs   needs

	probed      bool              // its variables are watched, while developing
	declared    []declared        // those
	transformed bool              // the engine has another text than the file
	asksRequire bool              // it uses require.resolve and the like
	patterns    map[string]string // regular expressions that were rewritten: as they were written
}

// cache keeps the last compiled content of each file, for all services.
type cache struct {
	probes bool // variables of modules are watched

	mu     sync.Mutex
	byPath map[string]*source
	needs  map[string]needs // of source text of our own
}

func newCache() *cache { return &cache{byPath: map[string]*source{}, needs: map[string]needs{}} }

// needsOf is findNeeds of source text of our own, looked for once.
func (c *cache) needsOf(text string) needs {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, ok := c.needs[text]
	if !ok {
		n = findNeeds(text)
		c.needs[text] = n
	}
	return n
}

// load reads and compiles a file, or returns what it was compiled to before.
// The error is a *LoadError.
func (c *cache) load(path, file string, limit int) (*source, error) {
	text, size, err := readRegular(path, limit)
	if err != nil {
		return nil, &LoadError{File: file, Message: "the file cannot be read"}
	}
	if size > int64(limit) {
		return nil, &LoadError{File: file, Message: fmt.Sprintf("the file has %d bytes, at most %d are read", size, limit)}
	}
	hash := sha256.Sum256(text)
	c.mu.Lock()
	old := c.byPath[path]
	c.mu.Unlock()
	if old != nil && old.hash == hash {
		return old, nil
	}
	s := &source{file: file, path: path, hash: hash, text: text, probed: c.probes}
	if err := s.compile(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.byPath[path] = s
	c.mu.Unlock()
	return s, nil
}

var errNotRegular = errors.New("the file is no regular file")

// readRegular reads a file whose size is at most limit; of a larger one it
// returns the size alone. What is no regular file is not read: a pipe would
// have the reader wait for somebody who writes, for ever. It is asked about
// before it is opened, because opening a pipe or a device does something, and
// opened without waiting, because it may have changed in between.
func readRegular(path string, limit int) (text []byte, size int64, err error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		return nil, 0, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, errNotRegular
	}
	if info.Size() > int64(limit) {
		return nil, info.Size(), nil
	}
	text, err = io.ReadAll(io.LimitReader(f, int64(limit)+1)) // it may be growing
	return text, int64(len(text)), err
}

// The module wrapper opens on the first line of the file, so that lines stay
// where they are.
const (
	wrapperHead = "(function(exports,require,module,__filename,__dirname){"
	wrapperTail = "\n})"
)

// compile makes the program. What the engine can parse is compiled as it is
// written, and pays for nothing else.
func (s *source) compile() error {
	if strings.HasSuffix(s.path, ".json") {
		return s.decode()
	}
	text := string(bytes.TrimPrefix(s.text, []byte("\ufeff")))
	if strings.HasPrefix(text, "#!") {
		text = "//" + text[2:]
	}
	if line, column := tooDeep(text); line > 0 {
		return s.faultAt(line, column, fmt.Sprintf("brackets are nested deeper than %d", maxBrackets))
	}
	if line, column := tooLong(text, false); line > 0 {
		return s.faultAt(line, column, fmt.Sprintf("an expression goes on for more than %d operators", maxChain))
	}
	if transpile.Always(s.path) {
		return s.transform(text, nil)
	}
	prg, err := parser.ParseFile(nil, s.file, wrapperHead+text+wrapperTail, 0, parser.WithDisableSourceMaps)
	if err != nil {
		return s.transform(text, s.syntaxFault(err, text))
	}
	m, err := transpile.FirstLine(preludeFile, s.file, wrapperHead, text)
	if err != nil {
		return s.fault(0, 0, err.Error())
	}
	return s.build(prg, m, text)
}

// transform compiles what the engine cannot parse: refused says why it could
// not, nil when it was not asked.
func (s *source) transform(text string, refused *LoadError) error {
	if line, column := tooLong(text, true); line > 0 {
		return s.faultAt(line, column, fmt.Sprintf("an expression or a type goes on for more than %d operators =>, < or dot", maxSteep))
	}
	out, err := transpile.Transform(transpile.Input{File: s.file, Text: text, Head: wrapperHead, Tail: wrapperTail, Ours: preludeFile})
	var f *transpile.Fault
	if errors.As(err, &f) {
		// What comes no later than what the engine refused was not understood
		// better by the compiler, unless it says so in words of ours.
		if refused != nil && strings.HasPrefix(f.Message, "syntax error") && (strings.HasSuffix(refused.Message, endsEarly) || f.Line < refused.Line || f.Line == refused.Line && f.Column <= refused.Column) {
			return refused
		}
		return s.fault(f.Line, f.Column, f.Message)
	}
	s.transformed = true
	prg, err := parser.ParseFile(nil, s.file, out.Text, 0, parser.WithDisableSourceMaps)
	if err == nil {
		return s.build(prg, out.Map, out.Text)
	}
	var list parser.ErrorList
	if errors.As(err, &list) && len(list) > 0 {
		line, column := out.Map.Origin(preludeFile, list[0].Position.Line, list[0].Position.Column)
		return s.fault(line, column, "syntax error: "+list[0].Message)
	}
	return s.fault(0, 0, "syntax error: "+err.Error())
}

// build compiles parsed text; m maps its positions.
func (s *source) build(prg *ast.Program, m transpile.Map, text string) error {
	prg.File.SetSourceMap(m.Consumer)
	s.needs = findNeeds(text)
	s.asksRequire = strings.Contains(text, "require.")
	if at, err := s.rewrite(prg, text); err != nil {
		p := prg.File.Position(int(at) - 1)
		return s.faultAt(p.Line, p.Column, err.Error())
	}
	err := s.addProbe(prg)
	if err != nil {
		return s.fault(0, 0, err.Error())
	}
	if s.program, err = goja.CompileAST(prg, false); err == nil {
		return nil
	}
	var ce *goja.CompilerSyntaxError
	if errors.As(err, &ce) && ce.File != nil {
		p := ce.File.Position(ce.Offset)
		return s.faultAt(p.Line, p.Column, "syntax error: "+explained(ce.Message))
	}
	return s.fault(0, 0, "syntax error: "+err.Error())
}

// rewrite changes a program where the engine is wrong, or could be kept busy.
// The error is told at the position.
func (s *source) rewrite(prg *ast.Program, text string) (file.Idx, error) {
	if at, err := s.rewritePatterns(prg, text); err != nil {
		return at, err
	}
	if s.needs.bigints || s.needs.syntax {
		if at, ok := guardOperators(prg, s.needs); !ok {
			return at, errOperator
		}
	}
	return 0, nil
}

func (s *source) decode() (err error) {
	if s.data, err = wire.Decode(s.text); err != nil {
		var e *engine.Error
		errors.As(err, &e)
		var line, column int
		_, _ = fmt.Sscanf(e.Message, "malformed JSON at line %d, column %d", &line, &column)
		_, why, _ := strings.Cut(e.Message, ": ")
		return s.fault(line, column, "malformed JSON: "+why)
	}
	return nil
}

const endsEarly = "the text ends too early"

// syntaxFault tells what the parser found in the wrapped text. What it found in
// the wrapper's tail is an end that came too early.
func (s *source) syntaxFault(err error, text string) *LoadError {
	var list parser.ErrorList
	if !errors.As(err, &list) || len(list) == 0 {
		return s.fault(0, 0, "syntax error: "+err.Error())
	}
	p := list[0].Position
	lines := strings.Split(strings.TrimRight(text, " \t\r\n"), "\n")
	if last := len(lines); p.Line > strings.Count(text, "\n")+1 {
		return s.faultAt(last, len(lines[last-1])+1, "syntax error: "+endsEarly)
	}
	if p.Line == 1 {
		p.Column = max(1, p.Column-len(wrapperHead))
	}
	return s.faultAt(p.Line, p.Column, "syntax error: "+list[0].Message)
}

// faultAt is for positions as the engine has them.
func (s *source) faultAt(line, column int, message string) *LoadError {
	line, column = s.place(line, column)
	return s.fault(line, column, message)
}

func (s *source) fault(line, column int, message string) *LoadError {
	return &LoadError{File: s.file, Line: line, Column: column, Source: s.line(line), Excerpt: excerpt(string(s.text), line, column), Message: message}
}

// line returns a line of the file without the space around it, cut to 160
// characters.
func (s *source) line(n int) string {
	lines := strings.Split(string(s.text), "\n")
	if n < 1 || n > len(lines) {
		return ""
	}
	line := []rune(strings.TrimSpace(lines[n-1]))
	if len(line) > 160 {
		line = append(line[:160], '…')
	}
	return string(line)
}

// preludeFile names source text of our own in stacks; it is left out of them.
const preludeFile = "restsrv:prelude"

// preludeFunctions lists the constructors that make functions of text.
const preludeFunctions = "[Function, (async () => 1).constructor, (function* () {}).constructor]"

// prelude compiles source text of our own, once.
func (c *cache) prelude(text string) (*goja.Program, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.byPath[text]; s != nil {
		return s.program, nil
	}
	program, err := goja.Compile(preludeFile, text, false)
	if err != nil {
		return nil, err
	}
	c.byPath[text] = &source{file: preludeFile, program: program}
	return program, nil
}
