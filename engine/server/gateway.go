package server

import (
	"context"
	"net/http"
	"reflect"

	"restsrv/engine"
	"restsrv/engine/deploy"
	"restsrv/engine/gateway"
)

// openGateways creates the gateways of the application. If their settings have not changed, it
// reuses the gateways of the previous edition, because each gateway has fetched a token and the
// number of tokens of an account is limited. A gateway can therefore outlive its edition, so it
// asks the server for the current edition at each request.
func (e *edition) openGateways(_ context.Context, before *edition) (err error) {
	if len(e.config.Gateways) == 0 {
		return nil
	}
	if before != nil && reflect.DeepEqual(before.config.Gateways, e.config.Gateways) {
		e.gateways = before.gateways
		return nil
	}
	e.gateways, err = gateway.New(gateway.Server{
		Require: func(w http.ResponseWriter, r *http.Request) (*engine.Account, bool) {
			return e.current.Load().sessions.Require(w, r)
		},
		Local: e.Server.Handler(),
		Valid: e.validToken,
		Log:   e.log,
	}, gatewayConfigs(e.config.Gateways))
	return err
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

// validToken reports whether the token of a gateway is still valid. It returns true if the check
// fails for another reason, such as an unavailable database.
func (s *Server) validToken(ctx context.Context, token string) bool {
	_, err := s.current.Load().accounts.Authenticate(engine.WithAccount(ctx, nil), engine.AuthToken, engine.Credentials{Token: token})
	return engine.CodeOf(err) != engine.Forbidden
}
