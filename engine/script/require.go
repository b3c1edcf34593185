package script

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/dop251/goja"
)

// module runs a file as a CommonJS module, once per VM, and returns its
// exports. A module that is required while it runs, by a cycle, is seen as far
// as it got.
func (h *host) module(src *source) (goja.Value, error) {
	if m := h.modules[src.path]; m != nil {
		return h.get(m, "exports")
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
	h.provide(src.needs)
	wrapper, err := h.js.RunProgram(src.program)
	if err != nil {
		delete(h.modules, src.path)
		return nil, err
	}
	run, _ := goja.AssertFunction(wrapper)
	dir := filepath.ToSlash(filepath.Dir(src.file))
	_, err = run(exports, exports, h.require(src), m, h.js.ToValue(src.file), h.js.ToValue(dir))
	if err != nil {
		delete(h.modules, src.path)
		return nil, err
	}
	return h.get(m, "exports")
}

// get reads a property that may be a getter.
func (h *host) get(o *goja.Object, name string) (v goja.Value, err error) {
	if ex := h.js.Try(func() { v = o.Get(name) }); ex != nil {
		return nil, ex
	}
	if v == nil {
		v = goja.Undefined()
	}
	return v, nil
}

// require makes the require function of one file.
func (h *host) require(from *source) goja.Value {
	return h.native("require", func(call goja.FunctionCall) goja.Value {
		name, ok := call.Argument(0).Export().(string)
		if !ok || name == "" {
			panic(h.js.NewTypeError("require takes the name of a module"))
		}
		if exports := h.world().Module(name); exports != nil {
			return exports
		}
		switch {
		case !strings.HasPrefix(name, "./") && !strings.HasPrefix(name, "../") && name != "." && name != "..":
			panic(h.newError("cannot find module "+quoted(name)+": scripts can require "+quoted("restsrv")+
				", \"modules/rest/lib/interfaces/Service\" and files that begin with ./ or ../", "MODULE_NOT_FOUND"))
		}
		src, err := h.v.gen.files.open(filepath.Join(filepath.Dir(from.path), filepath.FromSlash(name)), name, from.file)
		if err != nil {
			panic(h.loadFault(err, from))
		}
		exports, err := h.module(src)
		if err != nil {
			panic(rethrow(err))
		}
		return exports
	})
}

// loadFault is what require throws for a file that cannot be used: a fault in
// that file keeps its own position, a missing file has that of the call.
func (h *host) loadFault(err error, from *source) goja.Value {
	var e *LoadError
	if errors.As(err, &e) && e.File != from.file {
		o := h.newError(e.Error(), "MODULE_INVALID")
		h.hide(o, e)
		return o
	}
	return h.newError("cannot find module: "+e.Message, "MODULE_NOT_FOUND")
}

// rethrow returns what to panic with so that the engine goes on throwing err.
func rethrow(err error) any {
	var ex *goja.Exception
	if errors.As(err, &ex) {
		return ex
	}
	return err
}
