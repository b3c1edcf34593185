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

// Permission is what may be allowed on a resource: one bit for each, as
// workflow files write them.
type Permission uint8

// The permissions. On a class, MayUse allows to create items and to point
// references at them.
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

// PermissionNames are the names that a permission may have.
func PermissionNames() []string {
	names := make([]string, len(permissionNames))
	for i, n := range permissionNames {
		names[i] = n.name
	}
	return names
}

// ParsePermission returns the permission of that name; ok is false for none.
func ParsePermission(name string) (p Permission, ok bool) {
	for _, n := range permissionNames {
		if n.name == name {
			return n.bits, true
		}
	}
	return 0, false
}

// Has reports whether p covers all of q.
func (p Permission) Has(q Permission) bool { return p&q == q }

// String lists the names of p, "full" for all.
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

// Fields are the names of p, each true, as scripts and clients know permissions.
func (p Permission) Fields() Fields {
	fields := Fields{}
	for _, n := range permissionNames {
		if p.Has(n.bits) {
			fields = append(fields, Field{n.name, true})
		}
	}
	return fields
}

// Resources are named as in acl files: Everything, or one of these prefixes and
// what it is about.
const (
	Everything        = "*"
	ClassResource     = "c:::" // name@namespace
	ItemResource      = "i:::" // name@namespace@id
	AttributeResource = "a:::" // name@namespace.attribute; whoever is not allowed it does not know the attribute
	TokenResource     = "ws:::gen-ws-token"
)

// maxResource is the length limit of a resource, in bytes.
const maxResource = 600

// Grantable reports whether grants can name a resource.
func Grantable(resource string) bool {
	return len(resource) <= maxResource && PlainText(resource)
}

// PlainText reports whether s is valid UTF-8 without control characters and without
// spaces at its ends.
func PlainText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl) && strings.TrimSpace(s) == s
}

// Everyone is the subject that every account is, the anonymous one included.
const Everyone = "*"

// Grant allows a subject, which is a role, an account or Everyone, something on
// a resource.
type Grant struct {
	Subject    string
	Resource   string
	Permission Permission
}

// Grants are all grants of an application at one moment, and which resources
// are known. They do not change: a later moment has others.
type Grants struct {
	Revision uint64 // differs between different grants of one database
	subjects map[string]map[string]Permission
	known    map[string]bool
}

// NewGrants makes Grants. Besides the resources of the grants those given are
// known.
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

// Known reports whether a resource is declared or granted to anybody.
func (g *Grants) Known(resource string) bool { return g.known[resource] }

// Resources calls visit for each known resource, in no order.
func (g *Grants) Resources(visit func(resource string)) {
	for r := range g.known {
		visit(r)
	}
}

// On is what the subjects together may do on a resource itself; what they may
// do on Everything is not counted.
func (g *Grants) On(resource string, subjects ...string) (p Permission) {
	for _, s := range subjects {
		p |= g.subjects[s][resource]
	}
	return p
}

// Held are the resources and permissions of one subject. The map is shared: do
// not change it.
func (g *Grants) Held(subject string) map[string]Permission { return g.subjects[subject] }

// Digest returns a hash of the grants of the subjects, in their order, and of the
// known attributes. Other grants do not change it.
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

// Policy knows the grants of an application.
type Policy interface {
	// Grants returns those of now, or of at most half a second ago.
	Grants(ctx context.Context) (*Grants, error)
}

// Guard is what the account of a request may do. The store asks it for every
// item that it reads or writes for the account, be it named, listed, joined,
// loaded, counted, nested or linked.
type Guard interface {
	// Rows is the condition on items of c and of its descendants under which
	// the account has the permission: nil for always, one of OpConst false for
	// never.
	Rows(p Permission, c *Class) *Filter
	// Creates reports whether the account may create items of exactly class c, as
	// far as that is known without the item. Permissions on single items do not
	// count: otherwise the checks that follow would show that such an item exists.
	Creates(c *Class) bool
	// Hides reports that the account may not do that with the property, in all
	// classes that have it: MayRead, which covers each way to mention it, or
	// MayWrite.
	Hides(p Permission, property *Property) bool
}

type guardKey struct{}

// guarded is a context with a guard; nil lifts the one above.
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

// WithGuard returns a context in which the store asks g; nil lifts the guard,
// as for what the server does of its own.
func WithGuard(ctx context.Context, g Guard) context.Context {
	if GuardFrom(ctx) == g {
		return ctx
	}
	return &guarded{ctx, g}
}

// GuardFrom returns the guard of ctx; nil when everything is allowed.
func GuardFrom(ctx context.Context) Guard {
	if c, ok := ctx.Value(guardKey{}).(*guarded); ok {
		return c.guard
	}
	return nil
}

// Denied is the one error for what an account may not do. It tells nothing
// about what it was refused: neither whether it exists nor what it is called.
func Denied() *Error {
	return Errorf(Forbidden, "denied", "the account may not do this")
}

// Warden is a Repository that depends on the account of the context in what it
// shows and allows; engine/access has the one there is.
type Warden interface {
	Repository
	// View is the class as the account sees it: what it may not read does not
	// exist for who looks names up in the view, or answers an item of it.
	View(ctx context.Context, c *Class) (*Class, error)
	// Allow returns Denied if the account has the permission on no item of the
	// class, so that the caller reports nothing about the input. MayUse stands for
	// creating an item, see Guard.Creates.
	Allow(ctx context.Context, c *Class, p Permission) error
}

// ViewOf is the class as r shows it to the account of ctx: c itself for a
// repository that hides nothing.
func ViewOf(ctx context.Context, r Repository, c *Class) (*Class, error) {
	if w, ok := r.(Warden); ok {
		return w.View(ctx, c)
	}
	return c, nil
}

// Rightful is a Warden that can report changes of the rights of an account.
type Rightful interface {
	// Rights returns a text that changes when the grants of the account of ctx
	// change, and "" if no permissions are checked. It does not change with the
	// values of objects on which permissions depend.
	Rights(ctx context.Context) (string, error)
}

// RightsOf returns the Rights of r, and "" for a repository that checks no
// permissions.
func RightsOf(ctx context.Context, r Repository) (string, error) {
	if rightful, ok := r.(Rightful); ok {
		return rightful.Rights(ctx)
	}
	return "", nil
}

// Allow asks r whether the account of ctx may do that with any item of c, or, for
// MayUse, whether it may create one.
func Allow(ctx context.Context, r Repository, c *Class, p Permission) error {
	if w, ok := r.(Warden); ok {
		return w.Allow(ctx, c, p)
	}
	return nil
}

// AllowSave is Allow for an item that is changed if it is there and created if
// not: one of the two permissions will do.
func AllowSave(ctx context.Context, r Repository, c *Class) error {
	if err := Allow(ctx, r, c, MayWrite); CodeOf(err) != Forbidden || err == nil {
		return err
	}
	return Allow(ctx, r, c, MayUse)
}

// Access answers what an account may do on any resource, for services that have
// resources of their own.
type Access interface {
	// Check reports whether the account has the permission on the resource, or
	// on Everything, within the scope of its token.
	Check(ctx context.Context, a *Account, resource string, p Permission) (bool, error)
}
