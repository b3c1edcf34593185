package deploy

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

// publicURL reads the address by which clients reach the server. The address must not have a path:
// cookies, redirects and links to files only work if the server is at the root.
func (l *loader) publicURL(o jsonfile.Object) {
	text := o.Text("publicURL")
	if text == "" {
		return
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil ||
		strings.Trim(u.EscapedPath(), "/") != "" || u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#") || strings.HasSuffix(u.Host, ":") {
		found := engine.Quote(text)
		if err != nil || u.User != nil {
			found = "another text" // the text may contain a password
		}
		o.Fault(o.At("publicURL"), found, "https://host or https://host:port, without a path")
		return
	}
	host := strings.ToLower(u.Host)
	if u.Scheme == "https" {
		host = strings.TrimSuffix(host, ":443")
	} else {
		host = strings.TrimSuffix(host, ":80")
	}
	l.config.PublicURL = u.Scheme + "://" + host
}

// trustedProxies reads a list of IP addresses and networks such as 10.0.0.0/8.
func (l *loader) trustedProxies(o jsonfile.Object) {
	for i, v := range o.List("trustedProxies") {
		text, _ := v.(string)
		p, err := netip.ParsePrefix(text)
		if a, bad := netip.ParseAddr(text); bad == nil {
			a = a.Unmap().WithZone("")
			p, err = netip.PrefixFrom(a, a.BitLen()), nil
		}
		if err != nil || p.Addr().Is4In6() {
			found := jsonfile.Describe(v)
			if text != "" {
				found = engine.Quote(text)
			}
			o.Fault(jsonfile.Element(o.At("trustedProxies"), i), found, "an address such as 10.0.0.1, or a network such as 10.0.0.0/8")
			continue
		}
		l.config.TrustedProxies = append(l.config.TrustedProxies, p.Masked())
	}
}

// readSession reads the setting session: the lifetimes of browser sessions and their number.
func (l *loader) readSession(o jsonfile.Object) {
	in, ok := o.Child("session")
	if !ok {
		return
	}
	in.WarnRepeated()
	in.WarnUnknown([]string{"idle", "lifetime", "perAccount", "all"})
	c := l.config
	c.SessionIdle = readSeconds(in, "idle", time.Second, c.SessionIdle)
	c.SessionLifetime = readSeconds(in, "lifetime", time.Second, c.SessionLifetime)
	if n, ok := in.Whole("perAccount", 1, 1_000_000); ok {
		c.SessionsPerAccount = int(n)
	}
	if n, ok := in.Whole("all", 1, 100_000_000); ok {
		if c.SessionsOfAll = int(n); n < int64(c.SessionsPerAccount) {
			in.Fault(in.At("all"), strconv.FormatInt(n, 10), "at least "+strconv.Itoa(c.SessionsPerAccount)+", the sessions of one account")
		}
	}
}

// Idempotency limits the responses that are stored to answer repeated requests with the same
// Idempotency-Key. If a limit is 0, the default is used.
type Idempotency struct {
	Keys        int   // stored keys of one account
	AnswerBytes int   // size of one response; a longer one is not stored
	Bytes       int64 // stored bytes of one account
	TotalBytes  int64 // stored bytes of all accounts
}

// readIdempotency reads the setting idempotency.
func (l *loader) readIdempotency(o jsonfile.Object) {
	in, ok := o.Child("idempotency")
	if !ok {
		return
	}
	in.WarnRepeated()
	in.WarnUnknown([]string{"keys", "bytes", "totalBytes", "answerBytes"})
	i := &l.config.Idempotency
	if n, ok := in.Whole("keys", 1, 10_000_000); ok {
		i.Keys = int(n)
	}
	if n, ok := in.Whole("answerBytes", 1, 64<<20); ok {
		i.AnswerBytes = int(n)
	}
	for name, bytes := range map[string]*int64{"bytes": &i.Bytes, "totalBytes": &i.TotalBytes} {
		if n, ok := in.Whole(name, 1, 1<<40); ok {
			*bytes = n
		}
	}
	all, own := i.TotalBytes, i.Bytes
	if all > 0 && own > all {
		in.Fault(in.At("bytes"), strconv.FormatInt(own, 10), "at most "+strconv.FormatInt(all, 10)+", the bytes of all accounts")
	}
}
