package service

import (
	"context"

	"restsrv/engine"
)

// The components of the server that an option can name, such as "ion://auth". Each component has a type of its own.
// The script runtime offers only the functions of this type, even if the embedded value has more. Some components have
// no type here: repositories, metadata, storages and engine.Access.
type (
	Auth        struct{ Accounts }  // auth: the current account, and registration of accounts
	ServiceAuth struct{ Accounts }  // wsAuth: checking passwords and tokens, and issuing tokens
	Counters    struct{ Sequences } // sequenceProvider: named counters
	Settings    engine.Fields       // settings: the settings of deploy.json, by name
	SysLog      struct{}            // sysLog: the log of the server
	KeyProvider struct{}            // keyProvider: conversion of keys and ids
	Cache       struct{}            // innerCache and similar: a cache that the VMs of a service share
	Lacking     string              // name of an IONDV component that restsrv does not have
)

// Accounts has the functions for accounts that services are allowed to use.
type Accounts interface {
	engine.Authenticator
	engine.TokenIssuer
	// Register creates an account without roles. The error is Invalid if the name or the password is not acceptable.
	// If the name is taken, the error is Invalid with reason duplicate. If the letter case of names does not matter, a
	// name is also taken if it exists in another letter case.
	Register(ctx context.Context, r Registration) (*engine.Account, error)
	// Profile returns an account, with the same content as Authenticate returns after a sign-in. The error is NotFound
	// if the account does not exist or is disabled.
	Profile(ctx context.Context, id string) (*engine.Account, error)
}

// Registration describes an account to be created.
type Registration struct {
	ID         string // <login>@<type>
	Name       string
	Password   string
	Properties engine.Fields // properties for applications
}

// Sequences are named counters that all processes of a database share. A number that was returned is used up, even if
// the work for which it was needed fails.
type Sequences interface {
	// NextNumber increments a counter and returns the new number. The first number is 1.
	NextNumber(ctx context.Context, name string) (int64, error)
	// LastNumbers returns the last numbers of counters, by the names of the counters. If name is "", it returns those
	// of all counters, otherwise only that of the counter with this name. It leaves out counters that have not been
	// used.
	LastNumbers(ctx context.Context, name string) (map[string]int64, error)
	// SetNumber sets the last number of a counter. NextNumber then returns last + 1.
	SetNumber(ctx context.Context, name string, last int64) error
}

// Get returns the setting with that name. ok is false if the setting does not exist.
func (s Settings) Get(name string) (value any, ok bool) { return engine.Fields(s).Get(name) }
