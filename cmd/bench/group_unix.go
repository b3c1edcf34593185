//go:build unix

package main

import "syscall"

// childGroup makes a child process the first of a new process group.
func childGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// signalGroup sends a signal to the process group of a child.
func signalGroup(pid int, sig syscall.Signal) { syscall.Kill(-pid, sig) }
