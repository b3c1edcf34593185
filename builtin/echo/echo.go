// Package echo is the smallest service: it shows that a service is reached,
// and by which authentication mode. Its twin in JavaScript is scripts/echo.js.
package echo

import (
	"context"
	"net/http"

	"restsrv/engine"
)

// New is the module "builtin/echo". It takes no options.
func New(*engine.Env, engine.Options) (engine.Service, error) { return service{}, nil }

type service struct{}

// Routes answers GET and POST alike.
func (service) Routes() []engine.Route {
	return []engine.Route{
		{Method: http.MethodGet, Path: "/", Handler: echo},
		{Method: http.MethodPost, Path: "/", Handler: echo},
	}
}

// Errors is the form of custom services.
func (service) Errors() engine.ErrorForm { return engine.TextErrors }

func echo(context.Context, *engine.Request) (*engine.Response, error) {
	return engine.JSON([]byte(`{"echo":"peekaboo"}`)), nil
}
