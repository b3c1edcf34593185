// Package echo is the smallest service. Use it to test whether a service can be reached, and how
// requests are authenticated. scripts/echo.js is the same service in JavaScript.
package echo

import (
	"context"
	"net/http"

	"restsrv/engine/service"
)

// New returns the module "builtin/echo". It has no options.
func New(*service.Env, service.Options) (service.Service, error) { return echo{}, nil }

type echo struct{}

// Routes implements service.Service. GET and POST have the same answer.
func (echo) Routes() []service.Route {
	return []service.Route{
		{Method: http.MethodGet, Path: "/", Handler: answerEcho},
		{Method: http.MethodPost, Path: "/", Handler: answerEcho},
	}
}

// Errors implements service.Service. Errors are plain text, as in services that applications write.
func (echo) Errors() service.ErrorForm { return service.TextErrors }

func answerEcho(context.Context, *service.Request) (*service.Response, error) {
	return service.JSON([]byte(`{"echo":"peekaboo"}`)), nil
}
