package account

import (
	"context"
	"slices"

	"restsrv/engine"
	"restsrv/engine/query"
)

// maxSought is the maximum number of accounts in one statement.
const maxSought = 1000

// RolesOf returns the roles of the accounts among the ids, each role once.
// Disabled accounts count too.
func (s *directory) RolesOf(ctx context.Context, ids []string) ([]string, error) {
	var roles []string
	for some := range slices.Chunk(ids, maxSought) {
		values := make([]any, len(some))
		for i, id := range some {
			values[i] = id
		}
		found, err := query.AnyOf(s.classes.account.KeyProperties()[0], values)
		if err != nil {
			return nil, err
		}
		q := &engine.Query{Class: s.classes.account, Filter: found, Count: -1}
		err = s.data.List(engine.AsServer(ctx), q, func(item *engine.Item) error {
			for _, r := range splitRoles(item.Text("roles")) {
				if !slices.Contains(roles, r) {
					roles = append(roles, r)
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return roles, nil
}
