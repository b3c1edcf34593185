package acl

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"restsrv/engine"
)

// maxName limits each name, because one index holds the three names of a permission together.
const maxName = 255 // characters of the name of a role, an account or a resource

// ParsePermissions returns the union of the named permissions. If a name is
// unknown, the error is Invalid and lists the known names.
func ParsePermissions(names ...string) (p engine.Permission, err error) {
	for _, name := range names {
		bits, ok := engine.ParsePermission(name)
		if !ok {
			return 0, engine.Errorf(engine.Invalid, "permission", "there is no permission %s: expected %s", engine.Quote(name), strings.Join(engine.PermissionNames(), ", "))
		}
		p |= bits
	}
	return p, nil
}

// CheckResource returns Invalid if the name cannot be the name of a resource. It returns a
// warning if the name is valid but probably a mistake, and "" if it is right.
func CheckResource(resource string) (warning string, err error) {
	bad := func(expected string) (string, error) {
		return "", engine.Errorf(engine.Invalid, "resource", "resource %s: expected %s", engine.Quote(resource), expected)
	}
	prefix, rest, prefixed := strings.Cut(resource, ":::")
	switch {
	case resource == engine.Everything:
		return "", nil
	case resource == "":
		return bad("* for everything, or such as c:::class@namespace")
	case !engine.PlainText(resource):
		return bad("no control character and no space at its ends")
	case !engine.Grantable(resource):
		return bad("at most 600 bytes")
	}
	switch prefix + ":::" {
	case engine.ClassResource:
		if !className(rest) {
			return bad("c:::class@namespace")
		}
	case engine.ItemResource:
		if at := strings.IndexByte(rest, '@'); at <= 0 || at == len(rest)-1 {
			return bad("i:::class@namespace@id")
		}
	case engine.AttributeResource:
		if dot := strings.LastIndexByte(rest, '.'); dot < 0 || dot == len(rest)-1 || !className(rest[:dot]) {
			return bad("a:::class@namespace.attribute")
		}
	case "ws:::", "n:::", "sys:::", "ionadmin:::":
		if rest == "" {
			return bad("a name after " + prefix + ":::")
		}
	default:
		if !prefixed && wordBefore.MatchString(resource) {
			return "is " + engine.Quote(resource) + " meant with three colons, as in c:::class@namespace? Nothing here asks for it as it is", nil
		}
		return "nothing here asks for a resource like " + engine.Quote(resource) + " unless a roleMap or a script names it", nil
	}
	return "", nil
}

// wordBefore matches a known prefix in which a colon is missing.
var wordBefore = regexp.MustCompile(`^(c|i|a|ws|n|sys|ionadmin)::?[^:]`)

// className reports whether s could be the full name of a class.
func className(s string) bool {
	name, namespace, spaced := strings.Cut(s, "@")
	return name != "" && (!spaced || namespace != "") && !strings.Contains(namespace, "@")
}

// CheckRole returns Invalid if a role cannot have the name. It also rejects names of accounts:
// because accounts and roles are both subjects, a role and an account with the same name would
// have the same grants.
func CheckRole(id string) error {
	if login, local := strings.CutSuffix(id, "@local"); local && login != "" {
		return engine.Errorf(engine.Invalid, "role", "%s is the name of an account, and none of a role", engine.Quote(id))
	}
	return checkName(id)
}

// checkName returns Invalid if neither a role nor an account can have the name.
func checkName(id string) error {
	switch {
	case id == engine.Everyone:
		return engine.Errorf(engine.Invalid, "role", "* is everyone, and no role")
	case id == "" || !engine.PlainText(id):
		return engine.Errorf(engine.Invalid, "role", "a role is named by text without control characters and without spaces at its ends, found %s", engine.Quote(id))
	case utf8.RuneCountInString(id) > maxName:
		return engine.Errorf(engine.Invalid, "role", "the name of a role has at most %d characters, found %d", maxName, utf8.RuneCountInString(id))
	}
	return nil
}

// checkSubject rejects a name that no subject can have.
func checkSubject(subject string) error {
	if subject == engine.Everyone || checkName(subject) == nil {
		return nil
	}
	return engine.Errorf(engine.Invalid, "subject", "permissions are granted to a role, to an account such as ann@local or to * for everyone, found %s", engine.Quote(subject))
}

func checkCaption(s string) error {
	if s != "" && !engine.PlainText(s) || utf8.RuneCountInString(s) > maxName {
		return engine.Errorf(engine.Invalid, "name", "a name is text of at most %d characters without control characters, found %s", maxName, engine.Quote(s))
	}
	return nil
}
