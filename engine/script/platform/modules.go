package platform

import (
	"embed"
	"io/fs"
	"maps"
	"strings"
	"sync"

	"github.com/dop251/goja"
)

//go:embed modules
var files embed.FS

// module is a built-in module: a CommonJS file of the folder modules, or a
// builder.
type module struct {
	file   string  // within modules, without .js
	native builder // what the file gets as native; nil for nothing
	build  builder // instead of a file
	own    string  // what the host has under this name, instead of a file

	of, member string // the member of another module, instead of a file
}

// moduleLists are the built-in modules by canonical name, without "node:", one
// list for each reason to have them; no name is in two. Those whose name begins
// with # are for our own files alone.
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

// ourModules is what restsrv has under its own name.
func ourModules() map[string]module {
	return map[string]module{"restsrv": {own: "restsrv"}}
}

// webModules are what the globals that browsers have are made of.
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

// packageModules are npm packages that services expect to be there.
func packageModules() map[string]module {
	return map[string]module{
		"clone":          {file: "ancestor/clone"},
		"merge":          {file: "ancestor/merge"},
		"is-base64":      {file: "ancestor/is-base64"},
		"moment":         {file: "moment"},
		"#moment-locale": {file: "moment-locale"},
		"#moment-format": {file: "moment-format"},
		"#moment-span":   {file: "moment-span"},
	}
}

// canonical finds the name that a module is listed under: node:path is path,
// @iondv/core/IonError is core/IonError, and .js may follow.
func canonical(name string) (string, bool) {
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

// HasModule reports whether there is a built-in module of that name.
func HasModule(name string) bool {
	name, ok := canonical(name)
	return ok && name[0] != '#'
}

// Made returns the exports of a built-in module that was asked for before, nil
// otherwise. The name is the canonical one.
func (p *Platform) Made(name string) goja.Value {
	if m, ok := p.modules[name].(*goja.Object); ok {
		return m.Get("exports")
	}
	return nil
}

// Module returns the exports of a built-in module, made when first asked for;
// nil for a name that HasModule does not know.
func (p *Platform) Module(name string) goja.Value {
	name, ok := canonical(name)
	if !ok {
		return nil
	}
	if m := p.modules[name]; m != nil {
		return m.(*goja.Object).Get("exports")
	}
	record := p.js.NewObject()
	p.modules[name] = record // a cycle sees what is there so far
	done := false
	defer func() {
		if !done {
			delete(p.modules, name) // what threw is made anew next time
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
		p.run(m, record)
	}
	done = true
	return record.Get("exports")
}

// texts are the files of modules, each made a function of what a module gets.
var texts = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	err := fs.WalkDir(files, "modules", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := files.ReadFile(path)
		all[strings.TrimSuffix(strings.TrimPrefix(path, "modules/"), ".js")] = "(function(exports,require,module,native){" + string(text) + "\n})"
		return err
	})
	if err != nil {
		panic(err) // the files are in the program
	}
	return all
})

// run evaluates the file of a module.
func (p *Platform) run(m module, record *goja.Object) {
	text := texts()[m.file]
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
		found := p.Module(call.Argument(0).String())
		if found == nil {
			panic(p.js.NewTypeError("a built-in module requires one that is not there: " + call.Argument(0).String()))
		}
		return found
	})
	_, err = run(exports, exports, require, record, native)
	must(err)
}

// must throws what the engine returned.
func must(err error) {
	if err == nil {
		return
	}
	if ex, ok := err.(*goja.Exception); ok {
		panic(ex)
	}
	panic(err)
}
