package main

import (
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress shows a progress bar if the command runs at a terminal. total is the final number,
// negative if unknown. If bytes is set, the unit is bytes. Call done before other output.
func progress(s stdio, what string, total int64, bytes bool) (add func(int64), done func()) {
	if !s.Terminal {
		return func(int64) {}, func() {}
	}
	bar := progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(s.Err),
		progressbar.OptionSetDescription(what),
		progressbar.OptionShowCount(),
		progressbar.OptionShowBytes(bytes),
		progressbar.OptionSetWidth(30),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetRenderBlankState(true),
		progressbar.OptionClearOnFinish(),
	)
	// Errors of the terminal do not fail the command.
	return func(n int64) { _ = bar.Add64(n) }, func() { _ = bar.Finish() }
}
