package module

import (
	"bytes"
	"errors"
	"regexp"
)

// required matches a call of require with a string literal, such as require("x"). It does not match in lines that
// begin as comments.
var required = regexp.MustCompile("(?m)^(?:[^/*\n]|/[^/*\n])*?\\brequire\\(\\s*(?:\"([^\"\n]+)\"|'([^'\n]+)'|`([^`$\n]+)`)\\s*\\)")

// FindMissing returns an error for each call of require in the file s whose module does not exist.
func (f *Files) FindMissing(s *Source) (all []*LoadError) {
	for _, at := range required.FindAllSubmatchIndex(s.Text, -1) {
		start, end := at[2], at[3]
		for i := 4; start < 0; i += 2 {
			start, end = at[i], at[i+1]
		}
		name, why := string(s.Text[start:end]), ""
		var e *LoadError
		if _, _, err := f.FindModule(name, s); errors.As(err, &e) {
			why = e.Message
		}
		if why != "" {
			line := bytes.Count(s.Text[:start], []byte("\n")) + 1
			column := start - (bytes.LastIndexByte(s.Text[:start], '\n') + 1) + 1
			all = append(all, &LoadError{File: s.File, Line: line, Column: column, Message: why})
		}
	}
	return all
}
