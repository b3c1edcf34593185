package script

import (
	"testing"

	"restsrv/engine/script/platform"
)

// TestURLParsing compares new URL(input, base).href with the URL Standard.
func TestURLParsing(t *testing.T) {
	var probes []probe
	for _, c := range [][3]string{
		{"http://Example.COM:80/a/../b/./c?q=1#f", "", "http://example.com/b/c?q=1#f"},
		{"  https://a.b/\n\tc  ", "", "https://a.b/c"},
		{"//other/x", "https://a.b/c/d", "https://other/x"},
		{"/x?y", "https://a.b:8443/c/d?z#w", "https://a.b:8443/x?y"},
		{"x", "https://a.b/c/d?z#w", "https://a.b/c/x"},
		{"../x/", "https://a.b/c/d/e", "https://a.b/c/x/"},
		{"../../../x", "https://a.b/c/d", "https://a.b/x"},
		{"?q", "https://a.b/c/d?z#w", "https://a.b/c/d?q"},
		{"#f", "https://a.b/c/d?z#w", "https://a.b/c/d?z#f"},
		{"", "https://a.b/c/d?z#w", "https://a.b/c/d?z"},
		{"https:x", "https://a.b/c/d", "https://a.b/c/x"},
		{"https:x", "http://a.b/c/d", "https://x/"},
		{`\\h\p\..\q`, "http://a.b/c", "http://h/q"},
		{"http:////a", "", "http://a/"},
		{"http://user:p%40ss@host/", "", "http://user:p%40ss@host/"},
		{"http://a@b@c/", "", "http://a%40b@c/"},
		{"http://u:@h/", "", "http://u@h/"},
		{"http://h/ü ?ü '\"#ü `", "", "http://h/%C3%BC%20?%C3%BC%20%27%22#%C3%BC%20%60"},
		{"http://h/%7ea%zz%", "", "http://h/%7ea%zz%"},
		{"http://h/a%2e%2E/b%2e/%2e", "", "http://h/a%2e%2E/b%2e/"},
		{"http://h/a/%2e%2E/b", "", "http://h/b"},
		{"http://münchen.example/", "", "http://xn--mnchen-3ya.example/"},
		{"http://ПРИМЕР.рф/", "", "http://xn--e1afmkfd.xn--p1ai/"},
		{"http://日本語。ＪＰ", "", "http://xn--wgv71a119e.jp/"},
		{"http://ex%41mple.com", "", "http://example.com/"},
		{"http://[2001:DB8:0:0:1:0:0:1]:8080/", "", "http://[2001:db8::1:0:0:1]:8080/"},
		{"http://[::FFFF:127.0.0.1]/", "", "http://[::ffff:7f00:1]/"},
		{"http://[0:0:0:0:0:0:0:0]/", "", "http://[::]/"},
		{"http://[1:0:0:2:0:0:0:3]/", "", "http://[1:0:0:2::3]/"},
		{"http://2130706433/", "", "http://127.0.0.1/"},
		{"http://0x7f.1/", "", "http://127.0.0.1/"},
		{"http://0177.0.0.01/", "", "http://127.0.0.1/"},
		{"http://0x7F000001./", "", "http://127.0.0.1/"},
		{"http://1.2.3/", "", "http://1.2.0.3/"},
		{"http://１２７.０.０.１/", "", "http://127.0.0.1/"},
		{"mailto:a@b.c?x#y", "", "mailto:a@b.c?x#y"},
		{"data:text/plain,a b", "", "data:text/plain,a b"},
		{"foo://Host/a/../b", "", "foo://Host/b"},
		{"foo:/a//b", "", "foo:/a//b"},
		{"foo:/.//b", "", "foo:/.//b"},
		{"file:///C|/a/../..", "", "file:///C:/"},
		{"file://localhost/a", "", "file:///a"},
		{"b", "file:///x/a", "file:///x/b"},
		{"#x", "mailto:a@b", "mailto:a@b#x"},
		{"http://h:00080/", "", "http://h/"},
		{"http://h:/", "", "http://h/"},
		{"HTTP://H", "", "http://h/"},
	} {
		base := "undefined"
		if c[1] != "" {
			base = quoteJS(c[1])
		}
		probes = append(probes, probe{"new URL(" + quoteJS(c[0]) + ", " + base + ").href", quoteJS(c[2])})
	}
	for _, bad := range []string{"", "x", "/x", "http://", "http:///", "http://a b/", "http://h:99999/", "http://h:8a/", "http://[::1", "http://[1::2::3]",
		"http://[::1%25eth0]/", "http://a%00b/", "http://256.1.1.1/", "http://1.2.3.4.5/", "http://a<b/", "http://@/", "http://:80/", "foo://a b", "http://a%", "http://[1.2.3.4]/", "http://1.2.3.08/"} {
		probes = append(probes, probe{"new URL(" + quoteJS(bad) + ")", "!TypeError: Invalid URL"})
	}
	runProbes(t, platform.Settings{}, probes)
}

