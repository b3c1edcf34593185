package script

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/dop251/goja"

	"restsrv/engine/script/platform"
	"restsrv/engine/script/vm"
)

// maxLogged is the maximum size, in bytes, of the lines that a script logs during one request. Each line counts
// lineCost bytes in addition to its text.
const (
	maxLogged = 64 << 10
	lineCost  = 64
)

// consoleState is the state of the object console during one request.
type consoleState struct {
	groups int                  // number of open groups
	counts map[string]int       // counters of console.count, by label
	starts map[string]time.Time // start times of console.time, by label
	logged int                  // size of the logged lines in bytes; see maxLogged
}

// maxLabels is the maximum number of counters, of timers, and of nested groups of one console.
const maxLabels = 100

// console provides the globals console and log.
type console struct {
	*vm.VM
	outside consoleState // state of the VM, used outside of requests
}

// state returns the state of the current request, or the state of the VM outside of requests.
func (h *console) state() *consoleState {
	if h.Call != nil {
		return vm.LocalOf[consoleState](h.Call)
	}
	return &h.outside
}

// object returns the JavaScript object for the globals console and log. Each line in the log contains the service,
// the request and the position of the call in the script. If a request logs more than maxLogged bytes, object logs a
// final warning and drops further lines of the request.
func (h *console) object() goja.Value {
	o := h.JS.NewObject()
	methods := h.MethodsOf(o)
	for _, m := range []struct {
		name  string
		level slog.Level
		write func(goja.FunctionCall) string // returns the text of the line; nil to log the arguments
	}{
		{"log", slog.LevelInfo, nil}, {"info", slog.LevelInfo, nil}, {"warn", slog.LevelWarn, nil}, {"error", slog.LevelError, nil},
		{"debug", slog.LevelDebug, nil}, {"dirxml", slog.LevelInfo, nil}, {"trace", slog.LevelDebug, h.trace},
		{"dir", slog.LevelInfo, h.dir}, {"table", slog.LevelInfo, h.table},
	} {
		methods.Add(m.name, func(call goja.FunctionCall) goja.Value {
			switch {
			case !h.Service.Log.Enabled(context.Background(), m.level):
			case m.write == nil:
				h.logLine(m.level, "", call.Arguments...)
			default:
				h.logLine(m.level, h.tryText(func() string { return m.write(call) }))
			}
			return goja.Undefined()
		})
	}
	for name, f := range map[string]func(goja.FunctionCall){
		"assert": h.assert, "group": h.group, "groupCollapsed": h.group, "groupEnd": h.groupEnd,
		"count": h.count, "countReset": h.countReset,
		"time": h.time, "timeLog": h.timeLog, "timeEnd": h.timeEnd,
		"clear": func(goja.FunctionCall) {},
	} {
		methods.Add(name, func(call goja.FunctionCall) goja.Value {
			f(call)
			return goja.Undefined()
		})
	}
	_ = o.DefineDataPropertySymbol(goja.SymToStringTag, h.JS.ToValue("console"), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	return o
}

// logLine logs a text, followed by values.
func (h *console) logLine(level slog.Level, text string, values ...goja.Value) {
	log, c, s := h.Service.Log, h.Call, h.state()
	if c != nil {
		log = log.With("request", c.Req.ID)
		if s.logged > maxLogged {
			return
		}
	}
	if text += h.logText(values); len(text) > vm.MaxLogText {
		text = strings.ToValidUTF8(text[:vm.MaxLogText], "") + "…"
	}
	if n := s.groups; n > 0 {
		indent := strings.Repeat("  ", n)
		text = indent + strings.ReplaceAll(text, "\n", "\n"+indent)
	}
	if c != nil {
		if s.logged += len(text) + lineCost; s.logged > maxLogged {
			log.Warn("the script exceeded the log limit of this request; its further lines are dropped", "limit", maxLogged)
			return
		}
	}
	log.Log(context.Background(), level, text, "from", "script", "at", h.callerPosition())
}

// callerPosition returns the position of the current call of console in the script.
func (h *console) callerPosition() string {
	frames := h.JS.CaptureCallStack(6, make([]goja.StackFrame, 0, 6))
	var f vm.Failure
	for i := range frames {
		if f.AddFrames(h.VM, frames[i:i+1]); f.File != "" {
			break
		}
	}
	return f.Place()
}

// logText formats values for the log. The result is one line, except for line breaks in strings and stack traces.
func (h *console) logText(args []goja.Value) string {
	switch {
	case len(args) == 0:
		return ""
	case len(args) == 1 && goja.IsString(args[0]):
		return args[0].String()
	}
	return h.tryText(func() string {
		return h.EnsurePlatform().Format(args, platform.InspectOptions{Depth: 2, OneLine: true, Size: vm.MaxLogText})
	})
}

// tryText returns the result of f. If f throws, for example in a getter of a value, it returns a note instead.
func (h *console) tryText(f func() string) (text string) {
	if ex := h.JS.Try(func() { text = f() }); ex != nil {
		return "[a value cannot be shown: " + h.DescribeThrown(ex.Value(), ex).Message + "]"
	}
	return text
}

// trace returns the text for console.trace: the arguments and the current call stack.
func (h *console) trace(call goja.FunctionCall) string {
	f := vm.Failure{Message: "Trace"}
	if len(call.Arguments) > 0 {
		f.Message += ": " + h.logText(call.Arguments)
	}
	f.AddFrames(h.VM, h.JS.CaptureCallStack(vm.MaxFrames, nil))
	return f.Error()
}

func (h *console) dir(call goja.FunctionCall) string {
	return h.EnsurePlatform().InspectWith(call.Argument(0), call.Argument(1), vm.MaxLogText)
}

func (h *console) table(call goja.FunctionCall) string {
	if text := h.EnsurePlatform().Table(call.Argument(0), call.Argument(1)); text != "" {
		return text
	}
	return h.logText(call.Arguments)
}

func (h *console) assert(call goja.FunctionCall) {
	if call.Argument(0).ToBoolean() {
		return
	}
	text := "Assertion failed"
	if len(call.Arguments) > 1 {
		text += ": " + h.logText(call.Arguments[1:])
	}
	h.logLine(slog.LevelError, text)
}

func (h *console) group(call goja.FunctionCall) {
	if len(call.Arguments) > 0 {
		h.logLine(slog.LevelInfo, "", call.Arguments...)
	}
	if s := h.state(); s.groups < maxLabels {
		s.groups++
	}
}

func (h *console) groupEnd(goja.FunctionCall) {
	if s := h.state(); s.groups > 0 {
		s.groups--
	}
}

// labelOf returns the label of a counter or timer: the first argument, or "default" if it is undefined.
func labelOf(call goja.FunctionCall) string {
	if v := call.Argument(0); !goja.IsUndefined(v) {
		return v.String()
	}
	return "default"
}

func (h *console) count(call goja.FunctionCall) {
	s, name := h.state(), labelOf(call)
	if s.counts == nil {
		s.counts = map[string]int{}
	}
	if len(s.counts) < maxLabels || s.counts[name] > 0 {
		s.counts[name]++
	}
	h.logLine(slog.LevelInfo, name+": "+strconv.Itoa(s.counts[name]))
}

func (h *console) countReset(call goja.FunctionCall) {
	delete(h.state().counts, labelOf(call))
}

func (h *console) time(call goja.FunctionCall) {
	s, name := h.state(), labelOf(call)
	if s.starts == nil {
		s.starts = map[string]time.Time{}
	}
	if _, running := s.starts[name]; running || len(s.starts) >= maxLabels {
		h.logLine(slog.LevelWarn, "console.time: the timer "+name+" runs already, or there are too many")
		return
	}
	s.starts[name] = time.Now()
}

func (h *console) timeLog(call goja.FunctionCall) {
	name := labelOf(call)
	start, ok := h.state().starts[name]
	if !ok {
		h.logLine(slog.LevelWarn, "console.timeEnd: there is no timer "+name)
		return
	}
	text := name + ": " + strconv.FormatFloat(float64(time.Since(start).Microseconds())/1000, 'f', -1, 64) + "ms"
	if len(call.Arguments) > 1 {
		text += " " + h.logText(call.Arguments[1:])
	}
	h.logLine(slog.LevelInfo, text)
}

func (h *console) timeEnd(call goja.FunctionCall) {
	h.timeLog(goja.FunctionCall{This: call.This, Arguments: call.Arguments[:min(1, len(call.Arguments))]})
	delete(h.state().starts, labelOf(call))
}
