package apptest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const (
	memoryFolder = "/dev/shm"
	memoryPrefix = "restsrv-tests-" // the id of the process follows
	leastMemory  = 4 << 30          // bytes that must be free in the folder
)

// keepFilesInMemory creates a folder in memory for the temporary files of this process, its databases and the processes
// that it starts. The tests write and sync many small files, and would mostly wait for a disk. If TMPDIR is set, or if
// there is not enough memory, the files stay where they are. The function remove removes the folder.
func keepFilesInMemory() (remove func()) {
	remove = func() {}
	var space syscall.Statfs_t
	if os.Getenv("TMPDIR") != "" || syscall.Statfs(memoryFolder, &space) != nil || uint64(space.Bavail)*uint64(space.Bsize) < leastMemory {
		return remove
	}
	removeEndedFolders()
	folder := filepath.Join(memoryFolder, memoryPrefix+strconv.Itoa(os.Getpid()))
	err := os.Mkdir(folder, 0o755) // PostgreSQL may run as another user
	if err == nil {
		err = os.Setenv("TMPDIR", folder)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "temporary files are not in memory: %v\n", err)
		return remove
	}
	return func() {
		if err := os.RemoveAll(folder); err != nil {
			fmt.Fprintf(os.Stderr, "temporary files remain: %v\n", err)
		}
	}
}

// removeEndedFolders removes the folders of processes that were killed.
func removeEndedFolders() {
	folders, _ := filepath.Glob(filepath.Join(memoryFolder, memoryPrefix+"*"))
	for _, folder := range folders {
		pid, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(folder), memoryPrefix))
		if err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.RemoveAll(folder)
		}
	}
}
