package deploy

import (
	"time"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

// SignIn limits failed sign-ins. If a value is 0, that limit does not apply.
type SignIn struct {
	PerAccount int           // failures per minute for an account from one client address; default 20
	PerAddress int           // failures per minute from one client address; default 100
	DelayFrom  int           // failures per minute for an account after which its sign-ins are delayed; default 10
	MaxDelay   time.Duration // the longest delay; default 5 s
}

// Audit configures the storage of audit events in the database. Even without it, events are
// logged.
type Audit struct {
	On   bool          // store events; default false
	Keep time.Duration // time after which events are deleted; default 90 days
	Rows int           // approximate maximum of stored events; 0 means the default
}

const (
	day     = 24 * time.Hour
	maxDays = 36_600
)

func defaultSignIn() SignIn {
	return SignIn{PerAccount: 20, PerAddress: 100, DelayFrom: 10, MaxDelay: 5 * time.Second}
}

// signIn reads the setting signIn.
func (l *loader) signIn(o jsonfile.Object) {
	in, ok := o.Child("signIn")
	if !ok {
		return
	}
	in.WarnRepeated()
	in.WarnUnknown([]string{"perAccount", "perAddress", "delayFrom", "maxDelay"})
	s := &l.config.SignIn
	for name, limit := range map[string]*int{"perAccount": &s.PerAccount, "perAddress": &s.PerAddress, "delayFrom": &s.DelayFrom} {
		if n, ok := in.Whole(name, 0, 10_000); ok {
			*limit = int(n)
		}
	}
	s.MaxDelay = readSeconds(in, "maxDelay", 0, s.MaxDelay)
	if s.MaxDelay > time.Minute {
		in.Fault(in.At("maxDelay"), jsonfile.Describe(in.Value("maxDelay")), "a number of seconds from 0 to 60")
	}
}

// readAudit reads the setting audit: a boolean or {"keep": days, "rows": number}. An object turns
// the storage of events on.
func (l *loader) readAudit(o jsonfile.Object) {
	a := &l.config.Audit
	if _, is := o.Value("audit").(engine.Fields); !is {
		a.On = o.Flag("audit", a.On)
		return
	}
	in, _ := o.Child("audit")
	in.WarnRepeated()
	in.WarnUnknown([]string{"keep", "rows"})
	a.On = true
	if n, ok := in.Whole("rows", 1000, 1_000_000_000); ok {
		a.Rows = int(n)
	}
	if n, ok := in.Whole("keep", 1, maxDays); ok {
		a.Keep = time.Duration(n) * day
	}
}

// readChanges reads the setting changes: {"keep": days}.
func (l *loader) readChanges(o jsonfile.Object) {
	in, ok := o.Child("changes")
	if !ok {
		return
	}
	in.WarnRepeated()
	in.WarnUnknown([]string{"keep"})
	if n, ok := in.Whole("keep", 1, maxDays); ok {
		l.config.ChangesKept = time.Duration(n) * day
	}
}
