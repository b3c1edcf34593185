package platform

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"time"
)

// checkHost returns an error if Fetch.Hosts does not allow the host of a URL.
func (f *Fetch) checkHost(u *webURL) error {
	host, port := strings.TrimSuffix(u.host, "."), u.port
	usual := port == ""
	if usual {
		port = specialPorts[u.scheme]
	}
	for _, entry := range f.Hosts {
		if entry == "*" {
			return nil
		}
		name, wanted := splitHost(entry)
		if wanted != port && (wanted != "" || !usual) {
			continue
		}
		if suffix, any := strings.CutPrefix(name, "*."); any {
			if strings.HasSuffix(host, "."+suffix) && strings.Trim(strings.TrimSuffix(host, suffix), ".") != "" {
				return nil
			}
		} else if name == host {
			return nil
		}
	}
	return refusedError("fetch: %s is not allowed; list it in globals.scripts.fetch.hosts of deploy.json", u.hostPort())
}

// splitHost splits an entry of Fetch.Hosts, which is host or host:port. It normalizes the host as the URL parser
// does, so that hosts can be compared.
func splitHost(entry string) (host, port string) {
	host = strings.ToLower(entry)
	if strings.Count(host, ":") == 1 || strings.Contains(host, "]:") {
		colon := strings.LastIndexByte(host, ':')
		host, port = host[:colon], host[colon+1:]
	}
	prefix := ""
	if rest, any := strings.CutPrefix(host, "*."); any {
		prefix, host = "*.", rest
	}
	if strings.Count(host, ":") > 1 && host[0] != '[' {
		host = "[" + host + "]"
	}
	if parsed, ok := parseHost(strings.TrimSuffix(host, "."), true); ok {
		host = parsed
	}
	return prefix + host, port
}

// errRefused is the error for a request that scripts must not send. The message is for the author of the script.
type errRefused struct{ message string }

func (e *errRefused) Error() string { return e.message }

func refusedError(format string, args ...any) error {
	return &errRefused{fmt.Sprintf(format, args...)}
}

// innerNetworks contains networks that are not public, in addition to those that package netip knows: the "this"
// network, shared addresses of providers, protocol assignments, benchmarks, and reserved addresses. It also contains
// IPv6 addresses that stand for IPv4 addresses.
var innerNetworks = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("192.88.99.0/24"), netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("::/96"), netip.MustParsePrefix("::ffff:0:0:0/96"), netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("100::/64"), netip.MustParsePrefix("2001::/23"), netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("3fff::/20"), netip.MustParsePrefix("5f00::/16"), netip.MustParsePrefix("fec0::/10"),
}

// isInternal reports whether an address belongs to this machine or to a network that is not public.
func isInternal(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() {
		return true
	}
	for _, n := range innerNetworks {
		if n.Contains(a) {
			return true
		}
	}
	return false
}

// errInner is the error for a connection to an internal address. It does not contain the address, because scripts see
// the text.
var errInner = errors.New("a private address")

// newClient returns an HTTP client for fetch. It connects only to addresses for which pass returns true. The check
// follows the resolution of the host name, so a name cannot lead to another address. The client does not follow
// redirects, keep cookies or use a proxy.
func newClient(pass func(netip.Addr) bool) *http.Client {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		a, err := netip.ParseAddrPort(address)
		if err != nil || !pass(a.Addr()) {
			return errInner
		}
		return nil
	}}
	return &http.Client{
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				return dialer.DialContext(ctx, network, address)
			},
			ForceAttemptHTTP2: true, MaxIdleConns: 100, MaxIdleConnsPerHost: 16, MaxConnsPerHost: 256,
			IdleConnTimeout: 30 * time.Second, TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: 1 << 20,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// The HTTP clients of the process: one for public addresses only, the other for all addresses.
var (
	publicClient = sync.OnceValue(func() *http.Client {
		return newClient(func(a netip.Addr) bool { return !isInternal(a) })
	})
	anyClient = sync.OnceValue(func() *http.Client {
		return newClient(func(netip.Addr) bool { return true })
	})
)

func (f *Fetch) httpClient() *http.Client {
	switch {
	case f.client != nil:
		return f.client
	case f.Private:
		return anyClient()
	}
	return publicClient()
}
