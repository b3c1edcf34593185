package script

import (
	"errors"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/dop251/goja"

	"restsrv/engine/script/js"
	"restsrv/engine/script/module"
)

// runModule runs a file as a CommonJS module and returns its exports. A VM runs each file once. If modules require
// each other in a cycle, a module that is still running has incomplete exports.
func (h *host) runModule(src *module.Source) (goja.Value, error) {
	if m := h.modules[src.Path]; m != nil {
		return h.GetProperty(m, "exports")
	}
	m := h.JS.NewObject()
	if src.Program == nil {
		_ = m.Set("exports", h.FromDecoded(src.Data))
		h.modules[src.Path] = m
		return m.Get("exports"), nil
	}
	exports := h.JS.NewObject()
	_ = m.Set("exports", exports)
	_ = m.Set("id", src.File)
	_ = m.Set("filename", src.File)
	h.modules[src.Path] = m
	h.guards.ProvideBuiltins(src.Needs)
	h.guards.KnowPatterns(src.Patterns)
	wrapper, err := h.JS.RunProgram(src.Program)
	if err != nil {
		delete(h.modules, src.Path)
		return nil, err
	}
	run, _ := goja.AssertFunction(wrapper)
	dir := filepath.ToSlash(filepath.Dir(src.File))
	require := h.requireFunction(src)
	if src.ES {
		_ = m.DefineDataProperty("require", require, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
		if h.Service.Files.ImportsAsNode(src) {
			require = h.importFunction(src)
		}
	}
	args := []goja.Value{exports, require, m, h.JS.ToValue(src.File), h.JS.ToValue(dir)}
	if src.Declared != nil {
		args = append(args, h.newProbe(src))
	}
	var this goja.Value = exports
	if src.ES {
		this = goja.Undefined()
	}
	result, err := run(this, args...)
	if err != nil {
		delete(h.modules, src.Path)
		return nil, err
	}
	if src.Async {
		h.evaluations[src.Path], _ = js.PromiseOf(result)
	}
	return h.GetProperty(m, "exports")
}

// requireFunction returns the function require for one file, from.
func (h *host) requireFunction(from *module.Source) goja.Value {
	f := h.NewFunction("require", func(call goja.FunctionCall) goja.Value {
		src, exports := h.loadRequired(call, from)
		if o, ok := exports.(*goja.Object); ok && src != nil && src.ES {
			// An ES module can name the value that require returns.
			if v, err := h.GetProperty(o, "module.exports"); err == nil && !goja.IsUndefined(v) {
				return v
			}
		}
		return exports
	})
	if from.AsksRequire {
		h.extendRequire(f, from)
	}
	return f
}

// namespaceSource is a function that returns the object that an import statement gets for a CommonJS module with the
// mark __esModule: its default is module.exports.
const namespaceSource = `(function (exports) {
	const o = Object.defineProperty({ default: exports }, '__esModule', { value: true });
	for (const k of Object.keys(exports)) if (k !== 'default' && k !== '__esModule') Object.defineProperty(o, k, { enumerable: true, get: () => exports[k] });
	return o;
})`

// importFunction returns the function that import statements call in the file from, if they work as in Node.js; see
// module.Files.ImportsAsNode.
func (h *host) importFunction(from *module.Source) goja.Value {
	return h.NewFunction("require", func(call goja.FunctionCall) goja.Value {
		src, exports := h.loadRequired(call, from)
		if src == nil || src.ES || src.Program == nil || h.Service.Files.HasTwin(src) {
			return exports
		}
		found, ok := exports.(*goja.Object)
		if !ok {
			return exports
		}
		if marked, err := h.GetProperty(found, "__esModule"); err != nil || !marked.ToBoolean() {
			return exports
		}
		run, _ := goja.AssertFunction(h.RunPrelude(namespaceSource))
		o, err := run(goja.Undefined(), exports)
		js.Must(err)
		return o
	})
}

// loadRequired returns the exports of the module that a call of require stands for, and its file, which is nil for a
// built-in module.
func (h *host) loadRequired(call goja.FunctionCall, from *module.Source) (*module.Source, goja.Value) {
	src, builtin := h.findRequired(call, from)
	if src == nil {
		return nil, h.builtinModule(builtin)
	}
	exports, err := h.runModule(src)
	if err != nil {
		panic(js.Rethrow(err))
	}
	if p := h.evaluations[src.Path]; p != nil {
		h.checkEvaluation(src, from, p)
	}
	return src, exports
}

// findRequired returns the file that a call of require stands for. If it stands for a built-in module, findRequired
// returns nil and the name of that module. It throws if the module is missing.
func (h *host) findRequired(call goja.FunctionCall, from *module.Source) (*module.Source, string) {
	name, ok := call.Argument(0).Export().(string)
	if !ok || name == "" {
		panic(h.JS.NewTypeError("require takes the name of a module"))
	}
	resume := h.Clock.Pause()
	src, builtin, err := h.Service.Files.FindModule(name, from)
	resume()
	if err != nil {
		panic(h.loadFault(err, from))
	}
	return src, builtin
}

// extendRequire adds to a function require the members that it has in Node.js, such as resolve. It is called only for
// files that use them.
func (h *host) extendRequire(f *goja.Object, from *module.Source) {
	h.Method(f, "resolve", func(call goja.FunctionCall) goja.Value {
		src, builtin := h.findRequired(call, from)
		if src == nil {
			return h.JS.ToValue(builtin)
		}
		return h.JS.ToValue(src.File)
	})
	getter := h.NewFunction("get cache", func(goja.FunctionCall) goja.Value {
		panic(h.NewError("require.cache is not supported: a file that changes is loaded anew with all that use it", "UNSUPPORTED"))
	})
	_ = f.DefineAccessorProperty("cache", getter, nil, goja.FLAG_FALSE, goja.FLAG_FALSE)
	extensions := h.JS.NewObject() // packages add functions for files of their own, which require does not call
	for _, name := range []string{".js", ".json"} {
		_ = extensions.Set(name, h.NewFunction(name, func(goja.FunctionCall) goja.Value {
			panic(h.NewError("require.extensions['"+name+"'] is not supported: use require", "UNSUPPORTED"))
		}))
	}
	_ = f.Set("extensions", extensions)
}

// createRequire implements createRequire(path) of the module "module". path is a path or a file URL in the application
// directory, such as import.meta.url.
func (h *host) createRequire(call goja.FunctionCall) goja.Value {
	name := call.Argument(0).String()
	if u, err := url.Parse(name); err == nil && u.Scheme == "file" {
		name = u.Path
	}
	return h.requireFunction(h.Service.Files.At(name))
}

// loadFault returns the error that require throws if the file from cannot load a module. If another file has a fault,
// for example the module itself, the error contains the position in that file. Otherwise the module is missing, and the
// error contains the position of the call.
func (h *host) loadFault(err error, from *module.Source) goja.Value {
	var e *module.LoadError
	if errors.As(err, &e) && e.File != from.File {
		o := h.NewError(e.Error(), "MODULE_INVALID")
		h.AttachError(o, e)
		return o
	}
	if strings.HasPrefix(e.Message, module.NotFound) {
		return h.NewError(e.Message, "MODULE_NOT_FOUND")
	}
	return h.NewError("cannot find module: "+e.Message, "MODULE_NOT_FOUND")
}

// builtinModule returns the exports of a built-in module, or nil if no such module exists.
func (h *host) builtinModule(name string) goja.Value { return h.EnsurePlatform().Module(name) }

// defaultExport returns the default export of an ES module. If the module has no default export or is not an ES
// module, it returns all exports.
func (h *host) defaultExport(exports goja.Value) (goja.Value, error) {
	o, ok := exports.(*goja.Object)
	if !ok {
		return exports, nil
	}
	marked, err := h.GetProperty(o, "__esModule")
	if err != nil || !marked.ToBoolean() {
		return exports, err
	}
	v, err := h.GetProperty(o, "default")
	if err != nil || goja.IsUndefined(v) {
		return exports, err
	}
	return v, nil
}
