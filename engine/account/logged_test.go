package account

import (
	"bytes"
	"log/slog"
	"strings"
)

// lines is a log that counts its lines.
type lines struct{ bytes.Buffer }

func (l *lines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(&l.Buffer, nil)) }

func (l *lines) count() int { return strings.Count(l.String(), "\n") }
