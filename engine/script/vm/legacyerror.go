package vm

import (
	"github.com/dop251/goja"

	"restsrv/engine"
)

// ancestorError describes an error of IONDV.
type ancestorError struct {
	code   string
	params func(e *engine.Error) engine.Fields
}

// ancestorErrors maps the reasons of restsrv's errors to the errors that services written for IONDV check for.
var ancestorErrors = map[string]ancestorError{
	"unknown-object": {"data-repo.inf", func(e *engine.Error) engine.Fields {
		return engine.Fields{{Name: "info", Value: e.Class + "@" + e.ID}}
	}},
	"duplicate": {"data-repo.exists", func(e *engine.Error) engine.Fields {
		return engine.Fields{{Name: "class", Value: e.Class}, {Name: "attr", Value: e.Attribute}}
	}},
	"required": {"data-repo.mr", func(e *engine.Error) engine.Fields {
		return engine.Fields{{Name: "info", Value: e.Attribute}}
	}},
	"unknown-class": {"meta-repo.nc", func(e *engine.Error) engine.Fields {
		return engine.Fields{{Name: "class", Value: e.Class}}
	}},
	"denied": {"data-repo.noperm", func(*engine.Error) engine.Fields { return engine.Fields{} }},
}

// setLegacyCode gives an error of a repository the code that services based on IONDV's Service class expect. If the
// script has required IonError, the error becomes an instance of it. The message does not change.
func (h *VM) setLegacyCode(o *goja.Object, e *engine.Error) {
	known, ok := ancestorErrors[e.Reason]
	if !ok || !h.Service.Legacy {
		return
	}
	_ = o.Set("code", known.code)
	_ = o.Set("params", h.FromDecoded(known.params(e)))
	text := h.JS.ToValue(e.Message)
	h.Method(o, "getMessage", func(goja.FunctionCall) goja.Value { return text })
	if h.Platform == nil {
		return
	}
	if class, ok := h.Platform.Made("core/IonError").(*goja.Object); ok {
		_ = o.SetPrototype(class.Get("prototype").(*goja.Object))
	}
}
