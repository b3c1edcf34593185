package engine

import (
	"slices"
	"strings"
)

// Scope is what a token reaches (RFC 6749 section 3.3): words, each of which
// names a service, or * for all, and behind a colon a permission, without which
// it has all of them: "crud", "crud:read", "*:read". What the account itself
// may not do, no scope allows.
type Scope struct {
	words []string
	reach map[string]Permission // by service, and by "*"
}

// ParseScope reads words separated by blanks. nil is the scope without a limit,
// which no words stand for. The error is Invalid with reason scope.
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

// String are the words, separated by blanks; "" for no limit.
func (s *Scope) String() string {
	if s == nil {
		return ""
	}
	return strings.Join(s.words, " ")
}

// On is what the scope leaves on a service; 0 for nothing at all.
func (s *Scope) On(service string) Permission {
	if s == nil {
		return MayAll
	}
	return s.reach[service] | s.reach["*"]
}

// Within reports whether s allows nothing that limit does not.
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
