package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/lib/pq"
)

// errNoServer is in errors of connecting that are not the server's: none of the
// hosts answers, or none is what target_session_attrs wants.
var errNoServer = errors.New("no server of the database can be used")

// reaching is the driver's Connector. It marks what keeps it from connecting.
type reaching struct{ *pq.Connector }

// Connect is driver.Connector's.
func (r reaching) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := r.Connector.Connect(ctx)
	var e *pq.Error
	if err != nil && ctx.Err() == nil && !errors.As(err, &e) {
		return nil, fmt.Errorf("%w: %w", errNoServer, err)
	}
	return conn, err
}
