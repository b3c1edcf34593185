package main

import (
	"context"
	"errors"
	"time"

	"restsrv/engine"
	"restsrv/engine/audit"
	"restsrv/engine/deploy"
	"restsrv/engine/guess"
)

// guards counts failed sign-ins and records security events.
type guards struct {
	guesses *guess.Keeper
	audit   *audit.Journal
}

func newGuards(c *deploy.Config, data engine.Repository, sys *system, o opening) guards {
	limits := guess.Limits{PerAccount: c.SignIn.PerAccount, PerAddress: c.SignIn.PerAddress, DelayFrom: c.SignIn.DelayFrom, MaxDelay: c.SignIn.MaxDelay}
	journal := audit.Config{Log: o.log, Class: sys.events, Keep: c.Audit.Keep, Rows: c.Audit.Rows}
	if c.Audit.On {
		journal.Data = data
	}
	return guards{
		guesses: guess.New(guess.Config{Data: data, Class: sys.guesses, Limits: limits, Log: o.log}),
		audit:   audit.New(journal),
	}
}

// closeTime is the timeout for the last writes when the server ends.
const closeTime = 5 * time.Second

// close closes the database after pending writes.
func (d *database) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	d.files.Wait()
	return errors.Join(d.guards.guesses.Close(ctx), d.guards.audit.Close(ctx), d.store.Close())
}
