package platform

import (
	"strconv"
	"strings"

	"github.com/dop251/goja"
)

// webURL is a URL as defined by the WHATWG URL Standard. Both the checks of fetch and the requests use this parser,
// so that they agree with each other and with browsers about the host of a URL. The watchdog cannot interrupt a
// script while it parses a URL. Therefore the time for parsing must grow only linearly with the length of the text.
type webURL struct {
	scheme             string
	username, password string // percent-encoded
	host               string // normalized; "" if hasHost is false or the host is empty
	hasHost            bool
	port               string // "" if it is the default port of the scheme
	path               []string
	opaque             string // used instead of path if isOpaque is true, as in mailto:ann@example.org
	isOpaque           bool
	query, fragment    *string // nil if the URL does not have it
}

// specialPorts contains the schemes that the standard calls special, with their default ports. Their URLs must have a
// host, except for file.
var specialPorts = map[string]string{"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21", "file": ""}

func isSpecial(scheme string) bool {
	_, ok := specialPorts[scheme]
	return ok
}

// pathname returns the path as text.
func (u *webURL) pathname() string {
	if u.isOpaque {
		return u.opaque
	}
	if len(u.path) == 0 {
		return ""
	}
	return "/" + strings.Join(u.path, "/")
}

func (u *webURL) hostPort() string {
	if u.port == "" {
		return u.host
	}
	return u.host + ":" + u.port
}

// href returns the whole URL as text.
func (u *webURL) href() string {
	var b strings.Builder
	b.WriteString(u.scheme + ":")
	switch {
	case u.hasHost:
		b.WriteString("//")
		if u.username != "" || u.password != "" {
			b.WriteString(u.username)
			if u.password != "" {
				b.WriteString(":" + u.password)
			}
			b.WriteString("@")
		}
		b.WriteString(u.hostPort())
	case !u.isOpaque && len(u.path) > 1 && u.path[0] == "":
		b.WriteString("/.")
	}
	b.WriteString(u.pathname())
	if u.query != nil {
		b.WriteString("?" + *u.query)
	}
	if u.fragment != nil {
		b.WriteString("#" + *u.fragment)
	}
	return b.String()
}

func (u *webURL) origin() string {
	switch u.scheme {
	case "http", "https", "ws", "wss", "ftp":
		return u.scheme + "://" + u.hostPort()
	case "blob":
		if made := parseURL(u.opaque, nil); made != nil && strings.HasPrefix(made.scheme, "http") {
			return made.origin()
		}
	}
	return "null"
}

// parts returns the properties of a JavaScript URL object, in the order that the file modules/weburl.js expects.
func (u *webURL) parts() []any {
	part := func(s *string, mark string) string {
		if s == nil || *s == "" {
			return ""
		}
		return mark + *s
	}
	return []any{u.href(), u.origin(), u.scheme + ":", u.username, u.password, u.hostPort(), u.host, u.port,
		u.pathname(), part(u.query, "?"), part(u.fragment, "#")}
}

// urlNative returns the Go functions for the file modules/weburl.js: parse(text, base), assign(href, name, value),
// query(text), form(list) and host(text).
func urlNative(p *Platform) goja.Value {
	read := func(v goja.Value) *webURL {
		if goja.IsUndefined(v) {
			return nil
		}
		return parseURL(v.String(), nil)
	}
	return p.newNatives(natives{
		"parse": func(call goja.FunctionCall) goja.Value {
			base := read(call.Argument(1))
			if base == nil && !goja.IsUndefined(call.Argument(1)) {
				return goja.Null()
			}
			u := parseURL(call.Argument(0).String(), base)
			if u == nil {
				return goja.Undefined()
			}
			return p.js.NewArray(u.parts()...)
		},
		"assign": func(call goja.FunctionCall) goja.Value {
			u := read(call.Argument(0))
			u.assignPart(textArgument(call, 1), call.Argument(2).String())
			return p.js.NewArray(u.parts()...)
		},
		"query": func(call goja.FunctionCall) goja.Value {
			var list []any
			for _, s := range parseForm(textArgument(call, 0)) {
				list = append(list, s)
			}
			return p.js.NewArray(list...)
		},
		"form": func(call goja.FunctionCall) goja.Value {
			var list []string
			p.js.ForOf(call.Argument(0), func(v goja.Value) bool {
				list = append(list, v.String())
				return true
			})
			return p.js.ToValue(writeForm(list))
		},
		"host": func(call goja.FunctionCall) goja.Value {
			host, _ := parseHost(textArgument(call, 0), true)
			return p.js.ToValue(host)
		},
	})
}

// parseForm decodes a query such as a=1&b=2. It returns a name, its value, the next name, and so on.
func parseForm(s string) []string {
	var list []string
	for pair := range strings.SplitSeq(s, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		for _, part := range []string{name, value} {
			decoded, _ := validUTF8(percentDecode(strings.ReplaceAll(part, "+", " ")))
			list = append(list, decoded)
		}
	}
	return list
}

// writeForm encodes a list as a query. The list contains a name, its value, the next name, and so on.
func writeForm(list []string) string {
	var b strings.Builder
	for i, s := range list {
		switch {
		case i == 0:
		case i%2 == 0:
			b.WriteByte('&')
		default:
			b.WriteByte('=')
		}
		b.WriteString(strings.ReplaceAll(percentEncode(s, formSet), "%20", "+"))
	}
	return b.String()
}

// percentDecode replaces each % with two hexadecimal digits by the byte that it stands for. It keeps any other %.
func percentDecode(s string) []byte {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil && s[i+1] != '+' && s[i+1] != '-' {
				b = append(b, byte(n))
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return b
}

// The ASCII characters that must be percent-encoded in each part of a URL. Control characters and bytes that are not
// ASCII are always encoded.
const (
	fragmentSet  = " \"<>`"
	querySet     = " \"#<>"
	specialQuery = querySet + "'"
	pathSet      = querySet + "?^`{}"
	userSet      = pathSet + "/:;=@[\\]|"
	formSet      = userSet + "$%&+,!'()~"
)

func percentEncode(s, set string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c <= 0x1f || c >= 0x7f || strings.IndexByte(set, c) >= 0 {
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
