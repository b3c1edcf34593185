package script

import (
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/file"

	"restsrv/engine"
)

// Failure describes an error in a script for the log. Clients never receive it.
type Failure struct {
	Message string
	File    string // relative to the application directory; "" if unknown
	Line    int
	Column  int
	Stack   []string // "at f (file:line:column)", innermost first

	status int    // requested by the script; 0 if none
	text   string // message for the client if status is set
	cause  error  // the underlying Go error, or nil
}

// Error returns the message and the stack.
func (f *Failure) Error() string {
	if len(f.Stack) == 0 {
		return f.Message
	}
	return f.Message + "\n\t" + strings.Join(f.Stack, "\n\t")
}

// Unwrap returns the underlying Go error, if any.
func (f *Failure) Unwrap() error { return f.cause }

// place returns file:line:column, or "" if it is unknown.
func (f *Failure) place() string {
	if f.File == "" {
		return ""
	}
	return f.File + ":" + strconv.Itoa(f.Line) + ":" + strconv.Itoa(f.Column)
}

// maxLogText is the limit of one line that a script logs, in bytes.
const maxLogText = 8 << 10

// describeError converts an error of the engine or of restsrv to a Failure.
func (v *vm) describeError(err error) *Failure {
	var ex *goja.Exception
	if errors.As(err, &ex) && !isUncatchable(err) {
		return v.describeThrown(ex.Value(), ex)
	}
	return &Failure{Message: err.Error(), cause: err}
}

// describeAbort describes the end of a turn that scripts cannot catch. The error stopped is the reason if the
// watchdog ended the turn.
func (v *vm) describeAbort(err, stopped error) *Failure {
	var stop *goja.InterruptedError
	var overflow *goja.StackOverflowError
	switch {
	case errors.As(err, &stop):
		f := &Failure{Message: "interrupted", cause: err}
		if why, ok := stop.Value().(error); ok {
			f.Message = why.Error()
		}
		f.addFrames(v, stop.Stack())
		return f
	case errors.As(err, &overflow):
		f := &Failure{Message: "calls are nested deeper than " + strconv.Itoa(v.service.limits.CallStack), cause: err}
		f.addFrames(v, overflow.Stack())
		return f
	case err != nil:
		return &Failure{Message: err.Error(), cause: err}
	}
	return &Failure{Message: stopped.Error()}
}

// maxFrames is the limit of the stack frames in a log record.
const maxFrames = 20

// addFrames adds the frames that are in script files.
func (f *Failure) addFrames(v *vm, frames []goja.StackFrame) {
	for i := range frames {
		p := frames[i].Position()
		f.addFrame(v, frames[i].FuncName(), p)
	}
}

func (f *Failure) addFrame(v *vm, name string, p file.Position) {
	file, line, column, ok := v.service.files.originOf(p.Filename, p.Line, p.Column)
	if !ok {
		return
	}
	if f.File == "" {
		f.File, f.Line, f.Column = file, line, column
	}
	text := "at " + name + " (" + file + ":" + strconv.Itoa(line) + ":" + strconv.Itoa(column) + ")"
	if n := len(f.Stack); n < maxFrames && !(n > 1 && f.Stack[n-1] == text && f.Stack[n-2] == text) {
		f.Stack = append(f.Stack, text) // of a recursion, keep only the first frames
	}
}

var stackLine = regexp.MustCompile(`(?m)^\s*at (?:(.*?) \()?(.+?):(\d+):(\d+)\(\d+\)\)?$`)

// maxStack is the length of the part of the stack property that is parsed, in bytes from the end. The message before
// it can be of any length.
const maxStack = 64 << 10

// locateText parses the stack property of an Error.
func (f *Failure) locateText(v *vm, stack string) {
	stack = stack[max(0, len(stack)-maxStack):]
	for _, m := range stackLine.FindAllStringSubmatch(stack, 10*maxFrames) {
		name := m[1]
		if name == "" {
			name = "<anonymous>"
		}
		line, _ := strconv.Atoi(m[3])
		column, _ := strconv.Atoi(m[4])
		f.addFrame(v, name, file.Position{Filename: m[2], Line: line, Column: column})
	}
}

// describeThrown describes a thrown value or the reason of a rejection. The exception ex may be nil. Reading the
// value may run getters, so it must be called inside a turn.
func (v *vm) describeThrown(thrown goja.Value, ex *goja.Exception) *Failure {
	f := &Failure{Message: "undefined"}
	failed := v.js.Try(func() { f.readThrown(v, thrown) })
	if failed != nil {
		f.Message = "something was thrown that cannot be read"
	}
	if f.File == "" && ex != nil {
		f.addFrames(v, ex.Stack())
	}
	return f
}

// readThrown reads message, stack and status from a thrown value.
func (f *Failure) readThrown(v *vm, thrown goja.Value) {
	o, ok := thrown.(*goja.Object)
	if !ok {
		if thrown != nil {
			f.Message = engine.Cut(thrown.String(), maxLogText)
		}
		return
	}
	f.cause = v.attachedError(o)
	message := o.Get("message")
	if message != nil && goja.IsString(message) {
		f.text = message.String()
	}
	f.Message = engine.Cut(v.thrownText(o), maxLogText)
	var failed *engine.Error
	if errors.As(f.cause, &failed) && failed.Err != nil {
		f.Message += ": " + failed.Err.Error() // the log needs the cause
	}
	if stack := o.Get("stack"); stack != nil && goja.IsString(stack) {
		f.locateText(v, stack.String())
	}
	var placed *placedError
	if f.File == "" && errors.As(f.cause, &placed) {
		f.addFrames(v, placed.where)
	}
	f.status = clientStatus(o.Get("code"))
	if f.status == 0 {
		f.status = clientStatus(o.Get("status"))
	}
	if f.status != 0 && f.text == "" {
		f.text = http.StatusText(f.status)
	}
	f.addCauses(v, o, maxCauses)
}

// ancestorStatus maps error codes of IONDV to statuses: those of its REST module and of missing permissions.
var ancestorStatus = map[string]int{
	"rest.backend.403": http.StatusForbidden,
	"rest.backend.404": http.StatusNotFound,
	"front-end.403":    http.StatusForbidden,
	"data-repo.noperm": http.StatusForbidden,
}

// clientStatus returns the status for the code or status of an error. It returns 0 if that is not a client error.
func clientStatus(code goja.Value) int {
	if code == nil {
		return 0
	}
	if goja.IsString(code) {
		return ancestorStatus[code.String()]
	}
	if !goja.IsNumber(code) {
		return 0
	}
	n := code.ToFloat()
	if n < 400 || n > 499 || n != float64(int(n)) {
		return 0
	}
	return int(n)
}
