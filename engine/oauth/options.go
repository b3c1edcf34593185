package oauth

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
)

// Options are the options of the OAuth2 plug-in in deploy.json.
type Options struct {
	AccessLifetime  time.Duration // lifetime of access tokens; 0 means 1 hour
	RefreshLifetime time.Duration // lifetime of refresh tokens, from their last use; 0 means 14 days
	CodeLifetime    time.Duration // lifetime of codes; 0 means 5 minutes
	Clients         []Client      // clients in addition to accounts
	// Maximum number of grants. Codes that were not exchanged yet count as
	// grants.
	GrantsPerAccount int // when exceeded, the oldest grant of the account is revoked; 0 means DefaultGrantsPerAccount
	GrantsOfAll      int // when exceeded, the oldest grant of the account with the most grants is revoked; 0 means DefaultGrantsOfAll
}

// The defaults of Options.
const (
	DefaultGrantsPerAccount = 1000
	DefaultGrantsOfAll      = 200_000
)

func (o Options) withDefaults() Options {
	o.AccessLifetime = firstPositive(o.AccessLifetime, time.Hour)
	o.RefreshLifetime = firstPositive(o.RefreshLifetime, 14*24*time.Hour)
	o.CodeLifetime = firstPositive(o.CodeLifetime, 5*time.Minute)
	if o.GrantsPerAccount <= 0 {
		o.GrantsPerAccount = DefaultGrantsPerAccount
	}
	if o.GrantsOfAll <= 0 {
		o.GrantsOfAll = max(DefaultGrantsOfAll, o.GrantsPerAccount)
	}
	return o
}

