package postgres

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lib/pq"
)

// defaultPort is the port of a host for which the address has no port.
const defaultPort = "5432"

// errForm is the error for an address that is not a PostgreSQL URI. It does not wrap errors of the libraries, because
// they may quote the address with its password.
var errForm = fmt.Errorf("%w: it is postgres://user:password@host:port/database, several hosts with commas between them, IPv6 addresses in brackets, and special characters of the password as %%XX", ErrAddress)

// parse reads an address in the form of libpq, which may have several hosts:
//
//	postgres://user:password@host:port,[::1]:port,host/database?parameter=value
func parse(address string) (pq.Config, error) {
	u, q, err := withHostParameters(address)
	if err != nil {
		return pq.Config{}, err
	}
	cfg, err := pq.NewConfig(u.String())
	if err != nil {
		return pq.Config{}, fmt.Errorf("%w: %s", ErrAddress, describeError(err))
	}
	if hosts := q.Get("host"); hosts != "" { // with several hosts and PGHOST, the driver would also try the hosts of PGHOST
		cfg.Multi = cfg.Multi[max(0, len(cfg.Multi)-strings.Count(hosts, ",")):]
	}
	setEncryption(&cfg, q)
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = connectTimeout
	}
	if cfg.ApplicationName == "" {
		cfg.ApplicationName = "restsrv"
	}
	if cfg.Runtime == nil {
		cfg.Runtime = map[string]string{}
	}
	if _, given := cfg.Runtime["max_parallel_workers_per_gather"]; !given {
		cfg.Runtime["max_parallel_workers_per_gather"] = "0" // a long read must not use several processors
	}
	cfg.Runtime["extra_float_digits"] = "3" // reals are read back exactly as they were written
	return cfg, nil
}

// withHostParameters moves the hosts and ports of the address to the parameters host and port, because the driver
// accepts several hosts only in parameters. As in libpq, parameters of the address take precedence.
func withHostParameters(address string) (*url.URL, url.Values, error) {
	scheme, rest, _ := strings.Cut(address, "://")
	if scheme != "postgres" && scheme != "postgresql" {
		return nil, nil, errForm
	}
	authority, tail := rest, ""
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority, tail = rest[:end], rest[end:]
	}
	at := strings.LastIndexByte(authority, '@') + 1
	hosts, ports, err := splitHosts(authority[at:])
	if err != nil {
		return nil, nil, errForm
	}
	u, err := url.Parse(scheme + "://" + authority[:at] + tail)
	if err != nil {
		return nil, nil, errForm
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, nil, errForm
	}
	if q.Get("host") == "" && hosts != "" {
		q.Set("host", hosts)
	}
	if q.Get("port") == "" && ports != "" {
		q.Set("port", ports)
	}
	if u.RawQuery = q.Encode(); u.Path == "" {
		u.Path = "/" // otherwise the driver would not recognize a URL
	}
	return u, q, nil
}

// splitHosts splits a text such as host:port,host:port into a list of hosts and a list of ports, separated by commas.
// ports is "" if no host has a port.
func splitHosts(text string) (hosts, ports string, err error) {
	parts := strings.Split(text, ",")
	var names, numbers []string
	numbered := false
	for _, part := range parts {
		host, port, err := splitHost(part)
		if err != nil {
			return "", "", err
		}
		numbered = numbered || port != ""
		if host == "" && len(parts) > 1 {
			host = "localhost"
		}
		if port == "" {
			port = defaultPort
		}
		names, numbers = append(names, host), append(numbers, port)
	}
	if numbered {
		ports = strings.Join(numbers, ",")
	}
	return strings.Join(names, ","), ports, nil
}

var errHost = errors.New("not host:port")

// splitHost splits a host and its port. The host may be an IPv6 address in brackets or the folder of a socket.
func splitHost(text string) (host, port string, err error) {
	inner, bracketed := strings.CutPrefix(text, "[")
	if bracketed {
		host, port, bracketed = strings.Cut(inner, "]")
		if !bracketed || port != "" && port[0] != ':' {
			return "", "", errHost
		}
		port = strings.TrimPrefix(port, ":")
	} else {
		host, port, _ = strings.Cut(text, ":")
	}
	if host, err = url.PathUnescape(host); err != nil {
		return "", "", err
	}
	if bracketed {
		if address, err := netip.ParseAddr(host); err != nil || !address.Is6() {
			return "", "", errHost
		}
	}
	if strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r == 0x7f || r == ',' || r == utf8.RuneError }) {
		return "", "", errHost
	}
	if n, err := strconv.ParseUint(port, 10, 16); port != "" && (err != nil || n == 0) {
		return "", "", errHost
	}
	return host, port, nil
}

// setEncryption sets the TLS mode. If neither the address nor the environment specifies a mode, connections use TLS,
// except if all hosts are sockets or loopback addresses. setEncryption also corrects the driver: if the first host is
// a socket, the driver turns TLS off for all hosts.
func setEncryption(cfg *pq.Config, q url.Values) {
	given := q.Get("sslmode")
	if given == "" {
		given = os.Getenv("PGSSLMODE")
	}
	switch {
	case isLocal(*cfg):
		if cfg.SSLMode == "" {
			cfg.SSLMode = pq.SSLModeDisable
		}
	case given != "":
		cfg.SSLMode = pq.SSLMode(given)
	case cfg.SSLMode == "" || cfg.SSLMode == pq.SSLModeDisable:
		cfg.SSLMode = pq.SSLModeRequire
	}
}

// describeError returns the driver's description of an error, without the address, which may contain the password.
func describeError(err error) string {
	var parsing *url.Error
	if errors.As(err, &parsing) {
		return "it is malformed"
	}
	return strings.TrimPrefix(err.Error(), "pq: ")
}

// isLocal reports whether every host of cfg is this machine.
func isLocal(cfg pq.Config) bool {
	if !localHost(cfg.Host, cfg.Hostaddr) {
		return false
	}
	for _, m := range cfg.Multi {
		if !localHost(m.Host, m.Hostaddr) {
			return false
		}
	}
	return true
}

func localHost(name string, address netip.Addr) bool {
	if address.IsValid() && !address.IsLoopback() {
		return false
	}
	if name == "" || name == "localhost" || name[0] == '/' || name[0] == '@' {
		return true
	}
	ip := net.ParseIP(strings.Trim(name, "[]"))
	return ip != nil && ip.IsLoopback()
}
