package acl_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/acl"
	"restsrv/engine/store/storetest"
)

const (
	note  = "c:::note@sample"
	phone = "a:::person@sample.phone"
)

// TestGrantAndDeny checks the grants after changes: grants add up, full is split
// when a part of it is denied, and revoked grants are gone.
func TestGrantAndDeny(t *testing.T) {
	onBoth(t, func(t *testing.T, place place) {
		p := place.process()
		p.grant("clerk", note, engine.MayRead)
		p.grant("clerk", note, engine.MayRead|engine.MayUse)
		p.grant("ann@local", note, engine.MayAll)
		p.grant(engine.Everyone, "*", engine.MayRead)
		want := "* * read\nann@local c:::note@sample full\nclerk c:::note@sample read,use\n"
		if got := p.listed(acl.Filter{}); got != want {
			t.Errorf("granted\n%s\nwant\n%s", got, want)
		}
		if got := p.listed(acl.Filter{Subject: "clerk", Resource: note}); got != "clerk c:::note@sample read,use\n" {
			t.Errorf("of clerk: %s", got)
		}
		if got := p.listed(acl.Filter{Resource: "c:::other@sample"}); got != "" {
			t.Errorf("of another resource: %s", got)
		}
		if !p.deny("ann@local", note, engine.MayWrite) || p.deny("ann@local", note, engine.MayWrite) || p.deny("nobody", note, engine.MayAll) {
			t.Error("deny does not tell what it changed")
		}
		if got := p.on(note, "ann@local"); got != "read,delete,use" {
			t.Errorf("full without write is %s", got)
		}
		if !p.deny("clerk", note, engine.MayAll) || p.on(note, "clerk") != "" || p.listed(acl.Filter{Subject: "clerk"}) != "" {
			t.Error("something is left to clerk")
		}
		n := 0
		err := p.data.Repository.List(t.Context(), &engine.Query{Class: p.class("#permission"), Count: -1}, func(*engine.Item) error { n++; return nil })
		if err != nil || n != 4 {
			t.Errorf("%d permissions are stored, want 4; %v", n, err)
		}
	})
}

// TestRevokeAll checks that a subject loses all grants in one step, also in other processes, and
// that attributes stay protected.
func TestRevokeAll(t *testing.T) {
	onBoth(t, func(t *testing.T, place place) {
		p := place.process()
		p.grant("ann@local", note, engine.MayRead|engine.MayWrite)
		p.grant("ann@local", phone, engine.MayAll)
		p.grant("bob@local", note, engine.MayRead)
		wantOK(t, "revoke", p.RevokeAll(t.Context(), "ann@local"))
		wantOK(t, "revoke nothing", p.RevokeAll(t.Context(), "ann@local"))
		for _, p := range []*process{p, place.process()} {
			if got, want := p.listed(acl.Filter{}), "bob@local c:::note@sample read\n"; got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if !p.grants().Known(phone) || p.on(note, "ann@local") != "" {
				t.Error("the attribute is not protected any more, or a grant still counts")
			}
		}
	})
}

