package platform

import (
	"net/netip"
	"strconv"
	"strings"
	"unicode"
)

// parseHost parses and normalizes a host. The host of a special scheme is a domain or an IP address in any of its
// spellings. It returns false if the host is not valid.
func parseHost(s string, special bool, normalize func(string) string) (string, bool) {
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
	domain, ok := domainToASCII(decoded, normalize)
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

// domainToASCII converts labels to lower case and encodes labels that are not ASCII as Punycode. It returns false if
// a label is not valid.
func domainToASCII(s string, normalize func(string) string) (string, bool) {
	ascii := true
	for i := range len(s) {
		ascii = ascii && s[i] < 0x80
	}
	if ascii {
		return strings.ToLower(s), true
	}
	s = strings.Map(func(c rune) rune {
		switch {
		case c == '。' || c == '．' || c == '｡':
			return '.'
		case c == 0xAD || c == 0x200B || c == 0x2060 || c == 0xFEFF || c >= 0xFE00 && c <= 0xFE0F:
			return -1
		}
		return c
	}, s)
	s = strings.ToLower(s)
	if normalize != nil {
		s = normalize(strings.ToLower(normalize(s)))
	}
	labels := strings.Split(s, ".")
	for i, label := range labels {
		for _, c := range label {
			if c == unicode.ReplacementChar || c >= 0x80 && !unicode.IsLetter(c) && !unicode.IsMark(c) && !unicode.IsDigit(c) && !unicode.IsSymbol(c) && !unicode.IsPunct(c) && c != 0x200C && c != 0x200D {
				return "", false
			}
		}
		encoded, ok := punycode(label)
		if !ok {
			return "", false
		}
		labels[i] = encoded
	}
	return strings.Join(labels, "."), true
}

// punycode encodes a label as defined by RFC 3492.
func punycode(label string) (string, bool) {
	runes := []rune(label)
	var out []byte
	for _, c := range runes {
		if c < 0x80 {
			out = append(out, byte(c))
		}
	}
	if len(out) == len(runes) {
		return label, true
	}
	basic := len(out)
	if basic > 0 {
		out = append(out, '-')
	}
	n, delta, bias, done := rune(0x80), 0, 72, basic
	for done < len(runes) {
		next := rune(unicode.MaxRune + 1)
		for _, c := range runes {
			if c >= n && c < next {
				next = c
			}
		}
		if delta += int(next-n) * (done + 1); delta > 1<<30 {
			return "", false
		}
		n = next
		for _, c := range runes {
			if c < n {
				delta++
			}
			if c != n {
				continue
			}
			out = appendVariable(out, delta, bias)
			bias = adapt(delta, done+1, done == basic)
			delta = 0
			done++
		}
		delta++
		n++
	}
	return "xn--" + string(out), true
}

func appendVariable(out []byte, q, bias int) []byte {
	digit := func(d int) byte {
		if d < 26 {
			return byte('a' + d)
		}
		return byte('0' + d - 26)
	}
	for k := 36; ; k += 36 {
		t := min(max(k-bias, 1), 26)
		if q < t {
			return append(out, digit(q))
		}
		out = append(out, digit(t+(q-t)%(36-t)))
		q = (q - t) / (36 - t)
	}
}

func adapt(delta, points int, first bool) int {
	if delta /= 2; first {
		delta /= 350
	}
	delta += delta / points
	k := 0
	for ; delta > 455; k += 36 {
		delta /= 35
	}
	return k + 36*delta/(delta+38)
}

// endsInNumber reports whether the last label is a number. Such a host must be an IPv4 address.
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

// ipv4Number parses a decimal, octal (0..) or hexadecimal (0x..) number.
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
	return n, err == nil
}

// parseIPv4 parses an address of one to four numbers and returns it as four decimal numbers.
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

// writeIPv6 formats an address as hexadecimal groups. The longest run of zero groups becomes "::".
func writeIPv6(a netip.Addr) string {
	b := a.As16()
	group := func(i int) uint16 { return uint16(b[2*i])<<8 | uint16(b[2*i+1]) }
	from, length := -1, 1
	for i := 0; i < 8; i++ {
		n := 0
		for i+n < 8 && group(i+n) == 0 {
			n++
		}
		if n > length {
			from, length = i, n
		}
		i += n
	}
	var out strings.Builder
	for i := 0; i < 8; i++ {
		if i == from {
			out.WriteString("::")
			i += length - 1
			continue
		}
		if i > 0 && i != from+length {
			out.WriteByte(':')
		}
		out.WriteString(strconv.FormatUint(uint64(group(i)), 16))
	}
	return out.String()
}
