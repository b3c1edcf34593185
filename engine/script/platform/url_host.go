package platform

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// parseHost parses and normalizes the host of a URL. If special is true, the scheme is special: the host is then a
// domain, or an IP address in any of its spellings. It returns false if the host is not valid.
func parseHost(s string, special bool) (string, bool) {
	if strings.HasPrefix(s, "[") {
		if !strings.HasSuffix(s, "]") || strings.Contains(s, "%") {
			return "", false
		}
		a, err := netip.ParseAddr(s[1 : len(s)-1])
		if err != nil || !a.Is6() {
			return "", false
		}
		return "[" + writeIPv6(a) + "]", true
	}
	if !special {
		if strings.ContainsAny(s, "\x00 #/:<>?@[\\]^|") {
			return "", false
		}
		return percentEncode(s, ""), true
	}
	decoded, bad := validUTF8(percentDecode(s))
	domain, ok := domainToASCII(decoded)
	if bad || !ok || domain == "" || strings.ContainsFunc(domain, func(c rune) bool {
		return c <= ' ' || c == 0x7f || strings.ContainsRune("#/:<>?@[\\]^|%", c)
	}) {
		return "", false
	}
	if endsInNumber(domain) {
		return parseIPv4(domain)
	}
	return domain, true
}

// hostNames converts domains with other characters than ASCII in the way that the URL Standard requires.
var hostNames = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false), idna.BidiRule(),
	idna.CheckHyphens(false), idna.CheckJoiners(true), idna.VerifyDNSLength(false))

// domainToASCII converts a domain to lower case. It encodes labels that are not ASCII as Punycode (xn--...). It
// returns false if a label is not valid.
func domainToASCII(s string) (string, bool) {
	ascii := !strings.ContainsFunc(s, func(c rune) bool { return c >= 0x80 })
	if lower := strings.ToLower(s); ascii && !strings.Contains(lower, "xn--") {
		return lower, true
	}
	s, err := hostNames.ToASCII(s)
	return s, err == nil
}

// endsInNumber reports whether the part of a host after the last dot is a number. Such a host must be an IPv4
// address.
func endsInNumber(s string) bool {
	parts := strings.Split(strings.TrimSuffix(s, "."), ".")
	last := parts[len(parts)-1]
	if last == "" {
		return false
	}
	if strings.Trim(last, "0123456789") == "" {
		return true
	}
	_, ok := ipv4Number(last)
	return ok
}

// ipv4Number parses a number that is decimal, octal (with the prefix 0) or hexadecimal (0x). If the number does not
// fit into 40 bits, the result is 2^40-1, which is too large for an IPv4 address.
func ipv4Number(s string) (uint64, bool) {
	base := 10
	switch {
	case len(s) >= 2 && (s[:2] == "0x" || s[:2] == "0X"):
		s, base = s[2:], 16
	case len(s) >= 2 && s[0] == '0':
		s, base = s[1:], 8
	}
	if s == "" {
		return 0, base == 16
	}
	if s[0] == '+' || s[0] == '-' {
		return 0, false
	}
	n, err := strconv.ParseUint(s, base, 40)
	return n, err == nil || errors.Is(err, strconv.ErrRange)
}

// parseIPv4 parses an IPv4 address of one to four numbers, such as 127.1 or 0x7f000001. It returns the address as
// four decimal numbers.
func parseIPv4(s string) (string, bool) {
	parts := strings.Split(strings.TrimSuffix(s, "."), ".")
	if len(parts) > 4 {
		return "", false
	}
	var address uint64
	for i, part := range parts {
		n, ok := ipv4Number(part)
		last := i == len(parts)-1
		if !ok || part == "" || !last && n > 255 || last && n >= 1<<(8*(5-len(parts))) {
			return "", false
		}
		if last {
			address |= n
		} else {
			address |= n << (8 * (3 - i))
		}
	}
	return netip.AddrFrom4([4]byte{byte(address >> 24), byte(address >> 16), byte(address >> 8), byte(address)}).String(), true
}

// writeIPv6 returns an IPv6 address as text with hexadecimal groups only, also if it stands for an IPv4 address.
func writeIPv6(a netip.Addr) string {
	if b := a.As16(); a.Is4In6() {
		return fmt.Sprintf("::ffff:%x:%x", uint16(b[12])<<8|uint16(b[13]), uint16(b[14])<<8|uint16(b[15]))
	}
	return a.String()
}
