package appdata

import (
	"context"
	"log/slog"
	"slices"

	"restsrv/engine"
	"restsrv/engine/access"
	"restsrv/engine/deploy"
	"restsrv/engine/jsonfile"
)

// Rules holds the access rules of an application that are not grants: roles that depend on items
// (roleMap), additional identities of accounts (aclMetaMap) and additional properties of accounts
// (customProfile).
type Rules struct {
	Roles    *access.RoleMap
	coactors *access.CoactorFinder
	profiles []*access.Profiles
}

// RuleData gives rules access to data. It may be empty if only the faults of the rules are needed.
type RuleData struct {
	Data    engine.Repository
	RolesOf func(context.Context, []string) ([]string, error)
	Log     *slog.Logger
}

// ReadRules reads the plug-ins aclMetaMap and customProfile, and the option roleMap of
// securedDataRepo.
func ReadRules(c *deploy.Config, meta engine.MetaRepository, from RuleData) (Rules, engine.Faults) {
	var r Rules
	var faults engine.Faults
	object := func(path string, fields engine.Fields) jsonfile.Object {
		return jsonfile.Object{File: c.File, Path: path, Fields: fields, Faults: &faults, Lenient: true}
	}
	if c.RoleMap != nil {
		r.Roles = access.ParseRoleMap(meta, object(c.RoleMapPath, c.RoleMap))
	}
	if p := c.MetaMap; p != nil {
		r.coactors = access.NewCoactorFinder(access.CoactorConfig{Data: from.Data, Meta: meta, RolesOf: from.RolesOf, Log: from.Log}, object(p.Path+".options", p.Options))
	}
	for _, p := range c.Profiles {
		r.profiles = append(r.profiles, access.NewProfiles(access.ProfilesConfig{Data: from.Data, Meta: meta}, object(p.Path+".options", p.Options)))
	}
	return r, faults
}

// accountProperties returns the names of the properties that customProfile adds to accounts.
func (r Rules) accountProperties() (names []string) {
	for _, p := range r.profiles {
		names = append(names, p.Names()...)
	}
	return names
}

// Enrich adds identities and properties from the data to an account that has signed in. Stored
// properties of the account take precedence.
func (r Rules) Enrich(ctx context.Context, a *engine.Account) error {
	coactors, err := r.coactors.Coactors(ctx, a.ID)
	if err != nil {
		return err
	}
	for _, sid := range coactors {
		if !a.Is(sid) {
			a.Coactors = append(a.Coactors, sid)
		}
	}
	for _, p := range r.profiles {
		found, err := p.Load(ctx, a.ID)
		if err != nil {
			return err
		}
		for _, f := range found {
			if _, stored := a.Properties.Get(f.Name); !stored {
				a.Properties = append(slices.Clip(a.Properties), f)
			}
		}
	}
	return nil
}

// SetRules replaces the rules that apply to accounts.
func (d *Database) SetRules(r *Rules) { d.rules.Store(r) }

// enrich adds identities and properties to an account (see Rules.Enrich). It uses the rules of the current
// application. While there are no rules, as in commands and before the application is read, it has no effect.
func (d *Database) enrich(ctx context.Context, a *engine.Account) error {
	if r := d.rules.Load(); r != nil {
		return r.Enrich(ctx, a)
	}
	return nil
}
