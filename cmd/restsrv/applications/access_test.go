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

// withPassword and the following methods set the credentials of the actor in a request, one
// method for each kind of credential.
func (a *actor) withPassword(r *http.Request) { r.SetBasicAuth(a.id, apptest.ApplicationPassword) }

func (a *actor) withToken(r *http.Request) { r.Header.Set("auth-token", a.token) }

func (a *actor) withBearer(r *http.Request) { r.Header.Set("Authorization", "Bearer "+a.bearer) }

func (a *actor) withSession(r *http.Request) {
	if a.session != nil {
		r.AddCookie(a.session)
	}
}
