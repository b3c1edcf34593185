package main

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// useColours reports whether output to w may contain colours: w is a terminal, and NO_COLOR is not
// set (see no-color.org).
func useColours(s stdio, w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && s.Env("NO_COLOR") == "" && s.Env("TERM") != "dumb" && term.IsTerminal(int(f.Fd()))
}

const (
	red      = "\x1b[31m"
	green    = "\x1b[32m"
	faint    = "\x1b[2m"
	noColour = "\x1b[0m"
)

// colourExcerpt returns an excerpt of a script with colours, if yes is true. The marked line and
// the caret below it are red.
func colourExcerpt(excerpt string, yes bool) string {
	if !yes || excerpt == "" {
		return excerpt
	}
	lines := strings.Split(excerpt, "\n")
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, ">"), strings.HasPrefix(strings.TrimLeft(line, " "), "|"):
			lines[i] = red + line + noColour
		default:
			lines[i] = faint + line + noColour
		}
	}
	return strings.Join(lines, "\n")
}
