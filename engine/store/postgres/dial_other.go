//go:build !linux

package postgres

import "syscall"

// giveUpAfterSilence keeps the timeouts of the operating system.
func giveUpAfterSilence(string, string, syscall.RawConn) error { return nil }
