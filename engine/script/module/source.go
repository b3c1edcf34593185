package module

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
	"restsrv/engine/script/sandbox"
	"restsrv/engine/script/transpile"
	"restsrv/engine/wire"
)

// LoadError is the reason why a version of a service cannot be used.
type LoadError struct {
	File    string // relative to the application directory, with forward slashes
	Line    int    // 1-based; 0 for the whole file
	Column  int
	Source  string // the line of the file, "" if unknown
	Excerpt string // the surrounding lines with numbers and a caret, "" if unknown
	Message string

	byEngine bool // goja has rejected the text; package transpile may produce text that goja accepts
}

// Error returns one line in the form file:line:column: message.
func (e *LoadError) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// Source is one file with the content that a version of a service uses.
type Source struct {
	File    string // path relative to the application directory, for messages
	Path    string // absolute path
	hash    [sha256.Size]byte
	Text    []byte
	Program *goja.Program // of a JavaScript or TypeScript file
	Data    any           // decoded content of a .json file
	Needs   sandbox.Needs

	probed      bool              // the file has a probe (see probe.go), in development mode
	Declared    []Declared        // the variables that the probe covers
	transformed bool              // package transpile has transformed the file
	ES          bool              // the file is an ES module
	Async       bool              // the module waits outside of functions; running it returns a promise
	AsksRequire bool              // the text contains "require.", as in require.resolve
	Patterns    map[string]string // original texts of the rewritten regular expressions, by rewritten text
}

// Cache holds the last compiled content of each file, for all services.
type Cache struct {
	Probes bool // add probes to modules; see probe.go

	mu     sync.Mutex
	byPath map[string]*Source
	needs  map[string]sandbox.Needs // of JavaScript text that is part of restsrv
}

// NewCache returns an empty Cache.
func NewCache() *Cache {
	return &Cache{byPath: map[string]*Source{}, needs: map[string]sandbox.Needs{}}
}

// NeedsOf returns sandbox.FindNeeds for a JavaScript text that is part of restsrv, and caches the result.
func (c *Cache) NeedsOf(text string) sandbox.Needs {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, ok := c.needs[text]
	if !ok {
		n = sandbox.FindNeeds(text)
		c.needs[text] = n
	}
	return n
}

// loadFile reads and compiles a file. path is its absolute path, and file the path relative to the application
// directory. If the content has not changed since the last call, loadFile returns the cached result. The error is a
// *LoadError.
func (c *Cache) loadFile(path, file string, limit int) (*Source, error) {
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
	s := &Source{File: file, Path: path, hash: hash, Text: text, probed: c.Probes}
	if err := s.compileSafely(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.byPath[path] = s
	c.mu.Unlock()
	return s, nil
}

var errNotRegular = errors.New("not a regular file")

// readRegular reads a regular file of at most limit bytes. If the file is larger, it returns only the size. It
// rejects files of other types, because reading from a pipe could block forever. It checks the type before opening
// the file, because opening a pipe or a device can have effects. The file may be replaced in between, so it opens the
// file without blocking and checks the type again.
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
	text, err = io.ReadAll(io.LimitReader(f, int64(limit)+1)) // the file may have grown since Stat
	return text, int64(len(text)), err
}

// Each module is the body of a function, as in Node.js. The wrapper starts on the first line of the file, so that
// line numbers stay the same.
const (
	wrapperHead = "(function(exports,require,module,__filename,__dirname){"
	wrapperTail = "\n})"
)

// compileSafely is compile for files that make the parser or the compiler panic. Files are also compiled outside of
// turns, where a panic would end the process.
func (s *Source) compileSafely() (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = s.newFault(0, 0, fmt.Sprintf("syntax error: the engine cannot compile the file: %v", x))
		}
	}()
	return s.compile()
}

