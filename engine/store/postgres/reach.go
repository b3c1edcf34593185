package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/lib/pq"
)

// errNoServer marks errors of connecting that were not sent by a server: no host responds, or no host satisfies the
// parameter target_session_attrs.
var errNoServer = errors.New("no server of the database can be used")

// reaching is the driver's connector. It marks connection errors with errNoServer.
type reaching struct{ *pq.Connector }

// Connect implements driver.Connector.
func (r reaching) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := r.Connector.Connect(ctx)
	var e *pq.Error
	if err != nil && ctx.Err() == nil && !errors.As(err, &e) {
		return nil, fmt.Errorf("%w: %w", errNoServer, err)
	}
	return conn, err
}
