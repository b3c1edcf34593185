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

// guards count failed sign-ins and keep what happens to the security of the
// server.
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

// closeTime is how long the end waits for the database to take what is left.
const closeTime = 5 * time.Second

// close ends the database after what is still to be written into it.
func (d *database) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	d.files.Wait()
	return errors.Join(d.guards.guesses.Close(ctx), d.guards.audit.Close(ctx), d.store.Close())
}
