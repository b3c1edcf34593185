package script

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"

	"github.com/dop251/goja"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/parser"

	"restsrv/engine"
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
}

// cache keeps the last compiled content of each file, for all services.
type cache struct {
	mu     sync.Mutex
	byPath map[string]*source
}

func newCache() *cache { return &cache{byPath: map[string]*source{}} }

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
	s := &source{file: file, path: path, hash: hash, text: text}
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
// where they are; placed takes its length off columns of that line.
const (
	wrapperHead = "(function(exports,require,module,__filename,__dirname){"
	wrapperTail = "\n})"
)

func placed(line, column int) (int, int) {
	if line == 1 {
		column = max(1, column-len(wrapperHead))
	}
	return line, column
}

const laterText = " come with a later version: write CommonJS, module.exports = ... and require(...)"

func (s *source) compile() error {
	if strings.HasSuffix(s.path, ".json") {
		return s.decode()
	}
	for _, ext := range []string{".ts", ".mts", ".cts", ".mjs"} {
		if strings.HasSuffix(s.path, ext) {
			return s.fault(0, 0, "TypeScript and ES modules"+laterText)
		}
	}
	text := string(bytes.TrimPrefix(s.text, []byte("\ufeff")))
	if strings.HasPrefix(text, "#!") {
		text = "//" + text[2:]
	}
	if line, column := tooDeep(text); line > 0 {
		return s.fault(line, column, fmt.Sprintf("brackets are nested deeper than %d", maxBrackets))
	}
	if line, column := tooTangled(text); line > 0 {
		return s.fault(line, column, fmt.Sprintf("an expression has more than %d terms", maxTerms))
	}
	s.needs = findNeeds(text)
	prg, err := parser.ParseFile(nil, s.file, wrapperHead+text+wrapperTail, 0, parser.WithDisableSourceMaps)
	if err == nil && (s.needs.bigints || s.needs.syntax) {
		if at, ok := guardOperators(prg, s.needs); !ok {
			p := prg.File.Position(int(at) - 1)
			line, column := placed(p.Line, p.Column)
			return s.fault(line, column, errOperator.Error())
		}
	}
	if err == nil {
		s.program, err = goja.CompileAST(prg, false)
	}
	if err != nil {
		return s.syntaxFault(err, text)
	}
	return nil
}

func (s *source) decode() (err error) {
	if s.data, err = wire.Decode(s.text); err != nil {
		var e *engine.Error
		errors.As(err, &e)
		var line, column int
		_, _ = fmt.Sscanf(e.Message, "malformed JSON at line %d, column %d", &line, &column)
		return s.fault(line, column, e.Message)
	}
	return nil
}

var moduleSyntax = regexp.MustCompile(`(?m)^[ \t]*(import\b[^(.\n]|export\b)`)

func (s *source) syntaxFault(err error, text string) error {
	if at := moduleSyntax.FindStringIndex(text); at != nil {
		line, column := wire.Position([]byte(text), at[0])
		return s.fault(line, column, "import and export"+laterText)
	}
	var list parser.ErrorList
	if errors.As(err, &list) && len(list) > 0 {
		return s.syntaxFaultAt(list[0].Position, list[0].Message, text)
	}
	var ce *goja.CompilerSyntaxError
	if errors.As(err, &ce) && ce.File != nil {
		return s.syntaxFaultAt(ce.File.Position(ce.Offset), ce.Message, text)
	}
	return s.fault(0, 0, "syntax error: "+err.Error())
}

// syntaxFaultAt tells a fault at a position in the wrapped text. What the
// parser finds in the wrapper's tail is an end that came too early.
func (s *source) syntaxFaultAt(p file.Position, message, text string) error {
	lines := strings.Split(strings.TrimRight(text, " \t\r\n"), "\n")
	if last := len(lines); p.Line > strings.Count(text, "\n")+1 {
		return s.fault(last, len(lines[last-1])+1, "syntax error: the text ends too early")
	}
	line, column := placed(p.Line, p.Column)
	return s.fault(line, column, "syntax error: "+message)
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

// maxBrackets bounds the nesting of source text: the compiler recurses, and a
// Go stack that overflows ends the process.
const maxBrackets = 5000

// tooDeep returns where unclosed brackets exceed maxBrackets, 0 when they
// never do. Brackets inside text and comments count too: it is an alarm, not a
// parser.
func tooDeep(text string) (line, column int) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '(', '[', '{':
			if depth++; depth > maxBrackets {
				return wire.Position([]byte(text), i)
			}
		case ')', ']', '}':
			if depth > 0 {
				depth--
			}
		}
	}
	return 0, 0
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
