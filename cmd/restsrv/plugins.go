package main

import (
	"context"
	"log/slog"
	"slices"

	"restsrv/engine"
	"restsrv/engine/access"
	"restsrv/engine/deploy"
	"restsrv/engine/jsonfile"
)

// rules are what an application says of access besides grants: the roles that
// items give, and what its data say that accounts are.
type rules struct {
	roles    *access.RoleMap
	coactors *access.CoactorFinder
	profiles []*access.Profiles
}

// ruleData is what rules look things up in. Who wants to know their mistakes
// only has none.
type ruleData struct {
	data    engine.Repository
	rolesOf func(context.Context, []string) ([]string, error)
	log     *slog.Logger
}

// readRules reads the plug-ins aclMetaMap and customProfile and the option
// roleMap of securedDataRepo.
func readRules(c *deploy.Config, meta engine.MetaRepository, from ruleData) (rules, engine.Faults) {
	var r rules
	var faults engine.Faults
	object := func(path string, fields engine.Fields) jsonfile.Object {
		return jsonfile.Object{File: c.File, Path: path, Fields: fields, Faults: &faults, Lenient: true}
	}
	if c.RoleMap != nil {
		r.roles = access.ParseRoleMap(meta, object(c.RoleMapPath, c.RoleMap))
	}
	if p := c.MetaMap; p != nil {
		r.coactors = access.NewCoactorFinder(access.CoactorConfig{Data: from.data, Meta: meta, RolesOf: from.rolesOf, Log: from.log}, object(p.Path+".options", p.Options))
	}
	for _, p := range c.Profiles {
		r.profiles = append(r.profiles, access.NewProfiles(access.ProfilesConfig{Data: from.data, Meta: meta}, object(p.Path+".options", p.Options)))
	}
	return r, faults
}

// enrich adds to an account that was proven what the data say of it. What is
// stored of an account stays as it is.
func (r rules) enrich(ctx context.Context, a *engine.Account) error {
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

// enrich is what accounts are enriched by; nothing before the application's
// rules are read, and on the command line.
func (d *database) enrich(ctx context.Context, a *engine.Account) error {
	if r := d.rules.Load(); r != nil {
		return r.enrich(ctx, a)
	}
	return nil
}
