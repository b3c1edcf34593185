package script

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/dop251/goja"
)

// runModule runs a file as a CommonJS module, once per VM, and returns its
// exports. If modules require each other in a cycle, the exports are incomplete
// as long as the module is running.
func (h *host) runModule(src *source) (goja.Value, error) {
	if m := h.modules[src.path]; m != nil {
		return h.getProperty(m, "exports")
	}
	m := h.js.NewObject()
	if src.program == nil {
		_ = m.Set("exports", h.fromDecoded(src.data))
		h.modules[src.path] = m
		return m.Get("exports"), nil
	}
	exports := h.js.NewObject()
	_ = m.Set("exports", exports)
	_ = m.Set("id", src.file)
	_ = m.Set("filename", src.file)
	h.modules[src.path] = m
	h.guards.provideBuiltins(src.needs)
	h.guards.knowPatterns(src.patterns)
	wrapper, err := h.js.RunProgram(src.program)
	if err != nil {
		delete(h.modules, src.path)
		return nil, err
	}
	run, _ := goja.AssertFunction(wrapper)
	dir := filepath.ToSlash(filepath.Dir(src.file))
	args := []goja.Value{exports, h.requireFunction(src), m, h.js.ToValue(src.file), h.js.ToValue(dir)}
	if src.declared != nil {
		args = append(args, h.newProbe(src))
	}
	_, err = run(exports, args...)
	if err != nil {
		delete(h.modules, src.path)
		return nil, err
	}
	return h.getProperty(m, "exports")
}

// requireFunction returns the require function of one file.
func (h *host) requireFunction(from *source) goja.Value {
	f := h.newFunction("require", func(call goja.FunctionCall) goja.Value {
		src, builtin := h.findRequired(call, from)
		if src == nil {
			return h.builtinModule(builtin)
		}
		exports, err := h.runModule(src)
		if err != nil {
			panic(rethrow(err))
		}
		return exports
	})
	if from.asksRequire {
		h.extendRequire(f, from)
	}
	return f
}

// findRequired returns the file, or the name of the built-in module, for a call
// of require. It throws if there is none.
func (h *host) findRequired(call goja.FunctionCall, from *source) (*source, string) {
	name, ok := call.Argument(0).Export().(string)
	if !ok || name == "" {
		panic(h.js.NewTypeError("require takes the name of a module"))
	}
	resume := h.clock.pause()
	src, builtin, err := h.service.files.findModule(name, from)
	resume()
	if err != nil {
		panic(h.loadFault(err, from))
	}
	return src, builtin
}

// extendRequire adds further members of require in Node.js, for files that use
// them.
func (h *host) extendRequire(f *goja.Object, from *source) {
	h.method(f, "resolve", func(call goja.FunctionCall) goja.Value {
		src, builtin := h.findRequired(call, from)
		if src == nil {
			return h.js.ToValue(builtin)
		}
		return h.js.ToValue(src.file)
	})
	for _, name := range []string{"cache", "extensions"} {
		getter := h.newFunction("get "+name, func(goja.FunctionCall) goja.Value {
			panic(h.newError("require."+name+" is not supported: a file that changes is loaded anew with all that use it", "UNSUPPORTED"))
		})
		_ = f.DefineAccessorProperty(name, getter, nil, goja.FLAG_FALSE, goja.FLAG_FALSE)
	}
}

// loadFault returns the error that require throws if a file cannot be loaded.
// If the fault is in another file, the error has the position in that file.
// Otherwise, the file is missing and the error has the position of the call.
func (h *host) loadFault(err error, from *source) goja.Value {
	var e *LoadError
	if errors.As(err, &e) && e.File != from.file {
		o := h.newError(e.Error(), "MODULE_INVALID")
		h.attachError(o, e)
		return o
	}
	if strings.HasPrefix(e.Message, notFound) {
		return h.newError(e.Message, "MODULE_NOT_FOUND")
	}
	return h.newError("cannot find module: "+e.Message, "MODULE_NOT_FOUND")
}

// builtinModule returns the exports of a built-in module, or nil if there is no
// module of that name.
func (h *host) builtinModule(name string) goja.Value { return h.ensurePlatform().Module(name) }

// defaultExport returns the default export of an ES module, or all exports if
// it has none or is not an ES module.
func (h *host) defaultExport(exports goja.Value) (goja.Value, error) {
	o, ok := exports.(*goja.Object)
	if !ok {
		return exports, nil
	}
	marked, err := h.getProperty(o, "__esModule")
	if err != nil || !marked.ToBoolean() {
		return exports, err
	}
	v, err := h.getProperty(o, "default")
	if err != nil || goja.IsUndefined(v) {
		return exports, err
	}
	return v, nil
}
