package engine

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Permission is a set of permissions on a resource. Each permission is one bit. The bits have the same values as in
// workflow files.
type Permission uint8

// The permissions. MayUse on a class allows an account to create items and to refer
// to items.
const (
	MayRead   Permission = 1
	MayWrite  Permission = 2
	MayDelete Permission = 4
	MayUse    Permission = 8
	MayAll    Permission = 31 // "full"
)

// permissionNames are the names in acl files, in the order of the bits.
var permissionNames = [...]struct {
	name string
	bits Permission
}{{"read", MayRead}, {"write", MayWrite}, {"delete", MayDelete}, {"use", MayUse}, {"full", MayAll}}

// PermissionNames returns the names of all permissions.
func PermissionNames() []string {
	names := make([]string, len(permissionNames))
	for i, n := range permissionNames {
		names[i] = n.name
	}
	return names
}

// ParsePermission returns the permission with that name; ok is false if there is
// none.
func ParsePermission(name string) (p Permission, ok bool) {
	for _, n := range permissionNames {
		if n.name == name {
			return n.bits, true
		}
	}
	return 0, false
}

// Has reports whether p includes all of q.
func (p Permission) Has(q Permission) bool { return p&q == q }

// String lists the names of p, or returns "full" for all.
func (p Permission) String() string {
	if p.Has(MayAll) {
		return "full"
	}
	var names []string
	for _, n := range permissionNames[:4] {
		if p.Has(n.bits) {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, ",")
}

// Fields returns the names of p, each with the value true, as scripts and clients
// use them.
func (p Permission) Fields() Fields {
	fields := Fields{}
	for _, n := range permissionNames {
		if p.Has(n.bits) {
			fields = append(fields, Field{n.name, true})
		}
	}
	return fields
}

// Names of resources as in acl files: Everything, or one of these prefixes followed
// by the object.
const (
	Everything        = "*"
	ClassResource     = "c:::" // name@namespace
	ItemResource      = "i:::" // name@namespace@id
	AttributeResource = "a:::" // name@namespace.attribute; without a permission, the attribute is hidden from the account
	TokenResource     = "ws:::gen-ws-token"
)

// maxResource is the maximum length of a resource name, in bytes.
const maxResource = 600

// Grantable reports whether a grant can name the resource.
func Grantable(resource string) bool {
	return len(resource) <= maxResource && PlainText(resource)
}

// PlainText reports whether s is valid UTF-8 without control characters and without
// spaces at its ends.
func PlainText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl) && strings.TrimSpace(s) == s
}

// Everyone is a subject of every account, including the anonymous one.
const Everyone = "*"

// Grant gives a subject, which is a role, an account or Everyone, permissions on a
// resource.
type Grant struct {
	Subject    string
	Resource   string
	Permission Permission
}

// Grants holds all grants of an application at one moment, and the known resources
// (see Known). It is immutable: after a change, there is a new Grants.
type Grants struct {
	Revision uint64 // differs between different grants of one database
	subjects map[string]map[string]Permission
	known    map[string]bool
}

// NewGrants returns Grants with the given grants. The known resources are those of
// the grants and those in resources.
func NewGrants(revision uint64, all []Grant, resources []string) *Grants {
	g := &Grants{Revision: revision, subjects: map[string]map[string]Permission{}, known: map[string]bool{}}
	for _, one := range all {
		held := g.subjects[one.Subject]
		if held == nil {
			held = map[string]Permission{}
			g.subjects[one.Subject] = held
		}
		held[one.Resource] |= one.Permission
		g.known[one.Resource] = true
	}
	for _, r := range resources {
		g.known[r] = true
	}
	return g
}

// Known reports whether a resource is declared or appears in a grant.
func (g *Grants) Known(resource string) bool { return g.known[resource] }

// Resources calls visit for each known resource, in no particular order.
func (g *Grants) Resources(visit func(resource string)) {
	for r := range g.known {
		visit(r)
	}
}

// On returns all permissions on the resource that at least one of the subjects has. Permissions on Everything are not
// included.
func (g *Grants) On(resource string, subjects ...string) (p Permission) {
	for _, s := range subjects {
		p |= g.subjects[s][resource]
	}
	return p
}

// Held returns the permissions of one subject by resource. The map is shared: do
// not change it.
func (g *Grants) Held(subject string) map[string]Permission { return g.subjects[subject] }

// Digest returns a hash of the grants of the subjects, in the given order. It also depends on which attributes are
// known resources (see Known). Grants of other subjects do not change it.
func (g *Grants) Digest(subjects ...string) []byte {
	h := sha256.New()
	for _, s := range subjects {
		held := g.subjects[s]
		fmt.Fprintf(h, "%q\n", s)
		for _, resource := range slices.Sorted(maps.Keys(held)) {
			fmt.Fprintf(h, "%q %d\n", resource, held[resource])
		}
	}
	var attributes []string
	for resource := range g.known {
		if strings.HasPrefix(resource, AttributeResource) {
			attributes = append(attributes, resource)
		}
	}
	slices.Sort(attributes)
	fmt.Fprintf(h, "%q", attributes)
	return h.Sum(nil)
}