// compile sets Program or Data. It transforms the file only if goja cannot parse it, or if the name requires it (.ts,
// .mjs).
func (s *Source) compile() error {
	if strings.HasSuffix(s.Path, ".json") {
		return s.decodeJSON()
	}
	text := string(bytes.TrimPrefix(s.Text, []byte("\ufeff")))
	if strings.HasPrefix(text, "#!") {
		text = "//" + text[2:]
	}
	if line, column := sandbox.TooDeep(text); line > 0 {
		return s.faultAt(line, column, fmt.Sprintf("brackets are nested deeper than %d", sandbox.MaxBrackets))
	}
	if line, column := sandbox.TooLong(text, false); line > 0 {
		return s.faultAt(line, column, fmt.Sprintf("an expression goes on for more than %d operators", sandbox.MaxChain))
	}
	if transpile.Always(s.Path) {
		return s.transform(text, nil)
	}
	prg, err := parser.ParseFile(nil, s.File, wrapperHead+text+wrapperTail, 0, parser.WithDisableSourceMaps)
	if err != nil {
		return s.transform(text, s.syntaxFault(err, text))
	}
	m, err := transpile.FirstLine(preludeFile, s.File, wrapperHead, text)
	if err != nil {
		return s.newFault(0, 0, err.Error())
	}
	err = s.buildProgram(prg, m, text)
	if f := new(LoadError); errors.As(err, &f) && f.byEngine {
		return s.transform(text, f)
	}
	return err
}

// transform compiles a file that goja cannot compile: package transpile first transforms its text. refused is the error
// with which goja rejected the original text, or nil if goja has not parsed it. If goja also rejects the transformed
// text, the original is transformed again to older syntax (see transpile.Input.Older).
func (s *Source) transform(text string, refused *LoadError) error {
	if line, column := sandbox.TooLong(text, true); line > 0 {
		return s.faultAt(line, column, fmt.Sprintf("an expression or a type goes on for more than %d operators =>, < or dot", sandbox.MaxSteep))
	}
	in := transpile.Input{File: s.File, Text: text, Head: wrapperHead, Tail: wrapperTail, Ours: preludeFile}
	err := s.transformAs(in, refused)
	if f := new(LoadError); !errors.As(err, &f) || !f.byEngine {
		return err
	}
	in.Older = true
	if s.transformAs(in, refused) == nil {
		return nil
	}
	if refused != nil && refused.byEngine {
		s.transformed, s.ES = false, false
		return refused
	}
	return err
}

// transformAs transforms the text of in and compiles the result. See transform for refused.
func (s *Source) transformAs(in transpile.Input, refused *LoadError) error {
	out, err := transpile.Transform(in)
	var f *transpile.Fault
	if errors.As(err, &f) {
		// Both goja and the compiler have rejected the file. If the compiler reports a syntax error at the same or an
		// earlier position, return the error of goja, which is clearer. Messages that restsrv has added to the
		// compiler do not begin with "syntax error" and are returned.
		if refused != nil && strings.HasPrefix(f.Message, "syntax error") && (strings.HasSuffix(refused.Message, endsEarly) || f.Line < refused.Line || f.Line == refused.Line && f.Column <= refused.Column) {
			return refused
		}
		return s.newFault(f.Line, f.Column, f.Message)
	}
	s.transformed, s.ES = true, transpile.IsModule(s.File, in.Text)
	prg, err := parser.ParseFile(nil, s.File, out.Text, 0, parser.WithDisableSourceMaps)
	if err == nil {
		if f := wrapperFunction(prg); f != nil && out.Awaits {
			sandbox.RestoreAwaits(f)
			s.Async = true
		}
		return s.buildProgram(prg, out.Map, out.Text)
	}
	var list parser.ErrorList
	if errors.As(err, &list) && len(list) > 0 {
		line, column := out.Map.Origin(preludeFile, list[0].Position.Line, list[0].Position.Column)
		return engineFault(s.newFault(line, column, "syntax error: "+list[0].Message))
	}
	return engineFault(s.newFault(0, 0, "syntax error: "+err.Error()))
}

