package platform

import (
	"compress/gzip"
	"embed"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/dop251/goja"
)

// files contains the built-in modules. Large files of other authors are compressed with gzip -9, and their names end
// with .js.gz.
//
//go:embed modules
var files embed.FS

// module describes a built-in module. Usually, it is a CommonJS file in the folder modules.
type module struct {
	file   string  // path of the file below modules, without .js
	native builder // creates the value of the variable native in the file; nil if the file does not use it
	build  builder // creates the exports, if there is no file
	own    string  // name for Host.Own, if the host provides the exports

	refused refusals // members that throw an error; see nodeModules

	of, member string // the exports are those of the module of, or their member with the name member
}

// moduleLists returns the built-in modules by canonical name (see canonicalName). There is one list for each origin,
// and no name is in two lists. Modules with names that begin with # are for files of this package only; scripts
// cannot require them.
func moduleLists() []map[string]module {
	return []map[string]module{ourModules(), webModules(), intlModules(), nodeModules(), nodeParts(), cryptoModules(), packageModules(), ancestorModules()}
}

var moduleTable = everyModule()

func everyModule() map[string]module {
	all := map[string]module{}
	for _, list := range moduleLists() {
		maps.Copy(all, list)
	}
	return all
}

// ourModules returns the modules of restsrv itself.
func ourModules() map[string]module {
	return map[string]module{"restsrv": {own: "restsrv"}}
}

// webModules returns the modules that implement globals of browsers.
func webModules() map[string]module {
	return map[string]module{
		"#encoding": {file: "encoding", native: decoderNative},
		"#url":      {file: "weburl", native: urlNative},
		"#headers":  {file: "headers"},
		"#body":     {file: "body", native: fetchNative},
		"#fetch":    {file: "fetch", native: fetchNative},
		"#event":    {file: "event", native: eventNative},
		"#streams":  {file: "streams", native: compressionNative},
		"#source":   {file: "source"},
		"#sse":      {file: "sse"},
		"#ponyfill": {file: "streams/ponyfill"},
	}
}

// momentLocales are the locales of moment besides English: those of Intl, and both kinds of Portuguese.
var momentLocales = []string{"de", "en-gb", "es", "fr", "it", "ja", "pt", "pt-br", "ru", "zh-cn"}

// packageModules returns built-in versions of npm packages that services use. The folder moment contains the package
// moment, unchanged; it loads a locale when a script first uses it.
func packageModules() map[string]module {
	all := map[string]module{
		"clone":     {file: "ancestor/clone"},
		"merge":     {file: "ancestor/merge"},
		"is-base64": {file: "ancestor/is-base64"},
		"moment":    {file: "moment/moment"},
	}
	for _, name := range momentLocales {
		all["moment/locale/"+name] = module{file: "moment/locale/" + name}
	}
	return all
}

// canonicalName returns the name of a module in the lists. For example, it returns path for node:path, and
// core/IonError for @iondv/core/IonError.js. It returns false if there is no such module.
func canonicalName(name string) (string, bool) {
	name = strings.TrimSuffix(strings.TrimPrefix(name, "node:"), ".js")
	if _, ok := moduleTable[name]; ok {
		return name, true
	}
	if old, ok := spellingTable[name]; ok {
		return old, true
	}
	if twin, ok := strings.CutPrefix(name, "@iondv/"); ok {
		for _, n := range []string{twin, "modules/" + twin} {
			if _, ok := moduleTable[n]; ok {
				return n, true
			}
		}
	}
	return "", false
}

// HasModule reports whether the name stands for a built-in module. That includes all modules of Node.js.
func HasModule(name string) bool {
	name, ok := canonicalName(name)
	return ok && name[0] != '#'
}

// Made returns the exports of a built-in module if the VM has already run the module, otherwise nil. The name must be
// canonical.
func (p *Platform) Made(name string) goja.Value {
	if m, ok := p.modules[name].(*goja.Object); ok {
		return m.Get("exports")
	}
	return nil
}

// Module returns the exports of a built-in module. The first call runs the module. It returns nil if there is no such
// module.
func (p *Platform) Module(name string) goja.Value {
	name, ok := canonicalName(name)
	if !ok {
		return nil
	}
	if m := p.modules[name]; m != nil {
		return m.(*goja.Object).Get("exports")
	}
	record := p.js.NewObject()
	p.modules[name] = record // if modules require each other in a cycle, require returns the exports so far
	done := false
	defer func() {
		if !done {
			delete(p.modules, name) // a module that has thrown an error runs again at the next call
		}
	}()
	m := moduleTable[name]
	switch {
	case m.own != "":
		_ = record.Set("exports", p.host.Own(m.own))
	case m.build != nil:
		_ = record.Set("exports", m.build(p))
	case m.of != "":
		exports := p.Module(m.of)
		if m.member != "" {
			exports = exports.(*goja.Object).Get(m.member)
		}
		_ = record.Set("exports", exports)
	case m.file != "":
		p.runModule(m, record)
	default:
		_ = record.Set("exports", p.js.NewObject())
	}
	if exports, ok := record.Get("exports").(*goja.Object); ok && m.refused != nil {
		p.addRefused(name, m.refused, exports)
	}
	done = true
	return record.Get("exports")
}

// texts caches the results of readModule, by path of the file.
var texts sync.Map

// readModule returns the text of a file in the folder modules. The text is wrapped in a function with these
// parameters: the variables of a CommonJS module, and native.
func readModule(file string) string {
	if text, ok := texts.Load(file); ok {
		return text.(string)
	}
	text, err := readFile("modules/" + file + ".js")
	if err != nil {
		panic(err) // the files are embedded, so this cannot fail
	}
	wrapped := "(function(exports,require,module,native){" + string(text) + "\n})"
	texts.Store(file, wrapped)
	return wrapped
}

// readFile returns the content of an embedded file. If there is no file of that name, it decompresses the file with .gz
// after its name.
func readFile(name string) ([]byte, error) {
	text, err := files.ReadFile(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return text, err
	}
	packed, err := files.Open(name + ".gz")
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(packed)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// runModule runs the file of a module. record is the object "module" of the file.
func (p *Platform) runModule(m module, record *goja.Object) {
	text := readModule(m.file)
	p.host.Provide(text)
	wrapper, err := p.js.RunProgram(p.host.Program(text))
	must(err)
	run, _ := goja.AssertFunction(wrapper)
	native := goja.Undefined()
	if m.native != nil {
		native = m.native(p)
	}
	exports := p.js.NewObject()
	_ = record.Set("exports", exports)
	require := p.js.ToValue(func(call goja.FunctionCall) goja.Value {
		name := call.Argument(0).String()
		if strings.HasPrefix(name, ".") {
			name = path.Join(path.Dir(m.file), name)
		}
		found := p.Module(name)
		if found == nil {
			panic(p.js.NewTypeError("a built-in module requires one that is not there: " + name))
		}
		return found
	})
	_, err = run(exports, exports, require, record, native)
	must(err)
}

// must panics if err is not nil. In a function that goja calls, this throws the error in the script.
func must(err error) {
	if err == nil {
		return
	}
	if ex, ok := err.(*goja.Exception); ok {
		panic(ex)
	}
	panic(err)
}

// ModuleNames returns the sorted names of the built-in modules that scripts may require.
func ModuleNames() []string {
	names := make([]string, 0, len(moduleTable))
	for name := range moduleTable {
		if !strings.HasPrefix(name, "#") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
