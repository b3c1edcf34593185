package session

import (
	"context"
	"encoding/json"
	"time"

	"github.com/alexedwards/scs/v2"

	"restsrv/engine"
)

// className is the name of the system class. No class of an application can have this name,
// because it begins with #.
const className = "#session"

// Class builds the system class of sessions. Pass the class to the store when the store is
// opened, and to no other component except Sessions.
func Class() *engine.Class {
	property, indexed := engine.SystemProperty, engine.SystemIndexed
	return engine.SystemClass(className,
		property("id", engine.String), // SHA-256 of the token
		indexed("account", engine.String),
		property("data", engine.Text), // values, as JSON
		property("created", engine.DateTime),
		property("seen", engine.DateTime),   // last use, with an accuracy of writeEvery
		indexed("expires", engine.DateTime), // when the session ends if it is not used
	)
}

// writeEvery is the interval at which the use of a session is recorded.
// Sessions with a short idle time are recorded more often.
const writeEvery = time.Minute

// store implements scs.CtxStore with a repository. Its ids are hashes of
// tokens, which scs computes.
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

// FindCtx implements scs.CtxStore. It returns the data of a session that has
// not ended and records its use.
func (s store) FindCtx(ctx context.Context, id string) ([]byte, bool, error) {
	it, err := s.cfg.Data.Get(engine.AsServer(ctx), s.cfg.Class, id)
	if engine.CodeOf(err) == engine.NotFound && err != nil {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	created, seen, now := it.When("created"), it.When("seen"), s.cfg.Now()
	// The configured times may have become shorter since the session began.
	if !now.Before(s.expiryOf(created, seen)) {
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

// expiryOf returns the end of a session that began at created and was last used at seen.
func (s store) expiryOf(created, seen time.Time) time.Time {
	idle, end := seen.Add(s.cfg.Idle), created.Add(s.cfg.Lifetime)
	if idle.Before(end) {
		return idle
	}
	return end
}

// touch records the use of a session. It updates the row and never creates one, because the
// session may have ended during the request.
func (s store) touch(ctx context.Context, it *engine.Item, now time.Time) error {
	c := s.cfg.Class
	v := engine.ValuesOf(c, engine.Named("seen", engine.InstantOf(now)), engine.Named("expires", engine.InstantOf(s.expiryOf(it.When("created"), now))))
	_, err := s.cfg.Data.Update(engine.AsServer(ctx), c, it.ID, v, engine.WriteOptions{})
	if engine.CodeOf(err) == engine.NotFound {
		return nil
	}
	return err
}

// CommitCtx implements scs.CtxStore. It is called only for new sessions, because existing
// sessions never get new data. It ignores the end time from scs, which is based on another clock.
func (s store) CommitCtx(ctx context.Context, id string, data []byte, _ time.Time) error {
	s.sweeper.Begin()
	var in values
	if err := json.Unmarshal(data, &in); err != nil {
		return engine.Wrap(err, "the data of a session could not be read")
	}
	c, now := s.cfg.Class, s.cfg.Now()
	v := engine.ValuesOf(c, engine.Named("id", id), engine.Named("account", in.Account), engine.Named("data", string(data)),
		engine.Named("created", engine.InstantOf(now)), engine.Named("seen", engine.InstantOf(now)), engine.Named("expires", engine.InstantOf(s.expiryOf(now, now))))
	if _, err := s.cfg.Data.Create(engine.AsServer(ctx), c, v, engine.WriteOptions{}); err != nil {
		return err
	}
	return s.bound.Added(ctx, in.Account)
}

// DeleteCtx implements scs.CtxStore. It ends a session.
func (s store) DeleteCtx(ctx context.Context, id string) error {
	err := s.cfg.Data.Delete(engine.AsServer(ctx), s.cfg.Class, id, nil)
	if engine.CodeOf(err) == engine.NotFound {
		return nil
	}
	return err
}

// Sweep removes the rows of sessions that have ended.
func (s *Sessions) Sweep(ctx context.Context) error { return s.sweeper.Sweep(ctx) }

// values is the stored form of the values in a session.
type values struct {
	Account string    `json:"account"`
	Basis   string    `json:"basis"`
	End     time.Time `json:"end"`
}

// codec implements scs.Codec with JSON.
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
