package guess

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"restsrv/engine"
	"restsrv/engine/query"
)

// className is the name of the system class. No class of an application can have this name.
const className = "#guess"

// Prefixes of row ids. A batch row contains the failures that one process
// counted within FlushEvery. A known row contains the networks of one account.
const (
	batchPrefix = "batch "
	knownPrefix = "known "
)

const (
	// clockSkew is the maximum difference between the clocks of processes, and
	// the maximum time until a written batch becomes visible.
	clockSkew = 10 * time.Second
	// batchLife is the time for which a process may need a batch.
	batchLife = Window + sliceTime + clockSkew
	// sweepEvery is the interval at which expired rows are removed.
	sweepEvery = time.Minute
	// ioTime is the maximum time that a sign-in waits for the rows of other
	// processes.
	ioTime = 2 * time.Second
)

// Class builds the system class of the rows. Pass the class to the store when the store is
// opened, and to no other component except the Keeper.
func Class() *engine.Class {
	property, indexed := engine.SystemProperty, engine.SystemIndexed
	return engine.SystemClass(className,
		property("id", engine.String),
		indexed("at", engine.DateTime), // when the row was written
		indexed("expires", engine.DateTime),
		property("process", engine.String), // the process that wrote the row
		property("content", engine.Text),   // JSON
	)
}

// failures is the JSON form of an event and its count in a batch.
type failures struct {
	Account string `json:"a"`
	Network string `json:"n"`
	Slice   int64  `json:"s"`
	Count   uint16 `json:"c"`
	Known   bool   `json:"k,omitempty"`
}

func encodeKey(k key) string { return base64.RawURLEncoding.EncodeToString(k[:]) }

func decodeKey(s string) (k key, ok bool) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	return k, err == nil && copy(k[:], b) == len(k)
}

// newRow returns the record that stores content as a row.
func (k *Keeper) newRow(id string, now time.Time, life time.Duration, content any) (engine.Record, error) {
	text, err := json.Marshal(content)
	if err != nil {
		return engine.Record{}, err
	}
	c := k.cfg.Class
	v := engine.ValuesOf(c, engine.Named("id", id), engine.Named("at", engine.InstantOf(now)), engine.Named("expires", engine.InstantOf(now.Add(life))),
		engine.Named("process", k.process), engine.Named("content", string(text)))
	return engine.Record{Class: c, ID: id, Values: v}, nil
}

// flushInBackground writes the pending counts. If that fails, it schedules
// another attempt.
func (k *Keeper) flushInBackground() {
	k.mu.Lock()
	k.timer = nil
	k.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := k.flushPending(ctx); err != nil {
		k.logFailure("failed sign-ins could not be stored; until they are, each process counts only its own", err)
		k.mu.Lock()
		k.scheduleFlush()
		k.mu.Unlock()
	}
}

// flushPending writes the pending counts in one transaction. If the write fails, the counts stay
// pending as long as they still matter.
func (k *Keeper) flushPending(ctx context.Context) error {
	select {
	case k.reading <- struct{}{}:
		defer func() { <-k.reading }()
	case <-ctx.Done():
		return ctx.Err()
	}
	now := k.cfg.Now()
	k.mu.Lock()
	events, renewed := k.pending, k.renewed
	k.pending, k.renewed = map[event]uint16{}, map[key]struct{}{}
	records, err := k.pendingRecords(events, renewed, now)
	due := len(records) > 0 && now.Sub(k.swept) >= sweepEvery // a process without pending counts does not use the database
	if due {
		k.swept = now
		k.pairs.prune(now)
		k.networks.prune(now)
		k.accounts.prune(now)
		k.known.prune(now)
	}
	k.mu.Unlock()
	if err == nil && len(records) > 0 {
		_, err = k.cfg.Data.Save(ctx, records)
	}
	if err != nil {
		k.restorePending(events, renewed)
		return err
	}
	if due {
		return k.removeExpired(ctx, now)
	}
	return nil
}

