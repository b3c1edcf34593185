package main

import (
	"context"
	"net/http"

	"restsrv/engine"
	"restsrv/engine/deploy"
	"restsrv/engine/gateway"
	"restsrv/engine/session"
)

// addGateways adds what the gateways of the application answer to the handlers
// outside /rest.
func (s *server) addGateways(handlers map[string]http.Handler, sessions *session.Sessions) error {
	if len(s.config.Gateways) == 0 {
		return nil
	}
	all, err := gateway.New(gateway.Server{
		Require: sessions.Require,
		Local:   http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.rest.ServeHTTP(w, r) }),
		Valid:   s.validToken,
		Log:     s.log,
	}, gatewayConfigs(s.config.Gateways))
	if err != nil {
		return err
	}
	for _, prefix := range all.Prefixes() {
		handlers[prefix] = all
	}
	return nil
}

func gatewayConfigs(gateways []deploy.Gateway) []gateway.Config {
	var configs []gateway.Config
	for _, g := range gateways {
		c := gateway.Config{Name: g.Name, Base: g.Base, Endpoint: g.Endpoint, Account: g.Account, Secret: g.Secret, TokenPath: g.TokenPath}
		for _, r := range g.Routes {
			c.Routes = append(c.Routes, gateway.Route(r))
		}
		configs = append(configs, c)
	}
	return configs
}

// validToken reports whether a token that a gateway holds still proves its
// account; one that cannot be looked up is taken for one that does.
func (s *server) validToken(ctx context.Context, token string) bool {
	_, err := s.db.accounts.Authenticate(engine.WithAccount(ctx, nil), engine.AuthToken, engine.Credentials{Token: token})
	return engine.CodeOf(err) != engine.Forbidden
}
