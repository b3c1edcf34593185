//go:build unix

package sqlite_test

import "syscall"

// asUser returns the attributes of a process that runs as another user.
func asUser(id uint32) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id, Gid: id, NoSetGroups: true}}
}
