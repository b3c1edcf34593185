package rest

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"restsrv/engine"
)

// callerOf returns the origin of a request, and the client's address as text for the log. It uses headers that
// proxies set only if the request comes from a trusted proxy. id is the request id.
func (s *Server) callerOf(r *http.Request, id string) (engine.Caller, string) {
	c := engine.Caller{Request: id, Secure: r.TLS != nil}
	if peer, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		c.Address = plainAddress(peer.Addr())
	}
	if !hasForwardingHeaders(r.Header) {
		return c, remoteIP(r)
	}
	if !s.isTrusted(c.Address) {
		s.untrusted.Do(func() {
			s.cfg.Log.Warn("a proxy that trustedProxies does not name forwards requests; ignoring its forwarding headers", "address", remoteIP(r))
		})
		return c, remoteIP(r)
	}
	s.behindProxies(r.Header, &c)
	return c, c.Address.String()
}

func hasForwardingHeaders(h http.Header) bool {
	return h["X-Forwarded-For"] != nil || h["Forwarded"] != nil || h["X-Forwarded-Proto"] != nil
}

func (s *Server) isTrusted(a netip.Addr) bool {
	for _, p := range s.cfg.TrustedProxies {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// hop is one entry in the headers of a proxy: the address of the client that connected to the proxy, and the scheme.
type hop struct{ address, proto string }

// behindProxies sets the address and the scheme of the client in c from the headers that a
// trusted proxy has sent. There are two kinds of headers, X-Forwarded-For and Forwarded. A proxy
// usually sets one kind and forwards the other kind unchanged, and a client can send both. If
// both are present and lead to different addresses, neither is used.
func (s *Server) behindProxies(h http.Header, c *engine.Caller) {
	peer, old, standard := c.Address, oldHops(h), standardHops(h)
	proto := ""
	switch {
	case len(old) > 0 && len(standard) > 0:
		a, _ := s.findClient(old, peer)
		b, p := s.findClient(standard, peer)
		if a == b {
			c.Address, proto = a, p
		} else {
			s.contradiction.Do(func() {
				s.cfg.Log.Warn("ignoring X-Forwarded-For and Forwarded of a trusted proxy because they differ; the proxy should set or remove both", "address", peer)
			})
		}
	case len(old) > 0:
		c.Address, _ = s.findClient(old, peer)
	default:
		c.Address, proto = s.findClient(standard, peer)
	}
	if lines := h["X-Forwarded-Proto"]; len(lines) > 0 { // the trusted proxy has set the last entry
		words := strings.Split(lines[len(lines)-1], ",")
		proto = strings.TrimSpace(words[len(words)-1])
	}
	if proto != "" {
		c.Secure = strings.EqualFold(proto, "https")
	}
}

// findClient returns the address and scheme of the client. peer is the proxy that sent the
// request. The list hops begins with the client, and its last entry was added by peer. findClient
// goes backwards through the list, as long as the addresses are trusted proxies, and returns the
// first address that is not a trusted proxy. If an entry has no valid address, such as "unknown",
// the entries before it cannot be trusted: findClient returns the entry after it.
func (s *Server) findClient(hops []hop, peer netip.Addr) (at netip.Addr, proto string) {
	at = peer
	for i := len(hops) - 1; i >= 0; i-- {
		a, ok := hopAddress(hops[i].address)
		if !ok {
			return at, proto
		}
		at, proto = a, hops[i].proto
		if !s.isTrusted(a) {
			break
		}
	}
	return at, proto
}

// oldHops parses the header X-Forwarded-For.
func oldHops(h http.Header) (hops []hop) {
	for _, line := range h["X-Forwarded-For"] {
		for _, a := range strings.Split(line, ",") {
			hops = append(hops, hop{address: a})
		}
	}
	return hops
}

// standardHops parses the header Forwarded (RFC 7239 section 4).
func standardHops(h http.Header) (hops []hop) {
	for _, line := range h["Forwarded"] {
		for _, element := range strings.Split(line, ",") {
			var one hop
			for _, pair := range strings.Split(element, ";") {
				name, value, _ := strings.Cut(pair, "=")
				value = strings.Trim(strings.TrimSpace(value), `"`)
				switch strings.ToLower(strings.TrimSpace(name)) {
				case "for":
					one.address = value
				case "proto":
					one.proto = value
				}
			}
			hops = append(hops, one)
		}
	}
	return hops
}

// hopAddress parses an address with or without a port.
func hopAddress(s string) (netip.Addr, bool) {
	s = strings.TrimSpace(s)
	if a, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil {
		return plainAddress(a), true
	}
	if a, err := netip.ParseAddrPort(s); err == nil {
		return plainAddress(a.Addr()), true
	}
	return netip.Addr{}, false
}

// plainAddress returns the canonical form of an address: IPv4 instead of IPv4 in IPv6, and no zone.
func plainAddress(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

func remoteIP(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