// pendingRecords returns the rows to write for the pending counts. The caller
// must hold mu.
func (k *Keeper) pendingRecords(events map[event]uint16, renewed map[key]struct{}, now time.Time) (records []engine.Record, err error) {
	var lines []failures
	for e, n := range events {
		if sliceOf(now)-e.slice < slicesKept {
			lines = append(lines, failures{encodeKey(e.pair.account), encodeKey(e.pair.network), e.slice, n, e.known})
		}
	}
	if len(lines) > 0 {
		r, err := k.newRow(batchPrefix+rand.Text(), now, batchLife, lines)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	for account := range renewed {
		networks := map[string]int64{} // value: Unix time in seconds
		for n, t := range k.known[account] {
			networks[encodeKey(n)] = t.Unix()
		}
		r, err := k.newRow(knownPrefix+encodeKey(account), now, knownFor, networks)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, nil
}

// restorePending makes counts pending again, because they could not be written.
func (k *Keeper) restorePending(events map[event]uint16, renewed map[key]struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for e, n := range events {
		if len(k.pending) < maxEntries {
			k.pending[e] = addCapped(k.pending[e], n)
		}
	}
	for account := range renewed {
		k.renewed[account] = struct{}{}
	}
}

// removeExpired removes the expired rows.
func (k *Keeper) removeExpired(ctx context.Context, now time.Time) error {
	q, err := k.timeQuery("expires", "$lte", now)
	if err != nil {
		return err
	}
	_, err = k.cfg.Data.DeleteAll(ctx, q)
	return err
}

func (k *Keeper) timeQuery(name, op string, t time.Time) (*engine.Query, error) {
	f, err := query.ParseFilter(k.cfg.Class, engine.Fields{{Name: name, Value: engine.Fields{{Name: op, Value: engine.InstantOf(t)}}}}, t)
	return &engine.Query{Class: k.cfg.Class, Filter: f, Count: -1}, err
}

// refreshCounts reads the rows that other processes have written since the last refresh. It does
// nothing if the last refresh was less than FlushEvery ago. If the database cannot be read, the
// process uses the counts that it has. refreshCounts returns an error only if ctx has ended.
func (k *Keeper) refreshCounts(ctx context.Context) error {
	if !k.isStale() {
		return nil
	}
	select {
	case k.reading <- struct{}{}:
		defer func() { <-k.reading }()
	case <-ctx.Done():
		e := engine.Errorf(engine.Timeout, "timeout", "the request ended before the credentials were checked")
		e.Err = ctx.Err()
		return e
	}
	if !k.isStale() {
		return nil
	}
	now := k.cfg.Now()
	k.mu.Lock()
	since := now.Add(-knownFor) // at the start: all rows
	if !k.read.IsZero() {
		since = k.read.Add(-clockSkew)
	}
	k.mu.Unlock()
	err := k.loadRows(since)
	if err != nil {
		k.logFailure("failed sign-ins of other processes could not be read; until they are, each process counts only its own", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.read = now
	if err != nil {
		k.read = time.Time{} // the next refresh reads the rows that this one missed
		k.retry = now.Add(time.Second)
	}
	for id, at := range k.seen {
		if now.Sub(at) > batchLife {
			delete(k.seen, id)
		}
	}
	return nil
}

func (k *Keeper) isStale() bool {
	now := k.cfg.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	return now.Sub(k.read) >= FlushEvery && !now.Before(k.retry)
}

// loadRows counts the rows written since a time. It does not use the context of
// the request, because the rows belong to the server and not to the account
// that signs in.
func (k *Keeper) loadRows(since time.Time) error {
	ctx, cancel := context.WithTimeout(context.Background(), ioTime)
	defer cancel()
	q, err := k.timeQuery("at", "$gte", since)
	if err != nil {
		return err
	}
	return k.cfg.Data.List(ctx, q, func(it *engine.Item) error {
		k.countRow(it)
		return nil
	})
}

// countRow counts one row.
func (k *Keeper) countRow(it *engine.Item) {
	content, _ := it.Get("content").(string)
	now := k.cfg.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if name, is := strings.CutPrefix(it.ID, knownPrefix); is {
		var networks map[string]int64
		account, ok := decodeKey(name)
		if !ok || json.Unmarshal([]byte(content), &networks) != nil {
			return
		}
		for name, at := range networks {
			if network, ok := decodeKey(name); ok && now.Sub(time.Unix(at, 0)) < knownFor {
				k.known.putNetwork(pair{account, network}, time.Unix(at, 0))
			}
		}
		return
	}
	if process, _ := it.Get("process").(string); process == k.process {
		return
	}
	id := strings.Clone(it.ID) // the item is valid only during the callback
	if _, done := k.seen[id]; done {
		return
	}
	k.seen[id] = now
	var lines []failures
	if json.Unmarshal([]byte(content), &lines) != nil {
		return
	}
	for _, l := range lines {
		account, aok := decodeKey(l.Account)
		network, nok := decodeKey(l.Network)
		if aok && nok && l.Slice <= sliceOf(now)+slicesKept { // otherwise the system clock was set back
			slice := min(l.Slice, sliceOf(now)) // the clock of the other process may be ahead
			k.countFailures(event{pair{account, network}, slice, l.Known}, l.Count, now)
		}
	}
}

// logFailure logs a database error, at most once a minute.
func (k *Keeper) logFailure(what string, err error) {
	now := k.cfg.Now()
	k.mu.Lock()
	due := now.Sub(k.warned) >= time.Minute
	if due {
		k.warned = now
	}
	k.mu.Unlock()
	if due {
		k.cfg.Log.Warn(what, "error", err)
	}
}
