//go:build !unix

package pgtest

import (
	"os"
	"syscall"
)

// credential is the user of a child process. Here it is always the current user.
type credential struct{}

func newCredential(_, _ uint32) *credential { return nil }

// hasEnded reports whether there is no process with that id. Here it is not known.
func hasEnded(int) bool { return false }

func childAttributes(*credential) *syscall.SysProcAttr { return nil }

func killAll(p *os.Process) { _ = p.Kill() }
