package postgres

import (
	"context"
	"net"
	"time"
)

// netDialer opens network connections that fail when the other side no longer answers (see silence).
type netDialer struct{ net.Dialer }

func newDialer() *netDialer {
	return &netDialer{net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: silence / 2, Interval: silence / 8, Count: 4},
		Control:         giveUpAfterSilence,
	}}
}

// Dial implements pq.Dialer.
func (d *netDialer) Dial(network, address string) (net.Conn, error) {
	return d.Dialer.Dial(network, address)
}

// DialTimeout implements pq.Dialer.
func (d *netDialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.DialContext(ctx, network, address)
}
