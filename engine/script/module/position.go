package module

import (
	"strings"

	"restsrv/engine/script/transpile"
)

// goja reports positions by the source map of the text that it compiled, so they refer to the original file and line.
// But in files that were not transformed, goja counts columns in bytes. This file converts these positions to those
// that users see: their columns count UTF-16 units from 1, as in editors.

// convertPosition converts a position in the file s from goja's columns to columns in UTF-16 units (see above).
func (s *Source) convertPosition(line, column int) (int, int) {
	if s.transformed || s.Text == nil {
		return line, column
	}
	return line, transpile.Units(s.fullLine(line), column-1) + 1 // goja counts bytes
}

// fullLine returns line n of the file, or "" if there is no such line.
func (s *Source) fullLine(n int) string {
	text := string(s.Text)
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

// LocateText returns the position of the first occurrence of a text in a file that was read, or "" if there is none.
func (f *Files) LocateText(text string) (file string, line, column int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, s := range f.byFile {
		before, _, found := strings.Cut(string(s.Text), text)
		if found && (file == "" || name < file) {
			start := strings.LastIndexByte(before, '\n') + 1
			file, line, column = name, strings.Count(before, "\n")+1, transpile.Units(before[start:], len(before)-start)+1
		}
	}
	return file, line, column
}

// OriginOf converts a position in the file with the given name, as goja reports it, to a position for users: the path
// of the file, a line, and a column in UTF-16 units. ok is false if the position is in JavaScript that is part of
// restsrv, or in code of eval.
func (f *Files) OriginOf(name string, line, column int) (file string, l, c int, ok bool) {
	if name == "" || name == preludeFile || name == "<eval>" {
		return "", 0, 0, false
	}
	file = transpile.FileName(name)
	if s := f.ByName(file); s != nil {
		line, column = s.convertPosition(line, column)
	}
	return file, line, column, true
}
