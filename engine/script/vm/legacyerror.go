package vm

import (
	"github.com/dop251/goja"

	"restsrv/engine"
)

// ancestorError is the code of an error of IONDV, with a function that returns the parameters of its message.
type ancestorError struct {
	code   string
	params func(e *engine.Error) engine.Fields
}

// ancestorErrors maps the Reason of an engine.Error to the error that services written for IONDV expect.
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

// setLegacyCode adds the members code, params and getMessage to o, the JavaScript Error for e. It does so only for
// services that are based on IONDV's Service class, because these check the codes of IONDV. If the script has
// required IonError, o becomes an instance of it. The message of o does not change.
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