func firstPositive(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

// optionNames returns the known options. The last four are references to
// components in IONDV; they are accepted but not used.
func optionNames() []string {
	return []string{"accessTokenLifetime", "refreshTokenLifetime", "authorizationCodeLifetime", "maxGrants", "clients", "auth", "dataSource", "settings", "accounts"}
}

// clientNames returns the fields of a client in the properties of an account, under "oauth". The
// function configuredNames returns these fields and those that only a configured client has.
func clientNames() []string {
	return []string{"name", "redirectUris", "grants", "scopes", "public", "remember", "accessTokenLifetime", "refreshTokenLifetime"}
}

func configuredNames() []string {
	return append(clientNames(), "id", "secret", "secretHash", "account")
}

// Maximum lifetimes, in seconds.
const (
	maxAccess  = 366 * 24 * 60 * 60
	maxRefresh = 10 * maxAccess
	maxCode    = 60 * 60 // RFC 6749 section 4.1.2 recommends at most ten minutes
)

func newObject(file, path string, fields engine.Fields, faults *engine.Faults) jsonfile.Object {
	return jsonfile.Object{File: file, Path: path, Fields: fields, Faults: faults}
}

// ParseOptions reads the options of the plug-in from fields. The faults contain file and path,
// the position of the options.
func ParseOptions(file, path string, fields engine.Fields) (Options, engine.Faults) {
	var faults engine.Faults
	o := newObject(file, path, fields, &faults)
	o.WarnRepeated()
	o.WarnUnknown(optionNames())
	options := Options{
		AccessLifetime:  parseLifetime(o, "accessTokenLifetime", maxAccess),
		RefreshLifetime: parseLifetime(o, "refreshTokenLifetime", maxRefresh),
		CodeLifetime:    parseLifetime(o, "authorizationCodeLifetime", maxCode),
	}
	options.readGrants(o)
	seen := map[string]bool{}
	lenient := o
	lenient.Lenient = true
	for i, v := range lenient.List("clients") {
		before := len(faults)
		at := jsonfile.Element(o.At("clients"), i)
		entry, ok := v.(engine.Fields)
		if !ok {
			o.Report(mistake.OAuthClient, at, jsonfile.Describe(v), "an object")
			continue
		}
		c := readConfigured(newObject(file, at, entry, &faults))
		if seen[c.ID] {
			o.Fault(at, "client "+engine.Quote(c.ID)+" again", "each client once")
		}
		seen[c.ID] = true
		if !mistake.OAuthClient.Apply(faults[before:]) {
			options.Clients = append(options.Clients, *c)
		}
	}
	return options, faults
}

// readGrants reads {"maxGrants": {"perAccount": number, "all": number}}.
func (o *Options) readGrants(in jsonfile.Object) {
	in, ok := in.Child("maxGrants")
	if !ok {
		return
	}
	in.WarnRepeated()
	in.WarnUnknown([]string{"perAccount", "all"})
	if n, ok := in.Whole("perAccount", 1, 1_000_000); ok {
		o.GrantsPerAccount = int(n)
	}
	if n, ok := in.Whole("all", 1, 100_000_000); ok {
		o.GrantsOfAll = int(n)
	}
	if limits := o.withDefaults(); limits.GrantsPerAccount > limits.GrantsOfAll {
		in.Fault(in.At("perAccount"), strconv.Itoa(limits.GrantsPerAccount), "at most "+strconv.Itoa(limits.GrantsOfAll)+", the grants of all accounts together")
	}
}

func parseLifetime(o jsonfile.Object, name string, most int64) time.Duration {
	n, _ := o.Whole(name, 1, most)
	return time.Duration(n) * time.Second
}

// readClient reads the fields that both kinds of clients have: accounts and configured
// clients. Invalid parts are ignored and reported as faults.
func readClient(o jsonfile.Object) *Client {
	c := &Client{
		Name: o.Text("name"), Public: o.Flag("public", false), Remember: o.Flag("remember", false),
		AccessLifetime:  parseLifetime(o, "accessTokenLifetime", maxAccess),
		RefreshLifetime: parseLifetime(o, "refreshTokenLifetime", maxRefresh),
	}
	c.listed = o.Value("redirectUris") != nil
	for i, uri := range parseTexts(o, "redirectUris") {
		if wrong := CheckRedirect(uri); wrong != "" {
			o.Fault(jsonfile.Element(o.At("redirectUris"), i), engine.Quote(uri), wrong)
			continue
		}
		c.RedirectURIs = append(c.RedirectURIs, uri)
	}
	if o.Value("grants") != nil {
		c.Grants = []string{}
	}
	for i, grant := range parseTexts(o, "grants") {
		if !slices.Contains(grantTypes(), grant) {
			o.Warn(jsonfile.Element(o.At("grants"), i), engine.Quote(grant), "one of "+strings.Join(grantTypes(), ", ")+": it is ignored")
			continue
		}
		c.Grants = append(c.Grants, grant)
	}
	words := strings.Join(parseTexts(o, "scopes"), " ")
	scope, err := engine.ParseScope(words)
	if err != nil {
		o.Fault(o.At("scopes"), engine.Quote(words), "services, or service:permission: "+err.Error())
		scope = emptyScope()
	}
	c.Scope = scope
	return c
}

// emptyScope returns a scope that allows no service. Use it if the configured
// scope is invalid.
func emptyScope() *engine.Scope {
	s, _ := engine.ParseScope("-")
	return s
}

// parseTexts reads an array of strings, or one string of words.
func parseTexts(o jsonfile.Object, name string) []string {
	if s, ok := o.Value(name).(string); ok {
		return strings.Fields(s)
	}
	var all []string
	for i, v := range o.List(name) {
		s, ok := v.(string)
		if !ok {
			o.Fault(jsonfile.Element(o.At(name), i), jsonfile.Describe(v), "text")
			continue
		}
		all = append(all, s)
	}
	return all
}

// maxSecret is the maximum length of a secret in bytes, the same as of
// passwords.
const maxSecret = 1024

// readConfigured reads a configured client.
func readConfigured(o jsonfile.Object) *Client {
	o.WarnRepeated()
	o.WarnUnknown(configuredNames())
	c := readClient(o)
	c.configured = true
	c.ID, c.Account = o.Text("id"), o.Text("account")
	c.secret, c.hash = o.Text("secret"), o.Text("secretHash")
	if c.Name == "" {
		c.Name = c.ID
	}
	c.setDefaults()
	if c.ID == "" || strings.ContainsFunc(c.ID, func(r rune) bool { return r < ' ' || r > '~' || r == ':' }) {
		o.Fault(o.At("id"), jsonfile.Describe(o.Value("id")), "a name in ASCII without a colon")
	}
	if c.Account != "" && strings.Count(c.Account, "@") != 1 {
		o.Fault(o.At("account"), engine.Quote(c.Account), "an account <user>@<type>")
	}
	switch {
	case c.Public && (c.secret != "" || c.hash != ""):
		o.Fault(o.Path, "a public client with a secret", `no secret, or "public": false`)
	case !c.Public && (c.secret == "") == (c.hash == ""):
		o.Fault(o.Path, "a client with no secret, or with two", `secret, secretHash or "public": true`)
	case len(c.secret) > maxSecret:
		o.Fault(o.At("secret"), fmt.Sprintf("%d bytes", len(c.secret)), fmt.Sprintf("at most %d", maxSecret))
	case c.hash != "" && !strings.HasPrefix(c.hash, "$argon2id$") && !strings.HasPrefix(c.hash, "pbkdf2$"):
		o.Fault(o.At("secretHash"), "something else", "a hash as restsrv makes it, which begins with $argon2id$")
	}
	if c.mayUse(authorizationCode) && len(c.RedirectURIs) == 0 {
		o.Fault(o.At("redirectUris"), "no redirect URI", "at least one, or grants without "+authorizationCode)
	}
	if c.mayUse(clientCredentials) && c.Account == "" {
		o.Fault(o.At("account"), "no account", "the account that "+clientCredentials+" acts for")
	}
	return c
}
