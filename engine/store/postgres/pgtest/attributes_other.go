//go:build unix && !linux

package pgtest

import (
	"os"
	"syscall"
)

func attributes(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: as}
}

// killAll has the server tell its children to end at once, without writing
// anything: the nearest thing where children cannot be found.
func killAll(p *os.Process) { _ = p.Signal(syscall.SIGQUIT) }
