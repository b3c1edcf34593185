//go:build !unix

package main

import (
	"os"
	"syscall"
)

func childGroup() *syscall.SysProcAttr { return nil }

// signalGroup ends a process: there are no process groups here.
func signalGroup(pid int, _ syscall.Signal) {
	if p, err := os.FindProcess(pid); err == nil {
		p.Kill()
	}
}
