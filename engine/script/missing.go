package script

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

// findMissing does the work of MissingModules for one file.
func (f *files) findMissing(s *source) (all []*LoadError) {
	for _, at := range required.FindAllSubmatchIndex(s.text, -1) {
		start, end := at[2], at[3]
		for i := 4; start < 0; i += 2 {
			start, end = at[i], at[i+1]
		}
		name, why := string(s.text[start:end]), ""
		_, builtin, err := f.findModule(name, s)
		var e *LoadError
		switch {
		case errors.As(err, &e):
			why = e.Message
		case err == nil && builtin != "":
			if refusal := platform.Refusal(builtin); refusal != "" {
				why = notFound + strconv.Quote(name) + ": " + refusal
			}
		}
		if why != "" {
			line := bytes.Count(s.text[:start], []byte("\n")) + 1
			column := start - (bytes.LastIndexByte(s.text[:start], '\n') + 1) + 1
			all = append(all, &LoadError{File: s.file, Line: line, Column: column, Message: why})
		}
	}
	return all
}
