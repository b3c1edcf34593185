//go:build !unix

package sqlite_test

import "syscall"

func asUser(uint32) *syscall.SysProcAttr { return nil }
