package script

import (
	"log/slog"
	"math"
	"path/filepath"
	"sync"
	"time"

	"github.com/dlclark/regexp2/v2"

	"restsrv/engine"
)

// Config says what a Runtime needs.
type Config struct {
	Dir    string           // application directory; no script outside it is read
	Limits Limits           // of services that do not say otherwise
	MaxCPU time.Duration    // longest Limits.CPU of any service, default that of Limits
	Dev    bool             // tell the source position of a failing script in the header X-Script-Error
	Log    *slog.Logger     // default slog.Default()
	Now    func() time.Time // what "now" is in filters, default time.Now
}

// Runtime loads script services and watches over all their VMs. One per
// process: the limit on regular expressions is shared by all of them.
type Runtime struct {
	dir    string // absolute
	root   string // dir with symbolic links resolved
	limits Limits
	maxCPU time.Duration
	dev    bool
	log    *slog.Logger
	now    func() time.Time
	dog    *watchdog
	cache  *cache

	mu          sync.Mutex
	generations map[*Generation]struct{}
}

// New starts a Runtime; Close ends it. The error says what is wrong with the
// directory.
func New(c Config) (*Runtime, error) {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, err
	}
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	r := &Runtime{
		dir: dir, root: root, limits: c.Limits.withDefaults(), dev: c.Dev, log: c.Log, now: c.Now,
		dog: newWatchdog(), cache: newCache(), generations: map[*Generation]struct{}{},
	}
	if r.log == nil {
		r.log = slog.Default()
	}
	if r.now == nil {
		r.now = time.Now
	}
	r.maxCPU = max(c.MaxCPU, r.limits.CPU)
	boundRegexps(r.maxCPU)
	go r.dog.run(r.reap)
	return r, nil
}

// regexpSlack is how much later than a turn a regular expression gives up.
const regexpSlack = 200 * time.Millisecond

// boundRegexps ends a backtracking expression soon after the CPU limit of a
// turn. The engine takes the timeout for "no match": it must be longer than
// the limit, so that the interrupt of the turn waits for the expression to
// return.
func boundRegexps(limit time.Duration) {
	limit += regexpSlack
	if d := regexp2.DefaultMatchTimeout; d == math.MaxInt64 || d < limit {
		regexp2.DefaultMatchTimeout = limit
	}
}

// Close retires all services and stops watching over them.
func (r *Runtime) Close() {
	r.mu.Lock()
	var all []*Generation
	for g := range r.generations {
		all = append(all, g)
	}
	r.mu.Unlock()
	for _, g := range all {
		g.Close()
	}
	r.dog.close()
}

// reap lets every generation drop the VMs it has not used for a while.
func (r *Runtime) reap() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for g := range r.generations {
		g.group.reap(time.Now())
	}
}

// Service says what to load.
type Service struct {
	Name    string         // as registered, for logs
	File    string         // relative to the application directory, extension optional
	Env     *engine.Env    // Meta and Data must be set
	Options engine.Options // what the constructor gets
	Limits  Limits         // zero fields are those of the Runtime
}
