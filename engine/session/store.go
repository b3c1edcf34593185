package session

import (
	"context"
	"encoding/json"
	"time"

	"github.com/alexedwards/scs/v2"

	"restsrv/engine"
)

// className is no name that a class of an application can have.
const className = "#session"

// Class builds the system class of sessions. Open the store with it, and show
// it to nobody else.
func Class() *engine.Class {
	property, indexed := engine.SystemProperty, engine.SystemIndexed
	return engine.SystemClass(className,
		property("id", engine.String), // SHA-256 of the token
		indexed("account", engine.String),
		property("data", engine.Text), // values, as JSON
		property("created", engine.DateTime),
		property("seen", engine.DateTime),   // when it was last used, give or take writeEvery
		indexed("expires", engine.DateTime), // when it ends if it is not used
	)
}

const (
	// writeEvery is how often the use of a session is written down; sessions
	// of a short idle time are written down more often.
	writeEvery = time.Minute
	// sweepEvery is how often rows of ended sessions are removed.
	sweepEvery = 10 * time.Minute
)

// store is scs.CtxStore on a repository. scs gives it hashes of tokens.
type store struct{ *Sessions }

var _ scs.CtxStore = store{}

// Find implements scs.Store.
func (s store) Find(id string) ([]byte, bool, error) { return s.FindCtx(context.Background(), id) }

// Commit implements scs.Store.
func (s store) Commit(id string, data []byte, end time.Time) error {
	return s.CommitCtx(context.Background(), id, data, end)
}

// Delete implements scs.Store.
func (s store) Delete(id string) error { return s.DeleteCtx(context.Background(), id) }

// FindCtx returns the data of a session that goes on, and writes down that it
// is used.
func (s store) FindCtx(ctx context.Context, id string) ([]byte, bool, error) {
	it, err := s.cfg.Data.Get(engine.AsServer(ctx), s.cfg.Class, id)
	if engine.CodeOf(err) == engine.NotFound && err != nil {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	created, seen, now := when(it, "created"), when(it, "seen"), s.cfg.Now()
	// The configured times may be shorter now than when it began.
	if !now.Before(s.expires(created, seen)) {
		return nil, false, s.DeleteCtx(ctx, id)
	}
	if now.Sub(seen) >= min(writeEvery, s.cfg.Idle/10) {
		if err := s.touch(ctx, it, now); err != nil {
			return nil, false, err
		}
	}
	data, _ := it.Get("data").(string)
	return []byte(data), true, nil
}

// expires is when a session ends that is not used any more.
func (s store) expires(created, seen time.Time) time.Time {
	idle, end := seen.Add(s.cfg.Idle), created.Add(s.cfg.Lifetime)
	if idle.Before(end) {
		return idle
	}
	return end
}

// touch writes down that a session is used. It makes no row: the session may
// have ended meanwhile.
func (s store) touch(ctx context.Context, it *engine.Item, now time.Time) error {
	c := s.cfg.Class
	v := engine.NewValues(c)
	v[c.Property("seen").Index] = engine.InstantOf(now)
	v[c.Property("expires").Index] = engine.InstantOf(s.expires(when(it, "created"), now))
	_, err := s.cfg.Data.Update(engine.AsServer(ctx), c, it.ID, v, engine.WriteOptions{})
	if engine.CodeOf(err) == engine.NotFound {
		return nil
	}
	return err
}

// CommitCtx stores a new session; the tokens of old ones are never given new
// data. The end that scs gives is by another clock.
func (s store) CommitCtx(ctx context.Context, id string, data []byte, _ time.Time) error {
	s.sweep()
	var in values
	if err := json.Unmarshal(data, &in); err != nil {
		return engine.Wrap(err, "the data of a session could not be read")
	}
	c, now := s.cfg.Class, s.cfg.Now()
	v := engine.NewValues(c)
	for name, value := range map[string]any{
		"id": id, "account": in.Account, "data": string(data),
		"created": engine.InstantOf(now), "seen": engine.InstantOf(now), "expires": engine.InstantOf(s.expires(now, now)),
	} {
		v[c.Property(name).Index] = value
	}
	_, err := s.cfg.Data.Create(engine.AsServer(ctx), c, v, engine.WriteOptions{})
	return err
}

// DeleteCtx ends a session.
func (s store) DeleteCtx(ctx context.Context, id string) error {
	err := s.cfg.Data.Delete(engine.AsServer(ctx), s.cfg.Class, id, nil)
	if engine.CodeOf(err) == engine.NotFound {
		return nil
	}
	return err
}

func when(it *engine.Item, name string) time.Time {
	at, _ := it.Get(name).(engine.Instant)
	return at.Time()
}

// sweep begins to remove what has ended, if it is time.
func (s store) sweep() {
	now := s.cfg.Now()
	s.mu.Lock()
	due := now.Sub(s.swept) >= sweepEvery
	if due {
		s.swept = now
	}
	s.mu.Unlock()
	if !due {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), sweepEvery)
		defer cancel()
		if err := s.Sweep(ctx); err != nil {
			s.cfg.Log.Debug("ended sessions stay until the next time", "error", err)
		}
	}()
}

// Sweep removes the rows of sessions that have ended.
func (s *Sessions) Sweep(ctx context.Context) error {
	now := s.cfg.Now()
	past := engine.Fields{{Name: "expires", Value: engine.Fields{{Name: "$lte", Value: engine.InstantOf(now)}}}}
	f, err := engine.ParseFilter(s.cfg.Class, past, now)
	if err != nil {
		return err
	}
	_, err = s.cfg.Data.DeleteAll(ctx, &engine.Query{Class: s.cfg.Class, Filter: f, Count: -1})
	return err
}

// values are what a session holds, as they are stored.
type values struct {
	Account string    `json:"account"`
	Basis   string    `json:"basis"`
	End     time.Time `json:"end"`
}

// codec is scs.Codec in JSON.
type codec struct{}

func (codec) Encode(end time.Time, all map[string]any) ([]byte, error) {
	v := values{End: end}
	v.Account, _ = all[accountKey].(string)
	v.Basis, _ = all[basisKey].(string)
	return json.Marshal(v)
}

func (codec) Decode(b []byte) (time.Time, map[string]any, error) {
	var v values
	err := json.Unmarshal(b, &v)
	return v.End, map[string]any{accountKey: v.Account, basisKey: v.Basis}, err
}
