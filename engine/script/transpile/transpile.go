// Package transpile turns TypeScript, ES modules and syntax that the engine
// does not know into the text of a CommonJS module that it does. It owns the
// compiler (esbuild) and the maps from what it makes back to what was written;
// it also rewrites property classes of regular expressions. It is not for
// finding files, nor for deciding which of them need it: engine/script.
package transpile

import (
	"encoding/json"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/evanw/esbuild/pkg/api"
)

// Input is one file.
type Input struct {
	File string // name for people, with forward slashes
	Text string // without byte order mark and #! line
	Head string // goes before the code, on a line of its own
	Tail string // goes after it
	Ours string // the file that positions within code of the compiler's own are told in
}

// Output is what a file was turned into.
type Output struct {
	Text string
	Map  Map // from positions in Text to those in the file
}

// Fault is why a file cannot be turned into anything. Column counts UTF-16
// units, from 1.
type Fault struct {
	Line, Column int
	Message      string
}

// Error is the message alone.
func (f *Fault) Error() string { return f.Message }

// Always reports whether the engine is never given a file of that name as it
// is. Of others it is asked first whether it can parse them.
func Always(file string) bool { return typeScript(file) || path.Ext(file) == ".mjs" }

func typeScript(file string) bool {
	switch path.Ext(file) {
	case ".ts", ".mts", ".cts":
		return true
	}
	return false
}

// lowered lists syntax that the engine lacks though it has the rest of ES2022.
// What regular expressions lack stays, to be refused by the engine with its
// place, instead of becoming a call that fails when it runs.
var lowered = map[string]bool{
	"async-generator": false, "for-await": false, "using": false, "decorators": false, "dynamic-import": false,
	"import-attributes": false, "hashbang": false,
	"regexp-set-notation": true, "regexp-match-indices": true, "regexp-unicode-property-escapes": true,
}

// config is the tsconfig.json of all files: none on disk is read.
const config = `{"compilerOptions":{"target":"ES2022","useDefineForClassFields":true}}`

// Transform turns a file into a CommonJS module. The error is a *Fault.
func Transform(in Input) (Output, error) {
	r, err := run(in)
	if err != nil {
		return Output{}, err
	}
	m, err := mapOf(r.Map, in)
	if err != nil {
		return Output{}, &Fault{Message: "the map of positions cannot be made: " + err.Error()}
	}
	head := in.Head
	if ext := path.Ext(in.File); ext == ".mjs" || ext == ".mts" || ModuleSyntax(in.Text) >= 0 {
		head += `"use strict";` // as modules are
	}
	return Output{Text: head + "\n" + string(r.Code) + in.Tail, Map: m}, nil
}

// patience is how long one file may take. Few milliseconds are usual.
const patience = 5 * time.Second

// run asks the compiler. It cannot be stopped: when it takes too long, it goes
// on in vain.
func run(in Input) (api.TransformResult, error) {
	loader := api.LoaderJS
	if typeScript(in.File) {
		loader = api.LoaderTS
	}
	done := make(chan api.TransformResult, 1)
	go func() {
		done <- api.Transform(in.Text, api.TransformOptions{
			Loader: loader, Format: api.FormatCommonJS, Target: api.ES2022, Supported: lowered, TsconfigRaw: config,
			Sourcemap: api.SourceMapExternal, SourcesContent: api.SourcesContentExclude, Sourcefile: "module", LogLimit: 1,
			MinifyWhitespace: true, // the indentation of nested statements could be far longer than they are
			Charset:          api.CharsetASCII, LegalComments: api.LegalCommentsNone, Define: metaOf(in),
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

// ModuleSyntax returns where text seems to import or export, -1 for nowhere. It
// may be misled by what stands in long texts.
func ModuleSyntax(text string) int {
	if at := moduleSyntax.FindStringIndex(text); at != nil {
		return at[0]
	}
	return -1
}

// metaOf says what import.meta holds.
func metaOf(in Input) map[string]string {
	if !strings.Contains(in.Text, "import.meta") {
		return nil
	}
	name, _ := json.Marshal("file:///" + in.File)
	return map[string]string{
		"import.meta.url": string(name), "import.meta.main": "false",
		"import.meta.filename": "__filename", "import.meta.dirname": "__dirname",
	}
}

// awaitText is how the compiler refuses an await outside of functions.
const awaitText = "Top-level await"

func faultOf(m api.Message) *Fault {
	f := &Fault{Message: "syntax error: " + m.Text}
	if strings.HasPrefix(m.Text, awaitText) {
		f.Message = "await outside of functions is not supported: a service may wait in an async _route, any module in a function that it exports"
	}
	if at := m.Location; at != nil {
		f.Line, f.Column = at.Line, Units(at.LineText, at.Column)+1
	}
	return f
}
