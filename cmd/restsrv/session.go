package main

import (
	"restsrv/engine/session"
)

// openSessions are the browser sessions of the application.
func (s *server) openSessions() (*session.Sessions, error) {
	return session.New(session.Config{
		Data: s.db.store, Class: s.db.system.sessions, Auth: s.db.accounts, Accounts: s.db.accounts,
		PublicURL: s.config.PublicURL, Idle: s.config.SessionIdle, Lifetime: s.config.SessionLifetime, Audit: s.db.guards.audit, Log: s.log,
	})
}
