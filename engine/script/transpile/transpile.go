// Package transpile compiles TypeScript, ES modules and recent JavaScript syntax to CommonJS modules that goja can
// run. It wraps the compiler (esbuild), maps positions in compiled code back to the source file, and rewrites
// property escapes of regular expressions. Package module finds the files and decides which of them to compile.
package transpile

import (
	"encoding/json"
	"errors"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/evanw/esbuild/pkg/api"
)

// Input is one source file.
type Input struct {
	File string // name for messages, with forward slashes
	Text string // content without byte order mark and #! line
	Head string // text to insert before the code, on a line of its own
	Tail string // text to append to the code
	Ours string // file name to report for code that the compiler added

	// If Older is true, the compiler also rewrites the syntax of ES2022, such as class fields. goja has faults in
	// this syntax. For example, it cannot parse a field with a value if the name is set, get or async.
	Older bool
}

// Output is a compiled file.
type Output struct {
	Text string
	Map  Map // from positions in Text to positions in the source file

	// Awaits reports that the file has await outside of functions. Text then has AwaitMark in place of these keywords,
	// and the code must run in an async function.
	Awaits bool
}

// Fault is the error for a file that cannot be compiled. Column counts UTF-16 units from 1.
type Fault struct {
	Line, Column int
	Message      string

	await *api.Location // of the keyword, if the fault is an await outside of functions
}

// Error returns the message without the position.
func (f *Fault) Error() string { return f.Message }

// Always reports whether a file with this name must be compiled. Other files are compiled only if goja cannot parse
// them.
func Always(file string) bool { return typeScript(file) || path.Ext(file) == ".mjs" }

func typeScript(file string) bool {
	switch path.Ext(file) {
	case ".ts", ".mts", ".cts":
		return true
	}
	return false
}

// lowered lists syntax for which the compiler does not follow the target ES2022. If the value is false, the compiler
// rewrites the syntax, because goja does not have it. If the value is true, the syntax stays as it is. That is the
// case for kinds of regular expressions that goja does not support: goja reports an error with their position, but
// the compiler would replace them by a call that fails at run time.
var lowered = map[string]bool{
	"async-generator": false, "for-await": false, "using": false, "decorators": false, "dynamic-import": false,
	"import-attributes": false, "hashbang": false,
	"regexp-set-notation": true, "regexp-match-indices": true, "regexp-unicode-property-escapes": true,
}

// config is used as the tsconfig.json for all files. No such file is read from disk.
const config = `{"compilerOptions":{"target":"ES2022","useDefineForClassFields":true}}`

// Transform compiles a file to a CommonJS module. The error is a *Fault.
func Transform(in Input) (Output, error) {
	r, err := runCompiler(in)
	awaits := false
	if f := new(Fault); errors.As(err, &f) && f.await != nil && IsModule(in.File, in.Text) {
		if replaced, ok := replaceAwaits(in, f); ok {
			r, err, awaits = replaced, nil, true
		}
	}
	if err != nil {
		return Output{}, err
	}
	m, err := mapOf(r.Map, in)
	if err != nil {
		return Output{}, &Fault{Message: "the map of positions cannot be made: " + err.Error()}
	}
	head := in.Head
	if IsModule(in.File, in.Text) {
		head += `"use strict";` // ES modules are always strict
	}
	return Output{Text: head + "\n" + string(r.Code) + in.Tail, Map: m, Awaits: awaits}, nil
}

// AwaitMark stands in place of the keyword await outside of functions, which the compiler refuses in CommonJS modules. It
// has the same length and precedence, and source texts do not contain it.
const AwaitMark = "~-~-~"

// maxTopAwaits is the maximum number of such keywords in a file. The compiler reports one at a time.
const maxTopAwaits = 200

// replaceAwaits compiles a file after it has replaced each await outside of functions by AwaitMark. f is the fault for
// the first of them. It returns false if the result is not valid.
func replaceAwaits(in Input, f *Fault) (api.TransformResult, bool) {
	if strings.Contains(in.Text, AwaitMark) {
		return api.TransformResult{}, false
	}
	for range maxTopAwaits {
		text, ok := replaceAwait(in.Text, f.await)
		if !ok {
			break
		}
		in.Text = text
		r, err := runCompiler(in)
		if err == nil {
			return r, true
		}
		if !errors.As(err, &f) || f.await == nil {
			break
		}
	}
	return api.TransformResult{}, false
}