// TestRevokeWhileKeysChange checks a revocation while the keys of objects change. Grants follow
// their object to its new id, and the revocation removes these grants too.
func TestRevokeWhileKeysChange(t *testing.T) {
	const rounds = 40
	revoke := map[string]func(p *process) error{
		"revoke all":  func(p *process) error { return p.RevokeAll(t.Context(), "clerk") },
		"remove role": func(p *process) error { return p.RemoveRole(t.Context(), "clerk") },
		"deny on both ids": func(p *process) error {
			for range 2 { // once may not be enough, because the object may be changing to its first id
				for _, id := range []string{"1", "2"} {
					if _, err := p.Deny(t.Context(), engine.Grant{Subject: "clerk", Resource: "i:::memo@test@" + id, Permission: engine.MayAll}); err != nil {
						return err
					}
				}
			}
			return nil
		},
	}
	onBoth(t, func(t *testing.T, place place) {
		memo := func() *engine.Class { return storetest.NewClass("memo", storetest.Prop("id", engine.String)) }
		classes := []*engine.Class{memo(), memo()}
		first, second := place.serving(classes[0]), place.serving(classes[1])
		if _, err := first.items.Create(t.Context(), classes[0], engine.Values{"1"}, engine.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		from, to := "1", "2"
		for name, revoke := range revoke {
			left := 0
			for n := range rounds {
				wantOK(t, "add role", first.AddRole(t.Context(), "clerk", "")) // the role may exist from the test before
				for _, permission := range []engine.Permission{engine.MayRead, engine.MayWrite} {
					first.grant("clerk", "i:::memo@test@"+from, permission)
				}
				var renamed error
				done := make(chan struct{})
				go func() {
					defer close(done)
					time.Sleep(time.Duration(n%10) * 100 * time.Microsecond)
					_, renamed = first.items.Update(t.Context(), classes[0], from, engine.Values{to}, engine.WriteOptions{})
				}()
				wantOK(t, name, revoke(second.process))
				<-done
				wantOK(t, "rename", renamed)
				from, to = to, from
				if second.listed(acl.Filter{Subject: "clerk"}) != "" {
					left++
				}
				wantOK(t, "revoke the rest", second.RevokeAll(t.Context(), "clerk"))
				if err := second.RemoveRole(t.Context(), "clerk"); engine.CodeOf(err) != engine.NotFound {
					wantOK(t, "remove role", err)
				}
			}
			if left > 0 {
				t.Errorf("%s: grants were left in %d of %d rounds", name, left, rounds)
			}
		}
	})
}

// class returns a system class as the process has opened it.
func (p *process) class(name string) *engine.Class {
	p.t.Helper()
	for _, c := range p.classes {
		if c.FullName == name {
			return c
		}
	}
	p.t.Fatalf("no class %s", name)
	return nil
}

// TestAttributesStayProtected checks every way to revoke the last grant on an attribute: the
// attribute stays declared. This also holds for a grant by an older version, which did not
// declare attributes.
func TestAttributesStayProtected(t *testing.T) {
	onBoth(t, func(t *testing.T, place place) {
		p, ctx := place.process(), t.Context()
		p.old("hr", phone, "read")
		p.old("boss", "a:::person@sample.age", "full")
		wantOK(t, "touch", p.Touch(ctx))
		if !p.grants().Known(phone) || p.on(phone, "hr") != "read" {
			t.Fatal("the grant of an older version does not count")
		}
		p.deny("hr", phone, engine.MayRead)
		wantOK(t, "role", p.AddRole(ctx, "boss", ""))
		wantOK(t, "remove role", p.RemoveRole(ctx, "boss"))
		for _, r := range []string{phone, "a:::person@sample.age"} {
			if g := p.grants(); !g.Known(r) || g.On(r, "hr", "boss") != 0 {
				t.Errorf("%s: known %t, %s", r, g.Known(r), g.On(r, "hr", "boss"))
			}
		}
		p.grant("hr", phone, engine.MayRead)
		wantCode(t, "undeclare what is granted", p.RemoveResource(ctx, phone), engine.Conflict)
		p.deny("hr", phone, engine.MayAll)
		wantOK(t, "undeclare", p.RemoveResource(ctx, phone))
		wantCode(t, "undeclare again", p.RemoveResource(ctx, phone), engine.NotFound)
		if p.grants().Known(phone) {
			t.Error("still known")
		}
		wantOK(t, "declare", p.DeclareResource(ctx, phone, "Phone number"))
		if !p.grants().Known(phone) {
			t.Error("declared, and not known")
		}
		p.grant("hr", phone, engine.MayRead)
		all, err := p.Resources(ctx)
		if err != nil || len(all) != 2 || all[1] != (acl.Resource{ID: phone, Name: "Phone number"}) {
			t.Errorf("resources %+v, %v", all, err)
		}
	})
}

// old stores a permission in the form of versions that had neither #resource nor #policy.
func (p *process) old(subject, resource, permission string) {
	p.t.Helper()
	c := p.class("#permission")
	v := engine.NewValues(c)
	for name, value := range map[string]string{"id": subject + "\t" + resource + "\t" + permission, "subject": subject, "resource": resource, "permission": permission} {
		v[c.Property(name).Index] = value
	}
	if _, err := p.data.Create(p.t.Context(), c, v, engine.WriteOptions{}); err != nil {
		p.t.Fatal(err)
	}
}

func TestRoles(t *testing.T) {
	onBoth(t, func(t *testing.T, place place) {
		p, ctx := place.process(), t.Context()
		wantOK(t, "admin", p.EnsureAdmin(ctx))
		wantOK(t, "admin again", p.EnsureAdmin(ctx))
		if got := p.listed(acl.Filter{}); got != "admin * full\n" {
			t.Errorf("granted %s", got)
		}
		wantOK(t, "add", p.AddRole(ctx, "clerk", "Clerks"))
		wantCode(t, "add twice", p.AddRole(ctx, "clerk", "x"), engine.Invalid)
		p.grant("clerk", note, engine.MayAll)
		p.grant("clerk", "*", engine.MayRead)
		if all, err := p.Roles(ctx); err != nil || len(all) != 2 || all[1] != (acl.Role{ID: "clerk", Name: "Clerks"}) {
			t.Errorf("roles %+v, %v", all, err)
		}
		wantOK(t, "remove", p.RemoveRole(ctx, "clerk"))
		wantCode(t, "remove twice", p.RemoveRole(ctx, "clerk"), engine.NotFound)
		if all, err := p.Roles(ctx); err != nil || len(all) != 1 || p.listed(acl.Filter{}) != "admin * full\n" {
			t.Errorf("roles %+v, %v", all, err)
		}
		wantOK(t, "add once more", p.AddRole(ctx, "clerk", "Clerks"))
		if p.on(note, "clerk") != "" {
			t.Error("a new role has what the former had")
		}
	})
}

// TestRefused checks that invalid subjects, resources and permissions are rejected
// with a helpful error.
func TestRefused(t *testing.T) {
	for resource, want := range map[string]string{
		"": "* for everything", "c:::": "c:::class@namespace", "c:::note@": "c:::class@namespace", "c:::@sample": "c:::class@namespace",
		"c:::a@b@c": "c:::class@namespace", "i:::note": "i:::class@namespace@id", "i:::note@": "i:::class@namespace@id", "i:::@x": "i:::class@namespace@id",
		"a:::note@sample": "a:::class@namespace.attribute", "a:::note": "a:::class@namespace.attribute", "a:::note@sample.": "a:::class@namespace.attribute", "a:::.x": "a:::class@namespace.attribute",
		"ws:::": "a name after ws:::", " c:::note@x": "no control character and no space", "c:::a\tb": "no control character", "c:::" + strings.Repeat("x", 600): "at most 600 bytes",
	} {
		_, err := acl.CheckResource(resource)
		if engine.CodeOf(err) != engine.Invalid || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", resource, err, want)
		}
	}
	for resource, warns := range map[string]bool{
		"*": false, note: false, "c:::note": false, phone: false, "i:::note@sample@a.b@c": false, "a:::note@a.b.c": false, "ws:::gen-ws-token": false,
		"n:::sample@list.sub": false, "my::res": true, "c::note@sample": true, "c:note@sample": true, "x:::y": true, "anything": true,
	} {
		if warning, err := acl.CheckResource(resource); err != nil || (warning != "") != warns {
			t.Errorf("%q: warning %q, %v", resource, warning, err)
		}
	}
	if _, err := acl.ParsePermissions("read", "USE"); engine.CodeOf(err) != engine.Invalid || !strings.Contains(err.Error(), `"USE": expected read, write, delete, use, full`) {
		t.Errorf("a permission in capitals: %v", err)
	}
	if all, err := acl.ParsePermissions("read", "use"); err != nil || all != engine.MayRead|engine.MayUse {
		t.Errorf("two permissions: %s, %v", all, err)
	}
	onBoth(t, func(t *testing.T, place place) {
		p, ctx := place.process(), t.Context()
		for what, g := range map[string]engine.Grant{
			"no subject":    {Subject: "", Resource: "*", Permission: engine.MayRead},
			"tab":           {Subject: "a\tb", Resource: "*", Permission: engine.MayRead},
			"no permission": {Subject: "a", Resource: "*"},
			"resource":      {Subject: "a", Resource: "c:::", Permission: engine.MayRead},
		} {
			wantCode(t, what, p.Grant(ctx, g), engine.Invalid)
			_, err := p.Deny(ctx, g)
			wantCode(t, what, err, engine.Invalid)
		}
		for _, role := range []string{"", "*", " a", "a\nb", "ann@local", strings.Repeat("x", 256)} {
			wantCode(t, "role "+role, p.AddRole(ctx, role, ""), engine.Invalid)
		}
		wantCode(t, "caption", p.AddRole(ctx, "a", "x\ty"), engine.Invalid)
		wantCode(t, "declare", p.DeclareResource(ctx, "a:::x", ""), engine.Invalid)
		if p.listed(acl.Filter{}) != "" || len(p.log.events) > 0 {
			t.Errorf("something was changed: %v", p.log.events)
		}
	})
}

