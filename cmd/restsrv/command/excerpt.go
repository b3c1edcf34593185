package command

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"restsrv/engine"
	"restsrv/engine/script/module"
)

// maxExcerpts is the maximum number of excerpts with an error.
const maxExcerpts = 3

// withExcerpts returns the error with the lines of the files around its first faults. File names in
// faults are relative to dir. Errors without faults are returned unchanged.
func withExcerpts(err error, dir string, colour bool) error {
	var faults engine.Faults
	if !errors.As(err, &faults) {
		return err
	}
	var lines []string
	shown := 0
	for _, f := range faults {
		lines = append(lines, f.String())
		if shown == maxExcerpts {
			continue
		}
		if text := excerptOf(f, dir); text != "" {
			lines = append(lines, colourExcerpt(text, colour))
			shown++
		}
	}
	return &excerptError{strings.Replace(err.Error(), faults.Error(), strings.Join(lines, "\n"), 1), err}
}

// excerptError is an error with a different text.
type excerptError struct {
	text string
	err  error
}

// Error implements error.
func (e *excerptError) Error() string { return e.text }

// Unwrap returns the error with its original text.
func (e *excerptError) Unwrap() error { return e.err }

// excerptOf returns the lines around a fault, or "" if its file cannot be read.
func excerptOf(f engine.Fault, dir string) string {
	name := filepath.FromSlash(f.File)
	if f.Line == 0 || !filepath.IsLocal(name) {
		return ""
	}
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return ""
	}
	return module.Excerpt(maskSecrets(string(text)), f.Line, f.Column)
}

var (
	// secretMember matches a member of JSON or YAML whose name suggests a secret, and its
	// value up to the end of the line.
	secretMember = regexp.MustCompile(`(?im)((?:secret|password|pwd|token|key)[\w-]*["']?\s*:[ \t]*)([^\s\[{].*)$`)
	// addressUser matches the account and the password in an address.
	addressUser = regexp.MustCompile(`://[^\s"'/@]+(?:/[^\s"'@]*)?@`)
)

// maskSecrets replaces values that may be secret with asterisks, one for each character, so that
// columns stay the same.
func maskSecrets(text string) string {
	hide := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r == '\r' {
				return r
			}
			return '*'
		}, s)
	}
	text = addressUser.ReplaceAllStringFunc(text, func(s string) string { return "://" + hide(s[3:len(s)-1]) + "@" })
	return secretMember.ReplaceAllStringFunc(text, func(s string) string {
		at := secretMember.FindStringSubmatchIndex(s)
		return s[:at[4]] + hide(s[at[4]:])
	})
}
