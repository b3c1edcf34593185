package postgres

import (
	"strings"
	"syscall"
)

const tcpUserTimeout = 0x12 // TCP_USER_TIMEOUT of linux/tcp.h, milliseconds

// giveUpAfterSilence bounds the wait for what was sent to be acknowledged;
// keep-alives do not run meanwhile.
func giveUpAfterSilence(network, _ string, c syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	// A kernel that does not know it waits longer: no reason to fail.
	return c.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(silence.Milliseconds()))
	})
}