// loopAwait matches a text before the await of a loop, which is no operator.
var loopAwait = regexp.MustCompile(`\bfor\s*$`)

// replaceAwait replaces the keyword at a position. It returns false if there is no operator await.
func replaceAwait(text string, at *api.Location) (string, bool) {
	start := 0
	for range at.Line - 1 {
		n := strings.IndexByte(text[start:], '\n')
		if n < 0 {
			return "", false
		}
		start += n + 1
	}
	start += at.Column
	if start > len(text) || !strings.HasPrefix(text[start:], "await") || loopAwait.MatchString(text[:start]) {
		return "", false
	}
	return text[:start] + AwaitMark + text[start+len(AwaitMark):], true
}

// patience is the time limit for compiling one file, which usually takes a few milliseconds.
const patience = 5 * time.Second

// runCompiler calls the compiler with a time limit. The compiler cannot be stopped: if it exceeds the limit, its
// goroutine continues and the result is discarded.
func runCompiler(in Input) (api.TransformResult, error) {
	loader := api.LoaderJS
	if typeScript(in.File) {
		loader = api.LoaderTS
	}
	target := api.ES2022
	if in.Older {
		target = api.ES2021
	}
	done := make(chan api.TransformResult, 1)
	go func() {
		done <- api.Transform(in.Text, api.TransformOptions{
			Loader: loader, Format: api.FormatCommonJS, Target: target, Supported: lowered, TsconfigRaw: config,
			Sourcemap: api.SourceMapExternal, SourcesContent: api.SourcesContentExclude, Sourcefile: "module", LogLimit: 1,
			MinifyWhitespace: true, // the indentation of nested statements could be far longer than the statements
			Charset:          api.CharsetASCII, LegalComments: api.LegalCommentsNone, Define: replacements(in),
		})
	}()
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case r := <-done:
		if len(r.Errors) > 0 {
			return r, faultOf(r.Errors[0])
		}
		return r, nil
	case <-t.C:
		return api.TransformResult{}, &Fault{Message: "the compiler takes longer than " + patience.String() + ": make the file shorter, or simpler"}
	}
}

var moduleSyntax = regexp.MustCompile(`(?m)^[ \t]*(import\b[^(.\n]|export\b)`)

// IsModule reports whether a file is an ES module, by its name or its text.
func IsModule(file, text string) bool {
	ext := path.Ext(file)
	return ext == ".mjs" || ext == ".mts" || ModuleSyntax(text) >= 0
}

// ModuleSyntax returns the offset of the first line that begins like an import or export statement, or -1. It does
// not parse the text, so a line inside a long string may match by mistake.
func ModuleSyntax(text string) int {
	if at := moduleSyntax.FindStringIndex(text); at != nil {
		return at[0]
	}
	return -1
}

// replacements returns the expressions that replace others: those for import.meta.url and the other properties of
// import.meta, and in ES modules, module.require for require. There, the function require is for import statements,
// which the compiler turns into calls of it. At the top level of an ES module, this is undefined.
func replacements(in Input) map[string]string {
	all := map[string]string{}
	if IsModule(in.File, in.Text) {
		all["require"] = "module.require"
		if !typeScript(in.File) {
			all["this"] = "undefined"
		}
	}
	if strings.Contains(in.Text, "import.meta") {
		name, _ := json.Marshal("file:///" + in.File)
		all["import.meta.url"], all["import.meta.main"] = string(name), "false"
		all["import.meta.filename"], all["import.meta.dirname"] = "__filename", "__dirname"
	}
	return all
}

// awaitText is the beginning of the compiler's message if there is an await outside of functions.
const awaitText = "Top-level await"

func faultOf(m api.Message) *Fault {
	f := &Fault{Message: "syntax error: " + m.Text}
	if strings.HasPrefix(m.Text, awaitText) {
		f.await = m.Location
		f.Message = "await outside of functions is not supported here: it can stand in ES modules, except for loops with for await and await using"
	}
	if at := m.Location; at != nil {
		f.Line, f.Column = at.Line, Units(at.LineText, at.Column)+1
	}
	return f
}
