//go:build unix

package pgtest

import (
	"errors"
	"syscall"
)

// credential is the user of a child process.
type credential = syscall.Credential

func newCredential(uid, gid uint32) *credential { return &credential{Uid: uid, Gid: gid} }

// hasEnded reports whether there is no process with that id.
func hasEnded(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
