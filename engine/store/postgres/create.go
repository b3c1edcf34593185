package postgres

import (
	"context"
	"slices"
	"strings"
)

// createTogether is the number of statements that are sent to the server at once.
const createTogether = 100

// createTables implements sqldb.Traits.Create.
func createTables(ctx context.Context, statements []string, exec func(context.Context, string) error) error {
	for part := range slices.Chunk(statements, createTogether) {
		if err := exec(ctx, strings.Join(part, ";\n")); err != nil {
			return err
		}
	}
	return nil
}
