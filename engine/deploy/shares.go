package deploy

import (
	"time"

	"restsrv/engine/jsonfile"
)

// Shares limits how much accounts can use the database at the same time. A long read is a query
// that turns out to take long, such as a search without an index. It continues on separate
// connections, so that short reads do not wait for it.
type Shares struct {
	Scans         int           // concurrent long reads; 0 for the default of the database
	ScansWaiting  int           // long reads of one account that may wait; default 64
	ScanWait      time.Duration // maximum time that a long read waits; default 10 s
	WritesWaiting int           // writes of one account that may wait; default 1024
}

func defaultShares() Shares {
	return Shares{ScansWaiting: 64, ScanWait: 10 * time.Second, WritesWaiting: 1024}
}

func (l *loader) readShares(o jsonfile.Object) {
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
	s.ScanWait = readSeconds(in, "scanWait", time.Millisecond, s.ScanWait)
}
