package vm

import (
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/file"

	"restsrv/engine"
	"restsrv/engine/script/types"
	"restsrv/engine/suggest"
)

// Failure describes an error in a script for the log. Clients never receive it.
type Failure struct {
	Message string
	File    string // relative to the application directory; "" if unknown
	Line    int
	Column  int
	Stack   []string // "at f (file:line:column)", innermost first

	Status int    // HTTP status that the script requested with the error; 0 if none
	Text   string // message for the client if Status is set
	Cause  error  // the underlying Go error, or nil
}

// Error returns the message and the stack.
func (f *Failure) Error() string {
	if len(f.Stack) == 0 {
		return f.Message
	}
	return f.Message + "\n\t" + strings.Join(f.Stack, "\n\t")
}

// Unwrap returns the underlying Go error, if any.
func (f *Failure) Unwrap() error { return f.Cause }

// Place returns file:line:column, or "" if it is unknown.
func (f *Failure) Place() string {
	if f.File == "" {
		return ""
	}
	return f.File + ":" + strconv.Itoa(f.Line) + ":" + strconv.Itoa(f.Column)
}

// MaxLogText is the limit of one line that a script logs, in bytes.
const MaxLogText = 8 << 10

// DescribeError converts a Go error to a Failure. The error may contain a JavaScript exception.
func (v *VM) DescribeError(err error) *Failure {
	var ex *goja.Exception
	if errors.As(err, &ex) && !IsUncatchable(err) {
		return v.DescribeThrown(ex.Value(), ex)
	}
	return &Failure{Message: err.Error(), Cause: err}
}

// describeAbort describes a turn that ended with an error that scripts cannot catch. stopped is the reason if the
// watchdog ended the turn, otherwise nil.
func (v *VM) describeAbort(err, stopped error) *Failure {
	var stop *goja.InterruptedError
	var overflow *goja.StackOverflowError
	switch {
	case errors.As(err, &stop):
		f := &Failure{Message: "interrupted", Cause: err}
		if why, ok := stop.Value().(error); ok {
			f.Message = why.Error()
		}
		f.AddFrames(v, stop.Stack())
		return f
	case errors.As(err, &overflow):
		f := &Failure{Message: "calls are nested deeper than " + strconv.Itoa(v.Service.Limits.CallStack), Cause: err}
		f.AddFrames(v, overflow.Stack())
		return f
	case err != nil:
		return &Failure{Message: err.Error(), Cause: err}
	}
	return &Failure{Message: stopped.Error()}
}

// MaxFrames is the limit of the stack frames in a log record.
const MaxFrames = 20

// AddFrames appends those stack frames that are in files of scripts, and sets the position of f from the first of
// them.
func (f *Failure) AddFrames(v *VM, frames []goja.StackFrame) {
	for i := range frames {
		p := frames[i].Position()
		f.addFrame(v, frames[i].FuncName(), p)
	}
}

func (f *Failure) addFrame(v *VM, name string, p file.Position) {
	file, line, column, ok := v.Service.Files.OriginOf(p.Filename, p.Line, p.Column)
	if !ok {
		return
	}
	if f.File == "" {
		f.File, f.Line, f.Column = file, line, column
	}
	text := "at " + name + " (" + file + ":" + strconv.Itoa(line) + ":" + strconv.Itoa(column) + ")"
	if n := len(f.Stack); n < MaxFrames && !(n > 1 && f.Stack[n-1] == text && f.Stack[n-2] == text) {
		f.Stack = append(f.Stack, text) // for deep recursion, the first two frames are enough
	}
}

var stackLine = regexp.MustCompile(`(?m)^\s*at (?:(.*?) \()?(.+?):(\d+):(\d+)\(\d+\)\)?$`)

// maxStack limits the part of the stack property that is parsed: only the last maxStack bytes. The property begins
// with the message of the error, which can have any length.
const maxStack = 64 << 10

// locateText adds the stack frames that it finds in the text of the stack property of an Error.
func (f *Failure) locateText(v *VM, stack string) {
	stack = stack[max(0, len(stack)-maxStack):]
	for _, m := range stackLine.FindAllStringSubmatch(stack, 10*MaxFrames) {
		name := m[1]
		if name == "" {
			name = "<anonymous>"
		}
		line, _ := strconv.Atoi(m[3])
		column, _ := strconv.Atoi(m[4])
		f.addFrame(v, name, file.Position{Filename: m[2], Line: line, Column: column})
	}
}

// DescribeThrown describes a thrown value, or the reason of a rejected promise. ex provides the stack if the value
// has none; it may be nil. Reading the value may run getters, so DescribeThrown must be called inside a turn.
func (v *VM) DescribeThrown(thrown goja.Value, ex *goja.Exception) *Failure {
	f := &Failure{Message: "undefined"}
	failed := v.JS.Try(func() { f.readThrown(v, thrown) })
	if failed != nil {
		f.Message = "something was thrown that cannot be read"
	}
	if f.File == "" && ex != nil {
		f.AddFrames(v, ex.Stack())
	}
	return f
}

