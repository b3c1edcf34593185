package rest

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"restsrv/engine"
)

// caller tells where a request comes from, and its address as text. What
// proxies say of it counts only from trusted ones (decisions.md section 1).
func (s *Server) caller(r *http.Request, id string) (engine.Caller, string) {
	c := engine.Caller{Request: id, Secure: r.TLS != nil}
	if peer, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		c.Address = plainAddress(peer.Addr())
	}
	if !forwarded(r.Header) {
		return c, remoteIP(r)
	}
	if !s.trusts(c.Address) {
		s.untrusted.Do(func() {
			s.cfg.Log.Warn("a proxy that trustedProxies does not name tells of forwarded requests: the address and scheme that it tells do not count", "address", remoteIP(r))
		})
		return c, remoteIP(r)
	}
	s.behindProxies(r.Header, &c)
	return c, c.Address.String()
}

func forwarded(h http.Header) bool {
	return h["X-Forwarded-For"] != nil || h["Forwarded"] != nil || h["X-Forwarded-Proto"] != nil
}

func (s *Server) trusts(a netip.Addr) bool {
	for _, p := range s.cfg.TrustedProxies {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// hop is what one proxy says of whom it was asked by.
type hop struct{ address, proto string }

// behindProxies finds the client that a trusted peer speaks for. A client may
// send either header of its own, and a proxy that knows the other one only
// hands it on: where both are there and differ, no address is believed.
func (s *Server) behindProxies(h http.Header, c *engine.Caller) {
	peer, old, standard := c.Address, oldHops(h), standardHops(h)
	proto := ""
	switch {
	case len(old) > 0 && len(standard) > 0:
		a, _ := s.client(old, peer)
		b, p := s.client(standard, peer)
		if a == b {
			c.Address, proto = a, p
		} else {
			s.contradiction.Do(func() {
				s.cfg.Log.Warn("X-Forwarded-For and Forwarded of a trusted proxy differ: it is to set or to remove both", "address", peer)
			})
		}
	case len(old) > 0:
		c.Address, _ = s.client(old, peer)
	default:
		c.Address, proto = s.client(standard, peer)
	}
	if lines := h["X-Forwarded-Proto"]; len(lines) > 0 { // the last word is the trusted peer's
		words := strings.Split(lines[len(lines)-1], ",")
		proto = strings.TrimSpace(words[len(words)-1])
	}
	if proto != "" {
		c.Secure = strings.EqualFold(proto, "https")
	}
}

// client is the last of the hops that is no trusted proxy, or the first when
// all are. It ends at an address that is none, such as "unknown": who asked the
// proxy before it is not known.
func (s *Server) client(hops []hop, peer netip.Addr) (at netip.Addr, proto string) {
	at = peer
	for i := len(hops) - 1; i >= 0; i-- {
		a, ok := hopAddress(hops[i].address)
		if !ok {
			return at, proto
		}
		at, proto = a, hops[i].proto
		if !s.trusts(a) {
			break
		}
	}
	return at, proto
}

// oldHops reads X-Forwarded-For.
func oldHops(h http.Header) (hops []hop) {
	for _, line := range h["X-Forwarded-For"] {
		for _, a := range strings.Split(line, ",") {
			hops = append(hops, hop{address: a})
		}
	}
	return hops
}

// standardHops reads Forwarded (RFC 7239 section 4).
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

// hopAddress reads an address with or without a port.
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

// plainAddress makes the forms of one address equal.
func plainAddress(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

func remoteIP(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
