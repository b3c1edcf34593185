package postgres

import (
	"strings"
	"syscall"
)

const tcpUserTimeout = 0x12 // TCP_USER_TIMEOUT of linux/tcp.h, in milliseconds

// giveUpAfterSilence limits how long sent data may stay unacknowledged. Keep-alives are not enough, because the kernel
// does not send them while data is unacknowledged.
func giveUpAfterSilence(network, _ string, c syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	// If the kernel does not support the option, the only effect is a longer wait, so the error is ignored.
	return c.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(silence.Milliseconds()))
	})
}