// readThrown sets the fields of f from the message, stack and status of a thrown value.
func (f *Failure) readThrown(v *VM, thrown goja.Value) {
	o, ok := thrown.(*goja.Object)
	if !ok {
		if thrown != nil {
			f.Message = engine.Cut(thrown.String(), MaxLogText)
		}
		return
	}
	f.Cause = v.AttachedError(o)
	message := o.Get("message")
	if message != nil && goja.IsString(message) {
		f.Text = message.String()
	}
	f.Message = engine.Cut(v.thrownText(o), MaxLogText)
	f.Message += suggestName(f.Message)
	var failed *engine.Error
	if errors.As(f.Cause, &failed) && failed.Err != nil {
		f.Message += ": " + failed.Err.Error() // the log needs the cause
	}
	if stack := o.Get("stack"); stack != nil && goja.IsString(stack) {
		f.locateText(v, stack.String())
	}
	var placed *placedError
	if f.File == "" && errors.As(f.Cause, &placed) {
		f.AddFrames(v, placed.where)
	}
	f.Status = clientStatus(o.Get("code"))
	if f.Status == 0 {
		f.Status = clientStatus(o.Get("status"))
	}
	if f.Status != 0 && f.Text == "" {
		f.Text = http.StatusText(f.Status)
	}
	f.addCauses(v, o, maxCauses)
}

// unknownMember and unknownGlobal match the messages of goja for misspelt names.
var (
	unknownMember = regexp.MustCompile(`^TypeError: Object has no member '(\w+)'$`)
	unknownGlobal = regexp.MustCompile(`^ReferenceError: (\w+) is not defined$`)
)

// suggestName returns a question that suggests the name of restsrv most similar to the misspelt name in an error
// message. It returns "" if the message is not about a misspelt name, or if no name is similar.
func suggestName(message string) string {
	if m := unknownMember.FindStringSubmatch(message); m != nil {
		return suggest.DidYouMean(m[1], types.Methods())
	}
	if m := unknownGlobal.FindStringSubmatch(message); m != nil {
		return suggest.DidYouMean(m[1], types.Globals())
	}
	return ""
}

// ancestorStatus maps error codes of IONDV to HTTP statuses: the codes of IONDV's REST module and those for missing
// permissions.
var ancestorStatus = map[string]int{
	"rest.backend.403": http.StatusForbidden,
	"rest.backend.404": http.StatusNotFound,
	"front-end.403":    http.StatusForbidden,
	"data-repo.noperm": http.StatusForbidden,
}

// clientStatus returns the HTTP status for the property code or status of an error. It returns 0 if the value does
// not stand for a status from 400 to 499.
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

// Limits for the causes in a log record.
const (
	maxCauses = 4   // length of a chain of causes, and number of errors of an AggregateError
	maxThrown = 500 // bytes of the text of one thrown value
)

// addCauses appends the cause of an Error and the errors of an AggregateError to the stack, with their positions.
// left is the number of further levels to include: the cause of a cause, and so on.
func (f *Failure) addCauses(v *VM, o *goja.Object, left int) {
	if left == 0 || len(f.Stack) > 2*MaxFrames {
		return
	}
	if cause := o.Get("cause"); cause != nil && !goja.IsUndefined(cause) && o.ClassName() == "Error" {
		f.addCause(v, "caused by: ", cause, left)
	}
	list, _ := o.Get("errors").(*goja.Object)
	if list == nil || list.ClassName() != "Array" || o.ClassName() != "Error" {
		return
	}
	for i := range min(maxCauses, int(list.Get("length").ToInteger())) {
		f.addCause(v, "one of its errors: ", list.Get(v.IndexText(i)), left)
	}
}

func (f *Failure) addCause(v *VM, what string, thrown goja.Value, left int) {
	inner := &Failure{Message: engine.Cut(thrown.String(), maxThrown)}
	o, ok := thrown.(*goja.Object)
	if ok {
		inner.Message = engine.Cut(v.thrownText(o), maxThrown)
		if stack := o.Get("stack"); stack != nil && goja.IsString(stack) {
			inner.locateText(v, stack.String())
		}
	}
	f.Stack = append(append(f.Stack, what+inner.Message), inner.Stack...)
	if f.File == "" {
		f.File, f.Line, f.Column = inner.File, inner.Line, inner.Column
	}
	if ok {
		f.addCauses(v, o, left-1)
	}
}

// thrownText returns a text for an object that was thrown: its toString, its message, or its inspected properties.
func (v *VM) thrownText(o *goja.Object) string {
	text := o.String()
	if text != "[object Object]" {
		return text
	}
	if message := o.Get("message"); message != nil && goja.IsString(message) && message.String() != "" {
		return message.String()
	}
	return engine.Cut(v.CallModule("util", "inspect", o).String(), maxThrown)
}
