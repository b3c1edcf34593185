package applications

import (
	"net/http"

	"restsrv/cmd/restsrv/apptest"
)

// actor is an account of the application, with its credentials.
type actor struct {
	id, token, bearer string
	session           *http.Cookie
}

// as are the ways in which an actor proves itself.
func (a *actor) withPassword(r *http.Request) { r.SetBasicAuth(a.id, apptest.ApplicationPassword) }

func (a *actor) withToken(r *http.Request) { r.Header.Set("auth-token", a.token) }

func (a *actor) withBearer(r *http.Request) { r.Header.Set("Authorization", "Bearer "+a.bearer) }

func (a *actor) withSession(r *http.Request) {
	if a.session != nil {
		r.AddCookie(a.session)
	}
}
