package module

import (
	"bytes"
	"errors"
	"regexp"
	"strconv"

	"restsrv/engine/script/platform"
)

// required matches calls of require with a literal name. It skips comments that
// take whole lines.
var required = regexp.MustCompile("(?m)^(?:[^/*\n]|/[^/*\n])*?\\brequire\\(\\s*(?:\"([^\"\n]+)\"|'([^'\n]+)'|`([^`$\n]+)`)\\s*\\)")

// FindMissing does the work of MissingModules for one file.
func (f *Files) FindMissing(s *Source) (all []*LoadError) {
	for _, at := range required.FindAllSubmatchIndex(s.Text, -1) {
		start, end := at[2], at[3]
		for i := 4; start < 0; i += 2 {
			start, end = at[i], at[i+1]
		}
		name, why := string(s.Text[start:end]), ""
		_, builtin, err := f.FindModule(name, s)
		var e *LoadError
		switch {
		case errors.As(err, &e):
			why = e.Message
		case err == nil && builtin != "":
			if refusal := platform.Refusal(builtin); refusal != "" {
				why = NotFound + strconv.Quote(name) + ": " + refusal
			}
		}
		if why != "" {
			line := bytes.Count(s.Text[:start], []byte("\n")) + 1
			column := start - (bytes.LastIndexByte(s.Text[:start], '\n') + 1) + 1
			all = append(all, &LoadError{File: s.File, Line: line, Column: column, Message: why})
		}
	}
	return all
}