func quoteJS(s string) string {
	out := `"`
	for _, c := range s {
		switch c {
		case '"', '\\':
			out += `\` + string(c)
		case '\n':
			out += `\n`
		case '\t':
			out += `\t`
		default:
			out += string(c)
		}
	}
	return out + `"`
}

// TestURL checks the properties of URL and URLSearchParams.
func TestURL(t *testing.T) {
	const all = `((u) => [u.protocol, u.username, u.password, u.host, u.hostname, u.port, u.pathname, u.search, u.hash, u.origin])`
	runProbes(t, platform.Settings{}, []probe{
		{all + `(new URL('https://u:p@h:8443/a?b=c#d'))`, `["https:","u","p","h:8443","h","8443","/a","?b=c","#d","https://h:8443"]`},
		{all + `(new URL('mailto:x?#'))`, `["mailto:","","","","","","x","","","null"]`},
		{`(() => { const u = new URL('http://h/'); u.protocol = 'https'; u.username = 'a b'; u.password = 'x@y'; u.host = 'Other:81'; u.pathname = 'p q?'; u.search = 'a=b c#'; u.hash = 'f g'; return u.href })()`, `"https://a%20b:x%40y@other:81/p%20q%3F?a=b%20c%23#f%20g"`},
		{`(() => { const u = new URL('http://h:8080/'); u.port = '80'; u.hostname = 'a:1'; u.protocol = 'foo'; u.host = ''; u.port = 'x'; return u.href })()`, `"http://h/"`},
		{`(() => { const u = new URL('http://h/?a=1'); const p = u.searchParams; p.append('b', 'ü &'); u.search = '?z=9'; p.set('y', 1); return [u.href, [...p], p === u.searchParams] })()`, `["http://h/?z=9&y=1",[["z","9"],["y","1"]],true]`},
		{`(() => { const u = new URL('http://h/?a#f'); u.searchParams.delete('a'); return u.href })()`, `"http://h/#f"`},
		{`(() => { const u = new URL('http://h/'); u.href = 'nope' })()`, `!TypeError: Invalid URL`},
		{`[URL.canParse('x'), URL.canParse('x', 'http://h'), URL.parse('x'), URL.parse('http://h').href]`, `[false,true,null,"http://h/"]`},
		{`[JSON.stringify(new URL('http://h')), new URL('http://h') + '', Object.prototype.toString.call(new URL('http://h')), new URL(new URL('http://h/a'), new URL('http://x')).href]`, `["\"http://h/\"","http://h/","[object URL]","http://h/a"]`},
		{`(() => { try { new URL('x', 'y') } catch (e) { return [e.code, e.input, e.base] } })()`, `["ERR_INVALID_URL","x","y"]`},
		{`new URLSearchParams('?a=1&b=%D1%8F+x&a=2&&c&=d&e=%zz').toString()`, `"a=1&b=%D1%8F+x&a=2&c=&=d&e=%25zz"`},
		{`[new URLSearchParams({a: 1, b: 'x y'}), new URLSearchParams([['a', 1], ['a', 2]]), new URLSearchParams(new Map([['m', 1]])), new URLSearchParams(new URLSearchParams('q=1'))].map(String)`, `["a=1&b=x+y","a=1&a=2","m=1","q=1"]`},
		{`new URLSearchParams([['a']])`, `!TypeError: Each query pair must be an iterable [name, value] tuple`},
		{`(() => { const p = new URLSearchParams('a=1&b=2&a=3'); return [p.get('a'), p.get('z'), p.getAll('a'), p.has('a', '3'), p.has('a', '4'), p.size, [...p.keys()], [...p.values()]] })()`, `["1",null,["1","3"],true,false,3,["a","b","a"],["1","2","3"]]`},
		{`(() => { const p = new URLSearchParams('b=1&a=1&b=2&a=0'); p.set('b', 9); p.delete('a', '0'); p.append('c', '*-._~!'); p.sort(); return p + '' })()`, `"a=1&b=9&c=*-._%7E%21"`},
		{`(() => { const seen = []; new URLSearchParams('a=1&b=2').forEach((v, k) => seen.push(k + v)); return seen })()`, `["a1","b2"]`},
	})
}
