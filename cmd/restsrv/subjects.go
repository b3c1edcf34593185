package main

import (
	"context"
	"slices"

	"restsrv/engine"
	"restsrv/engine/access"
	"restsrv/engine/deploy"
	"restsrv/engine/jsonfile"
)

// plugin are the options of a plug-in, for who reads them.
func plugin(c *deploy.Config, p *deploy.Plugin, faults *engine.Faults) jsonfile.Object {
	return jsonfile.Object{File: c.File, Path: jsonfile.Member(p.Path, "options"), Fields: p.Options, Faults: faults}
}

// roleMap reads the roles that objects give.
func roleMap(c *deploy.Config, classes engine.MetaRepository) (*access.RoleMap, engine.Faults) {
	var faults engine.Faults
	m := access.ParseRoleMap(classes, jsonfile.Object{File: c.File, Path: c.RoleMapPath, Fields: c.RoleMap, Faults: &faults})
	return m, faults
}

// subjects find in the data what accounts are besides what is stored of them.
type subjects struct {
	coactors *access.CoactorFinder
	profiles []*access.Profiles
}

// newSubjects reads what plug-ins say of that. d is nil when only their faults
// are of interest.
func newSubjects(c *deploy.Config, classes engine.MetaRepository, d *database) (*subjects, engine.Faults) {
	var faults engine.Faults
	s := &subjects{}
	var data engine.Repository
	roles := func(context.Context, []string) ([]string, error) { return nil, nil }
	if d != nil {
		data = d.store
		roles = func(ctx context.Context, ids []string) ([]string, error) { return d.accounts.RolesOf(ctx, ids) }
	}
	if c.MetaMap != nil {
		cfg := access.CoactorConfig{Data: data, Meta: classes, RolesOf: roles}
		if d != nil {
			cfg.Log = d.log
		}
		s.coactors = access.NewCoactorFinder(cfg, plugin(c, c.MetaMap, &faults))
	}
	for i := range c.Profiles {
		s.profiles = append(s.profiles, access.NewProfiles(access.ProfilesConfig{Data: data, Meta: classes}, plugin(c, &c.Profiles[i], &faults)))
	}
	return s, faults
}

// enrich is account.Config.Enrich for the plug-ins of an application; nil without
// them.
func (d *database) enrich(c *deploy.Config, classes engine.MetaRepository) func(context.Context, *engine.Account) error {
	if classes == nil || c.MetaMap == nil && len(c.Profiles) == 0 {
		return nil
	}
	s, _ := newSubjects(c, classes, d) // the faults are told when the application is loaded
	return s.enrich
}

// enrich adds to an account what is found. What is stored of an account stays as it is.
func (s *subjects) enrich(ctx context.Context, a *engine.Account) error {
	found, err := s.coactors.Coactors(ctx, a.ID)
	if err != nil {
		return err
	}
	a.Coactors = append(a.Coactors, found...)
	for _, p := range s.profiles {
		fields, err := p.Load(ctx, a.ID)
		if err != nil {
			return err
		}
		for _, f := range fields {
			if _, stored := a.Properties.Get(f.Name); !stored {
				a.Properties = append(slices.Clip(a.Properties), f)
			}
		}
	}
	return nil
}
