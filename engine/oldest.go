package engine

import "context"

// oldestAtOnce bounds how many items RemoveOldest removes.
const oldestAtOnce = 100

// RemoveOldest removes the oldest items of a system class that belong to an
// account, by their properties "account" and "created", so that about so many
// are left. It returns how many it removed. Call it after each creation.
func RemoveOldest(ctx context.Context, data Repository, c *Class, account string, left int) (removed int, err error) {
	ctx = AsServer(ctx)
	filter, err := Equal(c.Property("account"), account)
	if err != nil {
		return 0, err
	}
	q := &Query{Class: c, Filter: filter, Sort: []Sort{{Property: c.Property("created"), Descending: true}}, Offset: left, Count: oldestAtOnce}
	var ids []string
	err = data.List(ctx, q, func(it *Item) error {
		ids = append(ids, it.ID)
		return nil
	})
	for _, id := range ids {
		if gone := data.Delete(ctx, c, id, nil); gone == nil {
			removed++
		} else if CodeOf(gone) != NotFound && err == nil {
			err = gone
		}
	}
	return removed, err
}
