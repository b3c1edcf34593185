package script

import (
	"context"
	"log/slog"
	"strings"

	"github.com/dop251/goja"

	"restsrv/engine/script/platform"
)

// maxLogText bounds one line of a script's log, in bytes.
const maxLogText = 8 << 10

// maxLogged bounds what a script may log about one request, in bytes, where
// every line costs lineCost besides its text.
const (
	maxLogged = 64 << 10
	lineCost  = 64
)

// console makes the object behind console and log: every line carries the
// service and the request. A request that logs more than maxLogged gets one
// line more, which says so.
func (h *host) console() goja.Value {
	o := h.js.NewObject()
	for _, m := range []struct {
		name  string
		level slog.Level
	}{
		{"log", slog.LevelInfo}, {"info", slog.LevelInfo}, {"warn", slog.LevelWarn}, {"error", slog.LevelError},
		{"debug", slog.LevelDebug}, {"trace", slog.LevelDebug},
	} {
		h.method(o, m.name, func(call goja.FunctionCall) goja.Value {
			if h.v.gen.log.Enabled(context.Background(), m.level) {
				h.logLine(m.level, "", call.Arguments...)
			}
			return goja.Undefined()
		})
	}
	return o
}

// logLine writes text, and values after it, to the log.
func (h *host) logLine(level slog.Level, text string, values ...goja.Value) {
	log, c := h.v.gen.log, h.v.cur
	if c != nil {
		log = log.With("request", c.req.ID)
		if c.logged > maxLogged {
			return
		}
	}
	text += h.logText(values)
	if c != nil {
		if c.logged += len(text) + lineCost; c.logged > maxLogged {
			log.Warn("the script logs more about this request, which is dropped", "limit", maxLogged)
			return
		}
	}
	log.Log(context.Background(), level, text, "from", "script")
}

// logText writes values for people, in one line but for texts and stacks.
func (h *host) logText(args []goja.Value) (text string) {
	if len(args) == 1 && goja.IsString(args[0]) {
		text = args[0].String()
	} else if ex := h.js.Try(func() {
		text = h.world().Format(args, platform.InspectOptions{Depth: 2, OneLine: true, Size: maxLogText})
	}); ex != nil {
		text = "[a value cannot be shown: " + h.v.describeThrown(ex.Value(), ex).Message + "]"
	}
	if len(text) > maxLogText {
		return strings.ToValidUTF8(text[:maxLogText], "") + "…"
	}
	return text
}
