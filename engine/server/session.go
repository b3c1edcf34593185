package server

import (
	"context"

	"restsrv/engine/session"
)

// openSessions creates the browser sessions of the application. If their settings have not
// changed, it reuses the sessions of the previous edition.
func (e *edition) openSessions(_ context.Context, before *edition) (err error) {
	c := e.config
	if before != nil && before.accounts == e.accounts && before.config.PublicURL == c.PublicURL &&
		before.config.SessionIdle == c.SessionIdle && before.config.SessionLifetime == c.SessionLifetime && before.config.SessionsPerAccount == c.SessionsPerAccount && before.config.SessionsOfAll == c.SessionsOfAll {
		e.sessions = before.sessions
		return nil
	}
	e.sessions, err = session.New(session.Config{
		Data: e.db.Core, Class: e.db.System.Sessions, Auth: e.accounts, Accounts: e.accounts,
		PublicURL: c.PublicURL, Idle: c.SessionIdle, Lifetime: c.SessionLifetime, PerAccount: c.SessionsPerAccount, All: c.SessionsOfAll, Audit: e.db.Audit, Log: e.log,
	})
	return err
}
