package script

import (
	"github.com/dop251/goja"

	"restsrv/engine"
)

// ancestorError is the error of the ancestor that one of ours is.
type ancestorError struct {
	code   string
	params func(e *engine.Error) engine.Fields
}

// ancestorErrors are those that services of the ancestor look for, by the reason
// of ours.
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

// ancestral makes an error of a repository what services built on the ancestor's
// base look for: it has the ancestor's code, and is an IonError where that has
// been required. The message stays ours.
func (h *host) ancestral(o *goja.Object, e *engine.Error) {
	known, ok := ancestorErrors[e.Reason]
	if !ok || !h.v.gen.legacy {
		return
	}
	_ = o.Set("code", known.code)
	_ = o.Set("params", h.fromDecoded(known.params(e)))
	text := h.js.ToValue(e.Message)
	h.method(o, "getMessage", func(goja.FunctionCall) goja.Value { return text })
	if h.platform == nil {
		return
	}
	if class, ok := h.platform.Made("core/IonError").(*goja.Object); ok {
		_ = o.SetPrototype(class.Get("prototype").(*goja.Object))
	}
}