// TestChangesAreAudited checks the audit events of changes: account, change, subject
// and address.
func TestChangesAreAudited(t *testing.T) {
	onBoth(t, func(t *testing.T, place place) {
		p := place.process()
		caller := &engine.Caller{Request: "r1", Address: netip.MustParseAddr("192.0.2.1")}
		ctx := engine.WithCaller(engine.WithAccount(t.Context(), &engine.Account{ID: "root@local"}), caller)
		wantOK(t, "role", p.AddRole(ctx, "clerk", ""))
		wantOK(t, "grant", p.Grant(ctx, engine.Grant{Subject: "clerk", Resource: note, Permission: engine.MayAll}))
		p.deny("clerk", note, engine.MayRead)
		p.deny("clerk", note, engine.MayRead)
		wantOK(t, "remove", p.RemoveRole(ctx, "clerk"))
		wantOK(t, "declare", p.DeclareResource(ctx, phone, ""))
		wantOK(t, "undeclare", p.RemoveResource(ctx, phone))
		p.grant("ann@local", note, engine.MayRead)
		wantOK(t, "revoke all", p.RevokeAll(ctx, "ann@local"))
		wantOK(t, "revoke nothing", p.RevokeAll(ctx, "ann@local"))
		var got []string
		for _, e := range p.log.events {
			line := e.Account
			for _, d := range e.Details {
				line += " " + d.Value.(string)
			}
			got = append(got, line)
			if e.Kind != engine.PermissionChanged || e.Account != "" && e.Caller != *caller {
				t.Errorf("event %+v", e)
			}
		}
		want := "root@local role added clerk|root@local grant clerk c:::note@sample full| deny clerk c:::note@sample read|" +
			"root@local role removed clerk|root@local resource declared a:::person@sample.phone|root@local resource removed a:::person@sample.phone|" +
			" grant ann@local c:::note@sample read|root@local revoked ann@local"
		if strings.Join(got, "|") != want {
			t.Errorf("told\n%s\nwant\n%s", strings.Join(got, "|"), want)
		}
	})
}
