package script

import (
	"strings"

	"restsrv/engine/script/transpile"
)

// The engine tells where something is by the maps that come with the text it
// was given: the file as it was written, and its line. This is the one place
// that makes of that what people are told, where columns count UTF-16 units
// from 1, as editors do.

// place is for a position that the engine tells, in this file.
func (s *source) place(line, column int) (int, int) {
	if s.transformed || s.text == nil {
		return line, column
	}
	return line, transpile.Units(s.fullLine(line), column-1) + 1 // the engine counts bytes
}

// fullLine returns a line of the file, "" when there is no such line.
func (s *source) fullLine(n int) string {
	text := string(s.text)
	for ; n > 1; n-- {
		_, rest, ok := strings.Cut(text, "\n")
		if !ok {
			return ""
		}
		text = rest
	}
	line, _, _ := strings.Cut(text, "\n")
	if n == 1 {
		return strings.TrimPrefix(line, "\ufeff")
	}
	return line
}

// origin is for a position that the engine tells, in any file; ok is false for
// what scripts did not write.
func (f *files) origin(name string, line, column int) (file string, l, c int, ok bool) {
	if name == "" || name == preludeFile || name == "<eval>" {
		return "", 0, 0, false
	}
	file = transpile.FileName(name)
	if s := f.byName(file); s != nil {
		line, column = s.place(line, column)
	}
	return file, line, column, true
}
