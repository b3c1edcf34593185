package server

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/account"
	"restsrv/engine/acl"
	"restsrv/engine/script/suite"
)

// testHost gives the tests of an application access to the sandbox.
type testHost struct{ b *Sandbox }

var _ suite.Host = testHost{}

// Request implements suite.Host. The account is signed in with all authentication modes.
func (h testHost) Request(ctx context.Context, t suite.Request) (*suite.Response, error) {
	r, err := http.NewRequestWithContext(ctx, t.Method, "http://localhost"+t.Path, bytes.NewReader(t.Body))
	if err != nil {
		return nil, engine.Errorf(engine.Invalid, "argument", "%s %s is no request", engine.Quote(t.Method), engine.Quote(t.Path))
	}
	if len(t.Body) == 0 {
		r.Body, r.ContentLength = http.NoBody, 0
	}
	r.RequestURI = t.Path
	r.RemoteAddr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 1024).String()
	r.Header = t.Header
	if t.Account != "" {
		if _, err := h.b.server.db.Accounts.Get(ctx, t.Account); err != nil {
			return nil, engine.Errorf(engine.Invalid, "account", "there is no account %s: make it by addAccount", engine.Quote(t.Account))
		}
		r.Header.Set("Auth-User", t.Account)
		r.Header.Set("Auth-Pwd", h.b.secret)
		r.Header.Set("Auth-Token", h.b.secret+"."+t.Account)
		r.Header.Set("Authorization", "Bearer "+h.b.secret+"."+t.Account)
	}
	answer := recorder{header: http.Header{}}
	if err := serveWhole(h.b.Handler(), &answer, r); err != nil {
		return nil, err
	}
	answer.WriteHeader(http.StatusOK) // no effect if the status is set
	return &suite.Response{Status: answer.status, Header: answer.sent, Body: answer.body.Bytes()}, nil
}

// serveWhole calls a handler. It returns an error if the handler has ended the connection before the end of the response.
func serveWhole(h http.Handler, w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		if p := recover(); p == http.ErrAbortHandler {
			err = engine.Errorf(engine.Internal, "incomplete", "the body of the answer ended before it was complete; the log has the reason")
		} else if p != nil {
			panic(p)
		}
	}()
	h.ServeHTTP(w, r)
	return nil
}

// recorder is an http.ResponseWriter that stores the response.
type recorder struct {
	header, sent http.Header
	status       int
	body         bytes.Buffer
}

// Header implements http.ResponseWriter.
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= http.StatusOK {
		r.status, r.sent = status, r.header.Clone()
	}
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(b []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(b)
}

// AddAccount implements suite.Host.
func (h testHost) AddAccount(ctx context.Context, id string, roles []string, grants map[string]string) error {
	known, err := h.b.server.db.Policy.Roles(ctx)
	if err != nil {
		return err
	}
	for _, role := range roles {
		if !slices.ContainsFunc(known, func(r acl.Role) bool { return r.ID == role }) {
			if err := h.b.server.db.Policy.AddRole(ctx, role, role); err != nil {
				return err
			}
		}
	}
	if err := h.b.server.db.Accounts.Add(ctx, account.Account{ID: id, Name: id, Roles: roles}, h.b.secret); err != nil {
		return err
	}
	for resource, names := range grants {
		g := engine.Grant{Subject: id, Resource: resource}
		for _, name := range strings.FieldsFunc(names, func(r rune) bool { return r == ' ' || r == ',' }) {
			p, ok := engine.ParsePermission(name)
			if !ok {
				return fmt.Errorf("there is no permission %s", engine.Quote(name))
			}
			g.Permission |= p
		}
		if err := h.b.server.db.Policy.Grant(ctx, g); err != nil {
			return err
		}
	}
	return nil
}
