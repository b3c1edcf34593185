package engine

import "context"

// The parts of the server that options of a script may name, as ion://auth does,
// besides repositories, metadata, storages and Access. Each is a type, so that
// what a script gets of it can be told from what else the same value could do.
type (
	Auth        struct{ Accounts }  // auth: who asks, and registering accounts
	ServiceAuth struct{ Accounts }  // wsAuth: checking passwords and tokens, and issuing tokens
	Counters    struct{ Sequences } // sequenceProvider
	Settings    Fields              // settings: what deploy.json says, by name
	SysLog      struct{}            // sysLog
	KeyProvider struct{}            // keyProvider
	Cache       struct{}            // innerCache and its like: what a service keeps for its VMs
	Lacking     string              // a component of the ancestor that restsrv does not have: its name
)

// Accounts is what services may do with accounts.
type Accounts interface {
	Authenticator
	TokenIssuer
	// Register creates an account, which has no roles. Errors: Invalid for a bad
	// name or password, and with reason duplicate when there is an account of
	// that name or, where letter case does not count, of another spelling.
	Register(ctx context.Context, r Registration) (*Account, error)
	// Profile returns an account as its sign-in would. Errors: NotFound, also
	// when it is disabled.
	Profile(ctx context.Context, id string) (*Account, error)
}

// Registration is an account to be.
type Registration struct {
	ID         string // <login>@<type>
	Name       string
	Password   string
	Properties Fields // what applications know of it
}

// Sequences are named counters that all processes of a database share. What
// they gave stays given, whatever becomes of the work that it was for.
type Sequences interface {
	// NextNumber increments a counter and returns it; the first is 1.
	NextNumber(ctx context.Context, name string) (int64, error)
	// LastNumbers returns the number that was given last, by the name of its
	// counter: of that one, or of all for "". One that gave none is not there.
	LastNumbers(ctx context.Context, name string) (map[string]int64, error)
	// SetNumber has the next number be the one after last.
	SetNumber(ctx context.Context, name string, last int64) error
}

// Get returns a setting; ok is false when there is none of that name.
func (s Settings) Get(name string) (value any, ok bool) { return Fields(s).Get(name) }
