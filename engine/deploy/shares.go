package deploy

import (
	"time"

	"restsrv/engine/jsonfile"
)

// Shares limits how accounts may use the database.
type Shares struct {
	Scans         int           // long readings that run at the same time; 0 for the default of the database
	ScansWaiting  int           // long readings of one account that may wait; default 64
	ScanWait      time.Duration // how long one may wait; default 10 s
	WritesWaiting int           // writes of one account that may wait; default 1024
}

func defaultShares() Shares {
	return Shares{ScansWaiting: 64, ScanWait: 10 * time.Second, WritesWaiting: 1024}
}

func (l *loader) shares(o jsonfile.Object) {
	in, ok := o.Child("shares")
	if !ok {
		return
	}
	in.WarnRepeated()
	in.WarnUnknown([]string{"scans", "scansWaiting", "scanWait", "writesWaiting"})
	s := &l.config.Shares
	for name, limit := range map[string]*int{"scans": &s.Scans, "scansWaiting": &s.ScansWaiting, "writesWaiting": &s.WritesWaiting} {
		if n, ok := in.Whole(name, 1, 100_000); ok {
			*limit = int(n)
		}
	}
	s.ScanWait = seconds(in, "scanWait", time.Millisecond, s.ScanWait)
}
