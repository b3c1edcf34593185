package script

import (
	"context"
	"log/slog"
	"strings"

	"github.com/dop251/goja"
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

// logText joins arguments: text as it is, errors with their stack, anything
// else as JSON.
func (h *host) logText(args []goja.Value) string {
	var b strings.Builder
	for i, a := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(h.logValue(a))
		if b.Len() > maxLogText {
			return strings.ToValidUTF8(b.String()[:maxLogText], "") + "…"
		}
	}
	return b.String()
}

func (h *host) logValue(v goja.Value) (s string) {
	o, ok := v.(*goja.Object)
	if !ok {
		return v.String()
	}
	if o.ClassName() == "Error" {
		return h.v.describeThrown(o, nil).Error()
	}
	if _, callable := goja.AssertFunction(o); callable {
		return "[function]"
	}
	defer func() {
		x := recover()
		if bad, ok := x.(errResult); ok {
			s = "[" + string(bad) + "]"
		} else if x != nil {
			panic(x)
		}
	}()
	w := writer{h: h, size: 2 * maxLogText, deep: maxArgumentDepth}
	if !w.value(o) {
		return "undefined"
	}
	return string(w.buf)
}
