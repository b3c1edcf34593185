//go:build unix && !linux

package pgtest

import (
	"os"
	"syscall"
)

func childAttributes(as *credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: as}
}

// killAll makes the server end its children immediately, without writing. On systems where the children cannot be
// listed, this is the closest equivalent to killing them.
func killAll(p *os.Process) { _ = p.Signal(syscall.SIGQUIT) }