// buildProgram rewrites and compiles a parsed program. m maps positions in text to positions in the file.
func (s *Source) buildProgram(prg *ast.Program, m transpile.Map, text string) error {
	prg.File.SetSourceMap(m.Consumer)
	s.Needs = sandbox.FindNeeds(text)
	s.AsksRequire = strings.Contains(text, "require.")
	if at, err := s.rewriteProgram(prg, text); err != nil {
		p := prg.File.Position(int(at) - 1)
		return s.faultAt(p.Line, p.Column, err.Error())
	}
	err := s.addProbe(prg)
	if err != nil {
		return s.newFault(0, 0, err.Error())
	}
	if s.Program, err = goja.CompileAST(prg, false); err == nil {
		return nil
	}
	var ce *goja.CompilerSyntaxError
	if errors.As(err, &ce) && ce.File != nil {
		p := ce.File.Position(ce.Offset)
		return engineFault(s.faultAt(p.Line, p.Column, "syntax error: "+sandbox.ExplainMessage(ce.Message)))
	}
	return engineFault(s.newFault(0, 0, "syntax error: "+err.Error()))
}

// engineFault sets f.byEngine and returns f.
func engineFault(f *LoadError) *LoadError {
	f.byEngine = true
	return f
}

// rewriteProgram rewrites the regular expressions that goja would interpret differently, and the operators and syntax
// that need a guard or a mark. If it fails, it returns the position for the error message.
func (s *Source) rewriteProgram(prg *ast.Program, text string) (file.Idx, error) {
	var at file.Idx
	var err error
	if s.Patterns, at, err = sandbox.RewritePatterns(prg, text); err != nil {
		return at, err
	}
	if at, ok := sandbox.GuardOperators(prg, s.Needs); !ok {
		return at, sandbox.ErrOperator
	}
	return 0, nil
}

func (s *Source) decodeJSON() (err error) {
	if s.Data, err = wire.Decode(s.Text); err != nil {
		var e *engine.Error
		errors.As(err, &e)
		var line, column int
		_, _ = fmt.Sscanf(e.Message, "malformed JSON at line %d, column %d", &line, &column)
		_, why, _ := strings.Cut(e.Message, ": ")
		return s.newFault(line, column, "malformed JSON: "+why)
	}
	return nil
}

const endsEarly = "the text ends too early"

// syntaxFault converts an error of goja's parser, which parses a file together with its module wrapper. If the error is
// in the end of the wrapper, the file ended too early.
func (s *Source) syntaxFault(err error, text string) *LoadError {
	var list parser.ErrorList
	if !errors.As(err, &list) || len(list) == 0 {
		return s.newFault(0, 0, "syntax error: "+err.Error())
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

// faultAt returns an error for a position that goja reported.
func (s *Source) faultAt(line, column int, message string) *LoadError {
	line, column = s.convertPosition(line, column)
	return s.newFault(line, column, message)
}

func (s *Source) newFault(line, column int, message string) *LoadError {
	return &LoadError{File: s.File, Line: line, Column: column, Source: s.LineText(line), Excerpt: Excerpt(string(s.Text), line, column), Message: message}
}

// LineText returns line n of the file without surrounding white space, cut to 160 characters.
func (s *Source) LineText(n int) string {
	lines := strings.Split(string(s.Text), "\n")
	if n < 1 || n > len(lines) {
		return ""
	}
	line := []rune(strings.TrimSpace(lines[n-1]))
	if len(line) > 160 {
		line = append(line[:160], '…')
	}
	return string(line)
}

// preludeFile is the file name that stack traces contain for JavaScript text that is part of restsrv. Lines with this
// name are removed from the traces.
const preludeFile = "restsrv:prelude"

// PreludeProgram compiles JavaScript text that is part of restsrv, and caches the program.
func (c *Cache) PreludeProgram(text string) (*goja.Program, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.byPath[text]; s != nil {
		return s.Program, nil
	}
	program, err := goja.Compile(preludeFile, text, false)
	if err != nil {
		return nil, err
	}
	c.byPath[text] = &Source{File: preludeFile, Program: program}
	return program, nil
}
