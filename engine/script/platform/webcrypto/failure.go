package webcrypto

import "fmt"

// Error is the failure of an operation. Name is the name of the DOMException that the standard prescribes, or
// TypeError or another class of JavaScript errors. Code is the code that Node.js sets for errors of these classes.
type Error struct {
	Name    string
	Code    string
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// The names of DOMExceptions that the standard prescribes.
const (
	dataError          = "DataError"
	invalidAccessError = "InvalidAccessError"
	notSupportedError  = "NotSupportedError"
	operationError     = "OperationError"
	syntaxError        = "SyntaxError"
)

func failure(name, format string, args ...any) error {
	return &Error{Name: name, Message: fmt.Sprintf(format, args...)}
}

// typeError returns a TypeError with a code of Node.js.
func typeError(code, format string, args ...any) error {
	return &Error{Name: "TypeError", Code: code, Message: fmt.Sprintf(format, args...)}
}

// The codes of Node.js for arguments of a wrong type or value.
const (
	codeMissing = "ERR_MISSING_OPTION"
	codeType    = "ERR_INVALID_ARG_TYPE"
	codeValue   = "ERR_INVALID_ARG_VALUE"
	codeRange   = "ERR_OUT_OF_RANGE"
)
