package jsonfile

import (
	"regexp"
	"strconv"

	"restsrv/engine"
)

// position is where an error of DecodeYAML or wire.Decode says that a text is malformed.
var position = regexp.MustCompile(` at line (\d+), column (\d+)`)

// Malformed returns the fault of a file that cannot be decoded. Its place is the one that err names.
func Malformed(file string, err error, expected string) *engine.Fault {
	text := err.Error()
	f := WholeFile(file, text, expected)
	if m := position.FindStringSubmatchIndex(text); m != nil {
		f.Line, _ = strconv.Atoi(text[m[2]:m[3]])
		f.Column, _ = strconv.Atoi(text[m[4]:m[5]])
		f.Found = text[:m[0]] + text[m[1]:]
	}
	return f
}

// WholeFile returns the fault of a file that holds something else than expected. Its place is the beginning of the file.
func WholeFile(file, found, expected string) *engine.Fault {
	return &engine.Fault{File: file, Line: 1, Column: 1, Found: found, Expected: expected}
}
