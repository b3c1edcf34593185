package jsonfile

import (
	"regexp"
	"strconv"

	"restsrv/engine"
)

// position matches the line and column in an error of DecodeYAML or wire.Decode.
var position = regexp.MustCompile(` at line (\d+), column (\d+)`)

// Malformed returns the fault for a file that cannot be decoded. It takes line and column from the
// text of err; without them, it uses the start of the file.
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

// WholeFile returns a fault of a file as a whole. Its place is the start of the file.
func WholeFile(file, found, expected string) *engine.Fault {
	return &engine.Fault{File: file, Line: 1, Column: 1, Found: found, Expected: expected}
}
