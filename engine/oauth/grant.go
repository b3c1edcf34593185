package oauth

import (
	"context"
	"time"

	"restsrv/engine"
	"restsrv/engine/query"
)

// byHash finds a stored grant by the hash of a code or a token. name is the property that holds the hash: code,
// access, refresh or family. The result is nil if there is no such grant. byHash reads the grant a second time to get
// its current revision, which List does not return.
func (p *grantStore) byHash(ctx context.Context, name, hash string) (*engine.Item, error) {
	filter, err := query.Equal(p.classes.grant.Property(name), hash)
	if err != nil {
		return nil, err
	}
	id := ""
	q := &engine.Query{Class: p.classes.grant, Filter: filter, Count: 1}
	err = p.cfg.Data.List(engine.AsServer(ctx), q, func(it *engine.Item) error {
		id = it.ID
		return nil
	})
	if err != nil || id == "" {
		return nil, err
	}
	it, err := p.find(ctx, p.classes.grant, id)
	if err != nil || it == nil || it.Text(name) != hash {
		return nil, err
	}
	return it, nil
}

// find returns a system item, or nil if it does not exist.
func (p *core) find(ctx context.Context, c *engine.Class, id string) (*engine.Item, error) {
	it, err := p.cfg.Data.Get(engine.AsServer(ctx), c, id)
	if err != nil && engine.CodeOf(err) == engine.NotFound {
		return nil, nil
	}
	return it, err
}

// changeGrant writes a grant if the stored grant is unchanged since it was read. done is false if
// another request has changed or deleted the grant.
func (p *grantStore) changeGrant(ctx context.Context, it *engine.Item, sets ...engine.Field) (done bool, err error) {
	match := &engine.Match{Revisions: []uint64{it.Revision}}
	_, err = p.cfg.Data.Update(engine.AsServer(ctx), it.Class, it.ID, engine.ValuesOf(it.Class, sets...), engine.WriteOptions{Match: match})
	p.bearers.Forget(func(b *bearer) bool { return b.grant == it.ID })
	if code := engine.CodeOf(err); err != nil && (code == engine.Unmatched || code == engine.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// endGrant revokes a grant with all its tokens. ended is false if it was gone already.
func (p *grantStore) endGrant(ctx context.Context, grant string) (ended bool, err error) {
	err = p.cfg.Data.Delete(engine.AsServer(ctx), p.classes.grant, grant, nil)
	p.bearers.Forget(func(b *bearer) bool { return b.grant == grant })
	if err != nil && engine.CodeOf(err) == engine.NotFound {
		return false, nil
	}
	return err == nil, err
}

// endReused revokes a grant when its code or refresh token is used a second time: one of the two
// senders must have stolen the code or token. It returns the error for the client.
func (p *grantStore) endReused(ctx context.Context, grant *engine.Item, what string) error {
	ended, err := p.endGrant(ctx, grant.ID)
	if err != nil {
		return err
	}
	if ended {
		p.audit(ctx, newEvent(engine.TokenReused, grant.Text("client"), grant.Text("account"), engine.Field{Name: "what", Value: what}))
	}
	return invalidGrant("the " + what + " was used before: all that it gave is revoked")
}

// given is the result of an exchange.
type given struct {
	access, refresh string // secrets; refresh is "" if there is no refresh token
	scope           *engine.Scope
	lifetime        time.Duration
}

// issueTokens creates an access token, and a refresh token of the given family if family is not
// "". It also returns the values to store in the grant. granted is the scope of the grant. scope
// is the scope of the access token, which can be smaller.
func (p *grantStore) issueTokens(c *Client, granted, scope *engine.Scope, family string) (given, engine.Fields) {
	now := p.cfg.Now()
	g := given{scope: scope, lifetime: firstPositive(c.AccessLifetime, p.cfg.Options.AccessLifetime)}
	var access string
	g.access, access = newSecret()
	last := now.Add(g.lifetime)
	sets := engine.Fields{
		engine.Named("scope", textOrNil(granted.String())),
		engine.Named("access", access), engine.Named("accessScope", textOrNil(scope.String())),
		engine.Named("issued", instantOrNil(now)), engine.Named("accessExpires", instantOrNil(last)),
	}
	if family != "" {
		var refresh string
		g.refresh, refresh = newRefresh(family)
		expires := now.Add(firstPositive(c.RefreshLifetime, p.cfg.Options.RefreshLifetime))
		sets = append(sets, engine.Named("refresh", refresh), engine.Named("refreshExpires", instantOrNil(expires)), engine.Named("family", hashOf(family)))
		if expires.After(last) {
			last = expires
		}
	}
	return g, append(sets, engine.Named("expires", instantOrNil(last)))
}

// nextFamily returns the family of the next refresh token of a grant. refresh is the token that
// is exchanged. A grant of an older version has no family yet. In this case nextFamily stores
// refresh as an exchanged token and returns a new family. The row of the exchanged token may
// exist already if an earlier exchange was interrupted.
func (p *grantStore) nextFamily(ctx context.Context, grant *engine.Item, refresh string) (family string, err error) {
	if grant.Text("family") != "" {
		return familyOf(refresh), nil
	}
	expires := p.cfg.Now().Add(p.cfg.Options.RefreshLifetime)
	if own := grant.When("refreshExpires"); own.After(expires) {
		expires = own
	}
	_, err = p.cfg.Data.Create(engine.AsServer(ctx), p.classes.spent, engine.ValuesOf(p.classes.spent,
		engine.Named("id", grant.Text("refresh")), engine.Named("grant", grant.ID), engine.Named("expires", instantOrNil(expires))), engine.WriteOptions{})
	if engine.IsDuplicate(err) { // the row exists
		err = nil
	}
	return newFamily(), err
}

// grantAccount returns the account of a grant. It returns nil if the account cannot sign in, or
// if its password was changed or the account was disabled after the grant was made.
func (p *grantStore) grantAccount(ctx context.Context, grant *engine.Item) (*engine.Account, error) {
	a, basis, err := p.currentAccount(ctx, grant.Text("account"))
	if err != nil || basis != grant.Text("basis") {
		return nil, err
	}
	return a, nil
}

// Sweep deletes expired grants and tokens.
func (p *grantStore) Sweep(ctx context.Context) error { return p.sweeper.Sweep(ctx) }

// EndClient deletes the grants of a client and the consents of accounts to it.
// Other processes notice within a second.
func EndClient(ctx context.Context, data engine.Repository, classes []*engine.Class, client string) error {
	return deleteAll(ctx, data, classes, "client", client)
}

// EndAccount deletes the grants and consents of an account, so that a later account
// of the same name does not have them.
func EndAccount(ctx context.Context, data engine.Repository, classes []*engine.Class, account string) error {
	return deleteAll(ctx, data, classes, "account", account)
}

// deleteAll deletes the grants and consents in which the property has the value.
func deleteAll(ctx context.Context, data engine.Repository, classes []*engine.Class, property, value string) error {
	for _, c := range classes {
		if c.FullName != grantClass && c.FullName != consentClass {
			continue
		}
		filter, err := query.Equal(c.Property(property), value)
		if err != nil {
			return err
		}
		if _, err := data.DeleteAll(engine.AsServer(ctx), &engine.Query{Class: c, Filter: filter, Count: -1}); err != nil {
			return err
		}
	}
	return nil
}
