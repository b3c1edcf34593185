package pgtest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// childAttributes makes the kernel end the child process when this process ends.
func childAttributes(as *credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: as, Pdeathsig: syscall.SIGQUIT}
}

// killAll kills a process and its children, and waits until the children are gone. It kills all of them at once, so
// that no process can react to the death of another.
func killAll(p *os.Process) {
	_ = p.Signal(syscall.SIGSTOP) // a stopped process cannot start more children
	children := childrenOf(p.Pid)
	for _, pid := range append(children, p.Pid) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	for _, pid := range children {
		for parent, state := parentOf(pid); parent != 0 && state != 'Z'; parent, state = parentOf(pid) {
			time.Sleep(time.Millisecond)
		}
	}
}

func childrenOf(parent int) (children []int) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			if of, _ := parentOf(pid); of == parent {
				children = append(children, pid)
			}
		}
	}
	return children
}

// parentOf returns the parent of a process and its state. parent is 0 if the process does not exist.
func parentOf(pid int) (parent int, state byte) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0
	}
	_, rest, _ := bytes.Cut(stat, []byte(") ")) // the part after the name of the program
	_, _ = fmt.Sscanf(string(rest), "%c %d", &state, &parent)
	return parent, state
}
