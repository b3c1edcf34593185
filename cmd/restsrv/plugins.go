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

// rules holds the access rules of an application besides grants: the roles that
// items give, and the searches for coactors and properties of accounts in its
// data.
type rules struct {
	roles    *access.RoleMap
	coactors *access.CoactorFinder
	profiles []*access.Profiles
}

// ruleData holds the data that rules read. It may be empty if only the faults
// of the rules are needed.
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

// accountProperties returns the names of the properties that customProfile gives accounts.
func (r rules) accountProperties() (names []string) {
	for _, p := range r.profiles {
		names = append(names, p.Names()...)
	}
	return names
}

// enrich adds the coactors and properties from the data to an authenticated
// account. Stored properties of the account are not changed.
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

// enrich applies the rules of the current application to an account. It does
// nothing before the rules are read, and on the command line.
func (d *database) enrich(ctx context.Context, a *engine.Account) error {
	if r := d.rules.Load(); r != nil {
		return r.enrich(ctx, a)
	}
	return nil
}
