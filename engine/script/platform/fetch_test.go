package platform

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// TestPublicAddresses: only public addresses of the Internet count as public.
func TestPublicAddresses(t *testing.T) {
	for _, s := range []string{
		"127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254",
		"100.64.0.1", "100.127.255.255", "192.0.0.8", "198.18.0.1", "198.19.255.255", "224.0.0.1", "239.1.2.3", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:0:127.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::8.8.8.8",
		"64:ff9b:1::1", "2002:7f00:1::", "2001::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12:3456::1", "fec0::1", "ff02::1", "2001:db8::1", "100::1",
	} {
		if !isInternal(netip.MustParseAddr(s)) {
			t.Errorf("%s counts as a public address, want internal", s)
		}
	}
	for _, s := range []string{"8.8.8.8", "1.1.1.1", "172.15.0.1", "172.32.0.1", "100.63.0.1", "100.128.0.1", "192.169.0.1", "::ffff:8.8.8.8", "2606:4700::1111", "2a00:1450::1"} {
		if isInternal(netip.MustParseAddr(s)) {
			t.Errorf("%s counts as an internal address, want public", s)
		}
	}
}

// TestFetchHosts tests the URLs that an entry of globals.scripts.fetch.hosts allows.
func TestFetchHosts(t *testing.T) {
	for _, c := range []struct {
		entry, url string
		want       bool
	}{
		{"api.example.com", "https://api.example.com/x", true},
		{"api.example.com", "http://API.example.com./", true},
		{"API.Example.com.", "http://api.example.com/", true},
		{"api.example.com", "https://api.example.com:8443/", false},
		{"api.example.com:8443", "https://api.example.com:8443/", true},
		{"api.example.com:8443", "https://api.example.com/", false},
		{"api.example.com:443", "https://api.example.com/", true},
		{"api.example.com:443", "http://api.example.com/", false},
		{"example.com", "https://api.example.com/", false},
		{"example.com", "https://example.com.evil.test/", false},
		{"example.com", "https://evil-example.com/", false},
		{"example.com", "https://evil.test/?example.com", false},
		{"example.com", "https://evil.test#@example.com/", false},
		{"example.com", `https://evil.test\@example.com/`, false},
		{"example.com", "https://example.com@evil.test/", false},
		{"*.example.com", "https://a.b.example.com/", true},
		{"*.example.com", "https://example.com/", false},
		{"*.example.com", "https://.example.com/", false},
		{"*.example.com", "https://xexample.com/", false},
		{"*.example.com:81", "http://a.example.com:81/", true},
		{"*.example.com:81", "http://a.example.com/", false},
		{"*", "http://anything:9999/", true},
		{"127.0.0.1", "http://2130706433/", true}, // the same address in another spelling
		{"127.0.0.1", "http://0x7f.0.0.1/", true},
		{"::1", "http://[::1]/", true},
		{"[::1]:8080", "http://[0:0::1]:8080/", true},
		{"[::1]:8080", "http://[::1]/", false},
		{"пример.рф", "http://xn--e1afmkfd.xn--p1ai/", true},
	} {
		f := &Fetch{Hosts: []string{c.entry}}
		u := parseURL(c.url, nil)
		if got := u != nil && f.checkHost(u) == nil; got != c.want {
			t.Errorf("entry %s, URL %s: allowed: got %v, want %v", c.entry, c.url, got, c.want)
		}
	}
	if (&Fetch{}).checkHost(parseURL("http://example.com/", nil)) == nil {
		t.Error("without the setting, http://example.com/ is allowed")
	}
}

// second is a private address for a test in which 127.0.0.1 is a public one.
var second = netip.MustParseAddr("127.0.0.2")

func ask(f *Fetch, address string) (string, error) {
	m, err := newMessage(parseURL(address, nil), "GET", nil, nil, "follow")
	if err != nil {
		return "", err
	}
	r, err := f.send(context.Background(), m, false)
	if err != nil {
		return "", err
	}
	return string(r.body), r.broken
}

// TestRedirectsToPrivateAddresses: redirects from an allowed address to a private one are refused, by address, by name, and after a
// redirect back.
func TestRedirectsToPrivateAddresses(t *testing.T) {
	inside := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "secret") }))
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Skip("this machine has only one loopback address:", err)
	}
	inside.Listener = l
	inside.Start()
	defer inside.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	outside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			w.Header().Set("Location", to)
			w.WriteHeader(302)
			return
		}
		_, _ = io.WriteString(w, "public")
	}))
	defer outside.Close()
	f := &Fetch{Hosts: []string{"*"}, client: newClient(func(a netip.Addr) bool { return a.Unmap() != second })}
	if got, err := ask(f, outside.URL+"/"); err != nil || got != "public" {
		t.Fatalf("%s %v", got, err)
	}
	for _, to := range []string{
		"http://127.0.0.2:" + port + "/", "//127.0.0.2:" + port, "http://2130706434:" + port + "/", "http://0177.0.0.2:" + port + "/", "http://0x7f000002:" + port + "/",
		"http://127.2:" + port + "/", "http://[::ffff:127.0.0.2]:" + port + "/", "http://[::ffff:7f00:2]:" + port + "/",
		outside.URL + "/?to=http://127.0.0.2:" + port + "/",
	} {
		got, err := ask(f, outside.URL+"/?to="+strings.NewReplacer("?", "%3F", "&", "%26").Replace(to))
		if err == nil || !strings.Contains(err.Error(), "private address") || strings.Contains(err.Error(), "127.0.0.2:"+port+":") {
			t.Errorf("a redirect to %s: got %q and the error %v", to, got, err)
		}
	}
}
