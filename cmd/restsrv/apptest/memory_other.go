//go:build !linux

package apptest

// keepFilesInMemory has no effect on systems without a folder in memory.
func keepFilesInMemory() (remove func()) { return func() {} }
