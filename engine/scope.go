package engine

import (
	"slices"
	"strings"
)

// Scope is the scope of a token (RFC 6749 section 3.3). Each of its words names
// a service, or * for all of them, optionally followed by a colon and a
// permission: "crud", "crud:read", "*:read". Without a permission, a word
// stands for all of them. A scope never extends the permissions of the account.
type Scope struct {
	words []string
	reach map[string]Permission // by service, and by "*"
}

// ParseScope reads words separated by spaces. Without words it returns nil, the
// scope without restrictions. The error is Invalid with reason scope.
func ParseScope(text string) (*Scope, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return nil, nil
	}
	s := &Scope{reach: map[string]Permission{}}
	for _, w := range words {
		service, name, limited := strings.Cut(w, ":")
		p := MayAll
		if limited {
			var ok bool
			if p, ok = ParsePermission(name); !ok {
				return nil, Errorf(Invalid, "scope", "scope %s names no permission behind its colon: these are %s", Quote(w), strings.Join(PermissionNames(), ", "))
			}
		}
		if service == "" {
			return nil, Errorf(Invalid, "scope", "scope %s names no service before its colon", Quote(w))
		}
		s.reach[service] |= p
		if !slices.Contains(s.words, w) {
			s.words = append(s.words, w)
		}
	}
	return s, nil
}

// String returns the words, separated by spaces; "" for no restriction.
func (s *Scope) String() string {
	if s == nil {
		return ""
	}
	return strings.Join(s.words, " ")
}

// On returns the permissions of the scope on a service; 0 if it does not
// include the service.
func (s *Scope) On(service string) Permission {
	if s == nil {
		return MayAll
	}
	return s.reach[service] | s.reach["*"]
}

// Within reports whether limit allows everything that s allows.
func (s *Scope) Within(limit *Scope) bool {
	switch {
	case limit == nil:
		return true
	case s == nil:
		return false
	}
	for service, p := range s.reach {
		if !limit.On(service).Has(p) {
			return false
		}
	}
	return true
}
