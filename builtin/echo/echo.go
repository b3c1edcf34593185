// Package echo is the smallest service. Use it to test that a service is
// reachable, and with which authentication mode. scripts/echo.js is the same
// service in JavaScript.
package echo

import (
	"context"
	"net/http"

	"restsrv/engine"
)

// New returns the module "builtin/echo". It has no options.
func New(*engine.Env, engine.Options) (engine.Service, error) { return echo{}, nil }

type echo struct{}

// Routes implements engine.Service. GET and POST have the same answer.
func (echo) Routes() []engine.Route {
	return []engine.Route{
		{Method: http.MethodGet, Path: "/", Handler: answerEcho},
		{Method: http.MethodPost, Path: "/", Handler: answerEcho},
	}
}

// Errors implements engine.Service with the form of custom services.
func (echo) Errors() engine.ErrorForm { return engine.TextErrors }

func answerEcho(context.Context, *engine.Request) (*engine.Response, error) {
	return engine.JSON([]byte(`{"echo":"peekaboo"}`)), nil
}
