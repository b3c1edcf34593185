package server

import (
	"errors"
	"log/slog"

	"restsrv/builtin"
	"restsrv/engine"
	"restsrv/engine/deploy"
	"restsrv/engine/image"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
	"restsrv/engine/server/appdata"
	"restsrv/engine/service"
)

// loadApp reads an application and checks the options of its built-in services. The options are checked here, before
// the database is created, so that mistakes in them are reported together with all other mistakes.
func loadApp(file string, modules map[string]service.Module, strict bool) (*appdata.App, error) {
	a, err := appdata.Load(file, knownNames(modules), strict)
	if a.Meta == nil {
		return a, err
	}
	return a, a.Report(err, wrongOptions(a))
}

// wrongOptions returns a fault for each built-in service that rejects its options. To check the
// options, it creates the services without a database and then discards them. It does not check
// services that an embedding program has added (Config.Services), because creating them may have
// effects.
func wrongOptions(a *appdata.App) (faults engine.Faults) {
	e := &edition{Server: &Server{db: &appdata.Database{Images: image.New(image.Config{})}}, config: a.Config, meta: a.Meta, shown: a.Presentation}
	components := e.components()
	for _, svc := range a.Config.Services {
		module := builtin.Modules()[svc.Builtin]
		if svc.Broken || module == nil {
			continue
		}
		options, err := deploy.Resolve(svc.Options, components)
		if err != nil {
			continue // the start reports it
		}
		env := &service.Env{Service: svc.Name, Meta: e.meta, Data: e.gate, Access: e.checker, Tokens: e.accounts, Files: e.images(),
			Log: slog.New(slog.DiscardHandler), Workflows: e.workflows, Presentation: e.shown}
		if _, err := module(env, options); err != nil {
			faults = append(faults, optionsMistake(a.Config, svc, err))
		}
	}
	return faults
}

// optionsMistake returns the fault of a built-in service with invalid options. If an option is unknown, the fault has
// the place of that option in the file, otherwise the place of the service.
func optionsMistake(c *deploy.Config, svc deploy.Service, err error) engine.Fault {
	rule := mistake.ServiceOptions
	f := engine.Fault{File: c.File, Path: svc.Path, Found: "options of " + svc.Builtin + " (" + err.Error() + ")", Expected: "options that the service has",
		Level: rule.Level, Code: rule.Code, Resolution: rule.Resolution}
	var unknown *service.UnknownOption
	if errors.As(err, &unknown) {
		f.Path, f.Found, f.Expected = jsonfile.Member(svc.Path+".options", unknown.Name), "unknown option "+engine.Quote(unknown.Name), jsonfile.Choice(unknown.Name, unknown.Known)
	}
	return c.Locate(engine.Faults{f})[0]
}