// Policy provides the grants of an application.
type Policy interface {
	// Grants returns the current grants. They may be up to half a second old.
	Grants(ctx context.Context) (*Grants, error)
}

// Guard holds the permissions of the account of a request. The store checks it for
// each item that it reads or writes for the account: named, listed, joined, loaded,
// counted, nested or linked.
type Guard interface {
	// Rows returns the condition under which the account has the permission on
	// items of c and its descendants. The condition is nil if the account always
	// has the permission, and an OpConst with the value false if it never has it.
	Rows(p Permission, c *Class) *Filter
	// Creates reports whether the account may create items of exactly class c, as far as this can be known without
	// the values of the item. Permissions on single items (ItemResource) do not count. If they did, a request to
	// create an item would fail with another error if such a permission exists, and so the account could find out
	// that the item exists.
	Creates(c *Class) bool
	// Hides reports whether the account lacks the permission p on the property, in
	// all classes that have it. p is MayRead, which covers any use of the property,
	// or MayWrite.
	Hides(p Permission, property *Property) bool
}

type guardKey struct{}

// guarded is a context with a guard. A nil guard removes the guard of the parent.
type guarded struct {
	context.Context
	guard Guard
}

func (c *guarded) Value(key any) any {
	if key == (guardKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// WithGuard returns a context in which the store checks g. If g is nil, no guard is
// checked, which is used for work of the server itself.
func WithGuard(ctx context.Context, g Guard) context.Context {
	if GuardFrom(ctx) == g {
		return ctx
	}
	return &guarded{ctx, g}
}

// GuardFrom returns the guard of ctx. It is nil if everything is allowed.
func GuardFrom(ctx context.Context) Guard {
	if c, ok := ctx.Value(guardKey{}).(*guarded); ok {
		return c.guard
	}
	return nil
}

// Denied returns the error for all operations that an account may not do. It does
// not reveal whether the object exists or what it is called.
func Denied() *Error {
	return Errorf(Forbidden, "denied", "the account may not do this")
}

// Warden is a Repository that checks the permissions of the account of the context.
// Package engine/access implements it.
type Warden interface {
	Repository
	// View returns the class as the account sees it. Attributes that the account
	// may not read do not exist in the view, neither for lookups of names nor for
	// answers.
	View(ctx context.Context, c *Class) (*Class, error)
	// Allow returns Denied if the account does not have the permission on any item
	// of the class. Callers use it to refuse a request before they check its input.
	// MayUse stands for creating an item, see Guard.Creates.
	Allow(ctx context.Context, c *Class, p Permission) error
}

// ViewOf returns the view of c for the account of ctx. It returns c itself if r
// does not hide attributes.
func ViewOf(ctx context.Context, r Repository, c *Class) (*Class, error) {
	if w, ok := r.(Warden); ok {
		return w.View(ctx, c)
	}
	return c, nil
}

// Rightful is a Warden that can detect changes of the rights of an account.
type Rightful interface {
	// Rights returns a text that changes when the grants of the account of ctx
	// change, and "" if permissions are not checked. It does not depend on the
	// values of objects that affect permissions.
	Rights(ctx context.Context) (string, error)
}

// RightsOf returns the Rights of r, or "" if r does not check permissions.
func RightsOf(ctx context.Context, r Repository) (string, error) {
	if rightful, ok := r.(Rightful); ok {
		return rightful.Rights(ctx)
	}
	return "", nil
}

// Allow returns Denied if r does not allow the account of ctx to use permission p
// with any item of c or, for MayUse, to create one.
func Allow(ctx context.Context, r Repository, c *Class, p Permission) error {
	if w, ok := r.(Warden); ok {
		return w.Allow(ctx, c, p)
	}
	return nil
}

// AllowSave returns Denied if r allows the account of ctx neither to change an item of c
// nor to create one. It is used for a write that updates the item if it exists and
// creates it if it does not.
func AllowSave(ctx context.Context, r Repository, c *Class) error {
	if err := Allow(ctx, r, c, MayWrite); CodeOf(err) != Forbidden || err == nil {
		return err
	}
	return Allow(ctx, r, c, MayUse)
}

// Access checks permissions on any resource, for services with resources of their
// own.
type Access interface {
	// Check reports whether the account has the permission on the resource, or on
	// Everything, within the scope of its token.
	Check(ctx context.Context, a *Account, resource string, p Permission) (bool, error)
}

// Scope is the scope of a token (RFC 6749 section 3.3). Each of its words names
// a service, or * for all of them, optionally followed by a colon and a
// permission: "crud", "crud:read", "*:read". Without a permission, a word
// stands for all permissions. A scope never extends the permissions of the account.
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
