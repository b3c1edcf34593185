package session

import (
	"net/http"
	"net/url"

	"restsrv/engine"
	"restsrv/engine/service"
)

// signOut handles POST /auth/logout.
func (s *Sessions) signOut(w http.ResponseWriter, r *http.Request) {
	if err := s.sameOrigin(r); err != nil {
		service.Fail(w, err)
		return
	}
	if token := s.readToken(r); token != "" {
		if err := s.endSession(r, token); err != nil {
			service.Fail(w, err)
			return
		}
		s.setCookie(w, r, "")
	}
	if wantsJSON(r) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = w.Write([]byte("{}"))
		return
	}
	redirect(w, signInPath, url.Values{"m": {"out"}})
}

func (s *Sessions) endSession(r *http.Request, token string) error {
	ctx, err := s.scs.Load(engine.AsServer(r.Context()), token)
	if err != nil {
		return err
	}
	id := s.scs.GetString(ctx, accountKey)
	if id == "" {
		return nil // it has ended already
	}
	if err := s.scs.Destroy(ctx); err != nil {
		return err
	}
	if s.cfg.Audit != nil {
		s.cfg.Audit.Audit(ctx, engine.Event{Kind: engine.SignedOut, Account: id, Caller: engine.CallerFrom(ctx)})
	}
	return nil
}
