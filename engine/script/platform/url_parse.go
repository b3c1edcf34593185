package platform

import (
	"regexp"
	"strings"
)

var schemePattern = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]*:`)

// parseURL parses the URL s, which may be relative to base. base may be nil. parseURL returns nil if the URL is not
// valid.
func parseURL(s string, base *webURL) *webURL {
	s = strings.TrimFunc(s, func(c rune) bool { return c <= ' ' })
	s = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(s)
	p := &urlParser{u: &webURL{}}
	rest, fragment, hasFragment := strings.Cut(s, "#")
	if base != nil && base.isOpaque && s == "" || !p.parseStart(rest, base) {
		return nil
	}
	if hasFragment {
		f := percentEncode(fragment, fragmentSet)
		p.u.fragment = &f
	}
	return p.u
}

type urlParser struct{ u *webURL }

// startsWithSlash reports whether s begins with a path separator: a slash, or for special schemes also a backslash.
func (u *webURL) startsWithSlash(s string) bool {
	return s != "" && (s[0] == '/' || s[0] == '\\' && isSpecial(u.scheme))
}

// parseStart parses the scheme at the beginning of s and calls the parser for the rest. Like the other parsers, it
// returns false if the URL is not valid.
func (p *urlParser) parseStart(s string, base *webURL) bool {
	u := p.u
	scheme := schemePattern.FindString(s)
	if scheme == "" {
		switch {
		case base == nil, base.isOpaque && s != "":
			return false
		case base.isOpaque:
			*u = *base
			u.fragment = nil
			return true
		}
		u.scheme = base.scheme
		return p.parseRelative(s, base)
	}
	u.scheme = strings.ToLower(scheme[:len(scheme)-1])
	s = s[len(scheme):]
	switch {
	case u.scheme == "file":
		if base != nil && base.scheme != "file" {
			base = nil
		}
		return p.parseFile(s, base)
	case isSpecial(u.scheme) && base != nil && base.scheme == u.scheme && !strings.HasPrefix(s, "//"):
		return p.parseRelative(s, base)
	case isSpecial(u.scheme):
		return p.parseAuthority(strings.TrimLeft(s, `/\`))
	case strings.HasPrefix(s, "//"):
		return p.parseAuthority(s[2:])
	case strings.HasPrefix(s, "/"):
		return p.pathAndQuery(s)
	}
	path, query, hasQuery := strings.Cut(s, "?")
	u.isOpaque, u.opaque = true, percentEncode(path, "")
	p.setQuery(query, hasQuery)
	return true
}

// parseRelative parses a URL that has no scheme, or the same scheme as its base. s is the URL without the scheme.
func (p *urlParser) parseRelative(s string, base *webURL) bool {
	u := p.u
	if u.scheme == "file" {
		return p.parseFile(s, base)
	}
	if u.startsWithSlash(s) && u.startsWithSlash(s[1:]) {
		if isSpecial(u.scheme) {
			return p.parseAuthority(strings.TrimLeft(s, `/\`))
		}
		return p.parseAuthority(s[2:])
	}
	u.username, u.password, u.host, u.hasHost, u.port = base.username, base.password, base.host, base.hasHost, base.port
	return p.resolvePath(s, base)
}

// resolvePath parses a path and a query. A relative path is resolved against the path of the base. If the text has
// no path, the path of the base is used. If it also has no query, the query of the base is used.
func (p *urlParser) resolvePath(s string, base *webURL) bool {
	u := p.u
	switch {
	case u.startsWithSlash(s):
		return p.pathAndQuery(s)
	case s == "" || s[0] == '?':
		u.path, u.query = append([]string(nil), base.path...), base.query
		if s != "" {
			p.setQuery(s[1:], true)
		}
		return true
	}
	u.path = append([]string(nil), base.path...)
	u.shortenPath()
	return p.pathAndQuery(s)
}

// parseAuthority parses the part of a URL after "//": user, password, host, port and the rest.
func (p *urlParser) parseAuthority(s string) bool {
	u := p.u
	end := strings.IndexAny(s, "/?")
	if isSpecial(u.scheme) {
		end = strings.IndexAny(s, `/?\`)
	}
	if end < 0 {
		end = len(s)
	}
	authority, rest := s[:end], s[end:]
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		user, password, _ := strings.Cut(authority[:at], ":")
		u.username, u.password = percentEncode(user, userSet), percentEncode(password, userSet)
		if authority = authority[at+1:]; authority == "" {
			return false
		}
	}
	return p.hostAndPort(authority) && p.pathAndQuery(rest)
}

// hostAndPort parses a text such as host or host:port.
func (p *urlParser) hostAndPort(s string) bool {
	u := p.u
	host, port := s, ""
	if colon := strings.LastIndexByte(s, ':'); colon > strings.LastIndexByte(s, ']') {
		host, port = s[:colon], s[colon+1:]
		if host == "" {
			return false
		}
	}
	if host == "" && isSpecial(u.scheme) {
		return false
	}
	parsed, ok := parseHost(host, isSpecial(u.scheme))
	if !ok {
		return false
	}
	u.host, u.hasHost = parsed, true
	return u.setPort(port)
}

// setPort sets the port, given as decimal digits. The default port of the scheme becomes "".
func (u *webURL) setPort(s string) bool {
	n := 0
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
		if n = n*10 + int(c-'0'); n > 65535 {
			return false
		}
	}
	u.port = ""
	if s != "" && decimal(n) != specialPorts[u.scheme] {
		u.port = decimal(n)
	}
	return true
}

var driveLetter = regexp.MustCompile(`^[a-zA-Z][:|]$`)

// parseFile parses the part of a URL after "file:".
func (p *urlParser) parseFile(s string, base *webURL) bool {
	u := p.u
	u.hasHost = true
	switch {
	case u.startsWithSlash(s) && u.startsWithSlash(s[1:]):
		end := strings.IndexAny(s[2:], `/\?`)
		if end < 0 {
			end = len(s) - 2
		}
		host := s[2 : 2+end]
		if driveLetter.MatchString(host) {
			return p.pathAndQuery(s[1:])
		}
		parsed := ""
		if host != "" {
			var ok bool
			if parsed, ok = parseHost(host, true); !ok {
				return false
			}
		}
		if parsed != "localhost" {
			u.host = parsed
		}
		return p.pathAndQuery(s[2+end:])
	case base == nil:
		return p.pathAndQuery(s)
	}
	u.host = base.host
	switch slash := u.startsWithSlash(s); {
	case startsWithDrive(s):
		return p.pathAndQuery(s)
	case slash && !startsWithDrive(s[1:]) && len(base.path) > 0 && driveLetter.MatchString(base.path[0]):
		u.path = base.path[:1:1]
	}
	return p.resolvePath(s, base)
}

// startsWithDrive reports whether a path begins with a drive letter of Windows, such as C:.
func startsWithDrive(s string) bool {
	return len(s) >= 2 && driveLetter.MatchString(s[:2]) && (len(s) == 2 || strings.IndexByte(`/\?`, s[2]) >= 0)
}

// pathAndQuery parses a path and a query.
func (p *urlParser) pathAndQuery(s string) bool {
	path, query, hasQuery := strings.Cut(s, "?")
	p.u.addPath(path)
	p.setQuery(query, hasQuery)
	return true
}

func (p *urlParser) setQuery(s string, is bool) {
	if !is {
		return
	}
	set := querySet
	if isSpecial(p.u.scheme) {
		set = specialQuery
	}
	q := percentEncode(s, set)
	p.u.query = &q
}

// addPath appends the segments of a path. It resolves the segments "." and "..".
func (u *webURL) addPath(s string) {
	if s == "" {
		if isSpecial(u.scheme) && len(u.path) == 0 {
			u.path = []string{""}
		}
		return
	}
	if isSpecial(u.scheme) {
		s = strings.ReplaceAll(s, `\`, "/")
	}
	segments := strings.Split(strings.TrimPrefix(s, "/"), "/")
	for i, segment := range segments {
		last := i == len(segments)-1
		switch strings.ReplaceAll(strings.ToLower(segment), "%2e", ".") {
		case "..":
			u.shortenPath()
			if last {
				u.path = append(u.path, "")
			}
		case ".":
			if last {
				u.path = append(u.path, "")
			}
		default:
			if u.scheme == "file" && len(u.path) == 0 && driveLetter.MatchString(segment) {
				segment = segment[:1] + ":"
			}
			u.path = append(u.path, percentEncode(segment, pathSet))
		}
	}
}

// shortenPath removes the last segment of the path, but not the drive letter of a file URL.
func (u *webURL) shortenPath() {
	n := len(u.path)
	if n == 0 || u.scheme == "file" && n == 1 && len(u.path[0]) == 2 && driveLetter.MatchString(u.path[0]) && u.path[0][1] == ':' {
		return
	}
	u.path = u.path[:n-1]
}

// assignPart sets a property of a URL object, such as host. It ignores a value that would make the URL invalid.
func (u *webURL) assignPart(name, value string) {
	value = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(value)
	p := &urlParser{u: u}
	named := u.host != "" && u.scheme != "file"
	switch name {
	case "protocol":
		u.assignScheme(value)
	case "username", "password":
		if named && name == "username" {
			u.username = percentEncode(value, userSet)
		} else if named {
			u.password = percentEncode(value, userSet)
		}
	case "host", "hostname":
		u.assignHost(p, name, value)
	case "port":
		digits := value
		if end := strings.IndexFunc(value, func(c rune) bool { return c < '0' || c > '9' }); end >= 0 {
			digits = value[:end]
		}
		if named && (digits != "" || value == "") {
			u.setPort(digits)
		}
	case "pathname":
		if !u.isOpaque {
			u.path = nil
			value = strings.NewReplacer("?", "%3F", "#", "%23").Replace(value)
			u.addPath(value)
			if !u.hasHost && len(u.path) == 0 {
				u.path = []string{""}
			}
		}
	case "search":
		u.query = nil
		if value != "" {
			p.setQuery(strings.ReplaceAll(strings.TrimPrefix(value, "?"), "#", "%23"), true)
		}
		u.trimOpaque()
	case "hash":
		u.fragment = nil
		if value != "" {
			f := percentEncode(strings.TrimPrefix(value, "#"), fragmentSet)
			u.fragment = &f
		}
		u.trimOpaque()
	}
}

// trimOpaque removes spaces at the end of an opaque path, if no query and no fragment follows.
func (u *webURL) trimOpaque() {
	if u.query == nil && u.fragment == nil {
		u.opaque = strings.TrimRight(u.opaque, " ")
	}
}

func (u *webURL) assignScheme(value string) {
	scheme := schemePattern.FindString(value + ":")
	if scheme == "" {
		return
	}
	scheme = strings.ToLower(scheme[:len(scheme)-1])
	if isSpecial(scheme) != isSpecial(u.scheme) || scheme == "file" && (u.username != "" || u.password != "" || u.port != "") || u.scheme == "file" && u.host == "" {
		return
	}
	u.scheme = scheme
	if u.port == specialPorts[scheme] {
		u.port = ""
	}
}

func (u *webURL) assignHost(p *urlParser, name, value string) {
	if u.isOpaque {
		return
	}
	end := strings.IndexAny(value, "/?#")
	if isSpecial(u.scheme) {
		end = strings.IndexAny(value, `/?#\`)
	}
	if end >= 0 {
		value = value[:end]
	}
	port := ""
	if colon := strings.LastIndexByte(value, ':'); colon > strings.LastIndexByte(value, ']') {
		value, port = value[:colon], value[colon+1:]
		if name == "hostname" || value == "" || u.scheme == "file" {
			return
		}
	}
	if value == "" && (isSpecial(u.scheme) && u.scheme != "file" || u.username != "" || u.password != "" || u.port != "") {
		return
	}
	if host, ok := parseHost(value, isSpecial(u.scheme)); ok || value == "" {
		u.host, u.hasHost = host, true
		if port != "" {
			u.setPort(port)
		}
	}
}
