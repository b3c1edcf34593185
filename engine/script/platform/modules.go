package platform

import (
	"embed"
	"maps"
	"path"
	"strings"
	"sync"

	"github.com/dop251/goja"
)

//go:embed modules
var files embed.FS

// module is a built-in module. It is a CommonJS file of the folder modules unless another field is set.
type module struct {
	file   string  // path below modules, without .js
	native builder // builds the value that the file receives as native; nil if it needs none
	build  builder // builds the exports without a file
	own    string  // name of exports that the host provides

	of, member string // the module and the member that are the exports
}

// moduleLists returns the built-in modules by canonical name, without "node:", in one list for each origin. No name
// is in two lists. Names that begin with # are for the files of this package only.
func moduleLists() []map[string]module {
	return []map[string]module{ourModules(), webModules(), intlModules(), nodeModules(), refusedModules(), packageModules(), ancestorModules()}
}

var moduleTable = everyModule()

func everyModule() map[string]module {
	all := map[string]module{}
	for _, list := range moduleLists() {
		maps.Copy(all, list)
	}
	return all
}

// ourModules are the modules of restsrv itself.
func ourModules() map[string]module {
	return map[string]module{"restsrv": {own: "restsrv"}}
}

// webModules implement globals of browsers.
func webModules() map[string]module {
	return map[string]module{
		"#encoding": {file: "encoding", native: decoderNative},
		"#url":      {file: "weburl", native: urlNative},
		"#headers":  {file: "headers"},
		"#body":     {file: "body", native: fetchNative},
		"#fetch":    {file: "fetch", native: fetchNative},
		"#event":    {file: "event", native: eventNative},
	}
}

// momentLocales are the locales of moment besides English. They are those of Intl, and Portuguese in both spellings.
var momentLocales = []string{"de", "en-gb", "es", "fr", "it", "ja", "pt", "pt-br", "ru", "zh-cn"}

// packageModules are npm packages that services use. The folder moment contains the package moment, unchanged; it
// loads a locale when a script first uses it.
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

// canonicalName returns the name that a module is listed under: node:path is path, @iondv/core/IonError is
// core/IonError. The suffix .js is optional.
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

// HasModule reports whether a built-in module with this name exists.
func HasModule(name string) bool {
	name, ok := canonicalName(name)
	return ok && name[0] != '#'
}

// Made returns the exports of a built-in module that was required before, or nil. The name must be canonical.
func (p *Platform) Made(name string) goja.Value {
	if m, ok := p.modules[name].(*goja.Object); ok {
		return m.Get("exports")
	}
	return nil
}

// Module returns the exports of a built-in module. The first call makes them. It returns nil if HasModule returns
// false for the name.
func (p *Platform) Module(name string) goja.Value {
	name, ok := canonicalName(name)
	if !ok {
		return nil
	}
	if m := p.modules[name]; m != nil {
		return m.(*goja.Object).Get("exports")
	}
	record := p.js.NewObject()
	p.modules[name] = record // in a cycle, require returns the exports made so far
	done := false
	defer func() {
		if !done {
			delete(p.modules, name) // a module that threw is evaluated again at the next call
		}
	}()
	switch m := moduleTable[name]; {
	case m.own != "":
		_ = record.Set("exports", p.host.Own(m.own))
	case m.build != nil:
		_ = record.Set("exports", m.build(p))
	case m.of != "":
		_ = record.Set("exports", p.Module(m.of).(*goja.Object).Get(m.member))
	default:
		p.runModule(m, record)
	}
	done = true
	return record.Get("exports")
}

// texts caches the texts of files.
var texts sync.Map

// readModule returns the text of a file of a module, wrapped in a function with the parameters of a CommonJS module.
func readModule(file string) string {
	if text, ok := texts.Load(file); ok {
		return text.(string)
	}
	text, err := files.ReadFile("modules/" + file + ".js")
	if err != nil {
		panic(err) // the files are embedded, so this cannot fail
	}
	wrapped := "(function(exports,require,module,native){" + string(text) + "\n})"
	texts.Store(file, wrapped)
	return wrapped
}

// runModule evaluates the file of a module.
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

// must panics with an error of the engine. In a callback of the engine, this throws it.
func must(err error) {
	if err == nil {
		return
	}
	if ex, ok := err.(*goja.Exception); ok {
		panic(ex)
	}
	panic(err)
}
