package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"restsrv/engine"
	"restsrv/engine/access"
	"restsrv/engine/server/appdata"
)

// aclExplain prints the permissions of an account on a resource and the reasons for them. It uses
// the code with which the server checks permissions.
func aclExplain(ctx context.Context, r *aclRun, args []string) error {
	if r.app == nil {
		return fmt.Errorf("what an account may do depends on the application, which cannot be read:\n%w", r.broken)
	}
	if err := r.checkResource(args[1]); err != nil {
		return err
	}
	a, rules, err := r.signedInAccount(ctx, args[0])
	if err != nil {
		return err
	}
	of := access.Config{Policy: r.policy, Meta: r.meta, RoleMap: rules.Roles}
	if r.app.Workflows.Any() {
		of.Stages = r.app.Workflows
	}
	checker := access.NewChecker(of)
	x, err := checker.Explain(ctx, a, args[1])
	if err != nil {
		return err
	}
	for _, line := range x.Lines() {
		fmt.Fprintln(r.io.Out, tableCell(line))
	}
	return nil
}

// signedInAccount returns an account as it is after a sign-in, with the identities and properties
// that aclMetaMap and customProfile add from the data. It opens the application's data only if one
// of these is configured.
func (r *aclRun) signedInAccount(ctx context.Context, id string) (_ *engine.Account, _ appdata.Rules, err error) {
	a := engine.Anonymous
	if id != a.ID {
		stored, err := r.accounts.Get(ctx, id)
		if err != nil {
			return nil, appdata.Rules{}, err
		}
		if stored.Disabled {
			r.warn("the account is disabled, so it has none of these permissions now (restsrv user enable %s)", tableCell(stored.ID))
		}
		a = &engine.Account{ID: stored.ID, Name: stored.Name, Roles: stored.Roles}
	}
	c := r.app.Config
	log := slog.New(slog.DiscardHandler)
	if c.MetaMap == nil || a == engine.Anonymous {
		found, _ := appdata.ReadRules(c, r.meta, appdata.RuleData{Log: log}) // its faults are reported when the application is read
		return a, found, nil
	}
	url := first(r.db, r.io.Env("RESTSRV_DB"), c.DB)
	d, err := appdata.Open(ctx, c, url, appdata.Options{Classes: r.meta.Classes(), Log: log})
	if err != nil {
		return nil, appdata.Rules{}, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	found, _ := appdata.ReadRules(c, r.meta, appdata.RuleData{Data: d.Store, RolesOf: d.Accounts.RolesOf, Log: log})
	return a, found, found.Enrich(ctx, a)
}
