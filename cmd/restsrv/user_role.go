package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"restsrv/engine/acl"
	"restsrv/engine/server/appdata"
)

// changeRoles runs restsrv user role, which adds roles to an account or removes them.
func (u *userRun) changeRoles(ctx context.Context, args []string) (err error) {
	line := u.newUserLine("role")
	names, err := line.parse(args)
	if err != nil {
		return err
	}
	if len(names) < 3 || names[0] != "add" && names[0] != "remove" {
		return line.usageError("expected add or remove, an account and roles, for example: restsrv user role add ann@local clerk")
	}
	store, shut, err := u.env.open(ctx, u.config, u.db)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shut()) }()
	change := store.AddRole
	if names[0] == "remove" {
		change = store.RemoveRole
	}
	for _, role := range names[2:] {
		if _, err := change(ctx, names[1], role); err != nil {
			return appdata.PlainError(err)
		}
	}
	a, err := store.Get(ctx, names[1])
	if err != nil {
		return appdata.PlainError(err)
	}
	fmt.Fprintf(u.io.Out, "roles of %s: %s\n", names[1], tableCell(strings.Join(a.Roles, ",")))
	if names[0] == "remove" {
		return nil
	}
	return appdata.PlainError(u.warnOfRoles(ctx, names[2:]))
}

// warnOfRoles prints a warning for each role that does not exist.
func (u *userRun) warnOfRoles(ctx context.Context, roles []string) error {
	if u.env.roles == nil || len(roles) == 0 {
		return nil
	}
	all, err := u.env.roles(ctx)
	if err != nil {
		return err
	}
	for _, name := range roles {
		if !slices.ContainsFunc(all, func(r acl.Role) bool { return r.ID == name }) {
			fmt.Fprintf(u.io.Err, "warning: there is no role %s, so it gives no permissions (restsrv acl role add)\n", tableCell(name))
		}
	}
	return nil
}
