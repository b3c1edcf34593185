// Package audit records security events: each event is a line of the structured log and, if that
// is enabled, a row in the database. Other packages decide about permissions and report the
// events. This package limits floods of events, copes with an unreachable database, and removes
// secrets from events.
package audit

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"restsrv/engine"
)

// Default limits of the age and the number of rows.
const (
	DefaultKeep = 90 * 24 * time.Hour
	DefaultRows = 1_000_000
)

// capacity is the maximum number of events that wait to be stored.
const capacity = 4096

// Config is the configuration of a Journal.
type Config struct {
	Log *slog.Logger // receives every event at level info; nil means no log
	// Data and Class are the storage of the rows. If Data is nil, there are no
	// rows.
	Data  engine.Repository
	Class *engine.Class
	Keep  time.Duration    // 0 means DefaultKeep
	Rows  int              // approximate limit, above which the oldest rows are removed; 0 means DefaultRows
	Now   func() time.Time // nil means time.Now
}

// Journal implements engine.Auditor with a log and a repository. It is safe for
// concurrent use, and callers never wait for the database.
type Journal struct {
	cfg     Config
	floods  floods
	queue   chan entry // nil if there are no rows
	begin   sync.Once  // starts writeRows with the first event, since most commands have no events
	written chan struct{}
	hurry   chan struct{} // closed by Close; then writeRows does not wait for more events
	gone    chan struct{} // closed when Close gives up

	mu     sync.RWMutex // held while sending, so that Close can close the queue
	closed bool

	dropped atomic.Int64 // events lost because the queue was full, since the last report
	unsaved atomic.Int64 // events that Close gave up on
}

var _ engine.Auditor = (*Journal)(nil)

// New returns a Journal, which must be closed with Close.
func New(cfg Config) *Journal {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Keep <= 0 {
		cfg.Keep = DefaultKeep
	}
	if cfg.Rows <= 0 {
		cfg.Rows = DefaultRows
	}
	j := &Journal{cfg: cfg, written: make(chan struct{}), hurry: make(chan struct{}), gone: make(chan struct{})}
	j.floods.record = j.recordEvent
	if cfg.Data == nil {
		close(j.written)
		return j
	}
	j.queue = make(chan entry, capacity)
	return j
}

// entry is an event with its time.
type entry struct {
	at time.Time
	engine.Event
}

// Audit implements engine.Auditor. If clients cause many events in a minute, only the first
// events are recorded one by one. Further events are counted, and their number is reported once a
// minute.
func (j *Journal) Audit(_ context.Context, e engine.Event) {
	one := entry{j.cfg.Now(), cleanEvent(e)}
	if !j.floods.admitEvent(one) {
		return
	}
	j.recordEvent(one)
}

// recordEvent logs an event and queues it for storage.
func (j *Journal) recordEvent(e entry) {
	j.cfg.Log.LogAttrs(context.Background(), slog.LevelInfo, "audit", e.attributes()...)
	if j.queue == nil {
		return
	}
	j.mu.RLock()
	defer j.mu.RUnlock()
	if j.closed {
		return
	}
	j.begin.Do(func() { go j.writeRows() })
	select {
	case j.queue <- e:
	default:
		j.dropped.Add(1)
	}
}

// Close stores all events so far. If ctx ends first, the error has the number of
// events that were not stored. Later events are only logged.
func (j *Journal) Close(ctx context.Context) error {
	j.floods.close(j.cfg.Now())
	j.mu.Lock()
	again := j.closed
	j.closed = true
	j.mu.Unlock()
	if again {
		return nil
	}
	close(j.hurry)
	if j.queue != nil {
		close(j.queue)
		j.begin.Do(func() { close(j.written) })
	}
	select {
	case <-j.written:
	case <-ctx.Done():
		close(j.gone)
		<-j.written
	}
	if n := j.unsaved.Load(); n > 0 {
		return fmt.Errorf("%d audit events were not stored: %w", n, ctx.Err())
	}
	return nil
}

func (e *entry) address() string {
	if !e.Caller.Address.IsValid() {
		return ""
	}
	return e.Caller.Address.String()
}

// attributes returns the attributes of the log line. It leaves out empty values.
func (e *entry) attributes() []slog.Attr {
	all := []slog.Attr{slog.String("event", string(e.Kind))}
	for _, a := range [...]struct{ name, value string }{
		{"account", e.Account}, {"address", e.address()}, {"request", e.Caller.Request}, {"service", e.Service},
	} {
		if a.value != "" {
			all = append(all, slog.String(a.name, a.value))
		}
	}
	for _, f := range e.Details {
		all = append(all, slog.Any("details."+f.Name, f.Value))
	}
	return all
}

const (
	maxName   = 255  // characters of an account or a service
	maxDetail = 1000 // characters of a detail
)

// cleanEvent returns the event in the form in which it is recorded: with limited lengths, without
// control characters, and with values that look like secrets redacted. Events should never
// contain secrets; cleanEvent redacts them in case of a mistake.
func cleanEvent(e engine.Event) engine.Event {
	e.Account, e.Service = cleanText(e.Account, maxName), cleanText(e.Service, maxName)
	e.Caller.Request = cleanText(e.Caller.Request, maxName)
	details := make(engine.Fields, 0, len(e.Details))
	for _, f := range e.Details {
		f.Name = cleanText(f.Name, maxName)
		switch v := f.Value.(type) {
		case nil, bool, int64, float64:
		case int:
			f.Value = int64(v)
		case string:
			f.Value = cleanText(v, maxDetail)
		default:
			f.Value = cleanText(fmt.Sprint(v), maxDetail)
		}
		if secretNames(f.Name) {
			f.Value = hidden
		}
		details = append(details, f)
	}
	e.Details = details
	return e
}

const hidden = "(hidden)"

func secretNames(name string) bool {
	return slices.Contains([]string{"password", "pwd", "secret", "clientsecret", "accesstoken", "refreshtoken", "code", "codeverifier",
		"authorization", "cookie", "session"}, strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name)))
}

// secretValue matches credentials: tokens of the server, hashes of passwords, and
// Authorization headers.
var secretValue = regexp.MustCompile(`\b[0-9a-f]{40,}\b|\$argon2id?\$\S*|pbkdf2\$\S*|(?i)\b(basic|bearer) [a-z0-9+/=._~-]{8,}`)

func cleanText(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
	return secretValue.ReplaceAllString(engine.Cut(s, most), hidden)
}
