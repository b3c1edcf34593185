package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"restsrv/engine"
	"restsrv/engine/access"
	"restsrv/engine/account"
	"restsrv/engine/attachment"
	"restsrv/engine/deploy"
	"restsrv/engine/gateway"
	"restsrv/engine/image"
	"restsrv/engine/meta"
	"restsrv/engine/rest"
	"restsrv/engine/script"
	"restsrv/engine/script/event"
	"restsrv/engine/server/appdata"
	"restsrv/engine/service"
	"restsrv/engine/session"
	"restsrv/engine/store"
	"restsrv/engine/store/layout"
	"restsrv/engine/workflow"
)

// edition is everything that is built from the application files: classes, repositories,
// services. A reload builds the next edition and then replaces the current edition in one step.
// Running requests finish on the edition with which they began.
//
// State that must outlive editions belongs to the server: database connections, the write queue,
// failed sign-ins, audit events, stored responses and values that scripts share. If the settings
// of a part have not changed, the next edition uses the same part.
type edition struct {
	*Server
	config   *deploy.Config
	meta     *meta.Repository
	shown    *meta.Presentation
	defined  *workflow.Definitions
	reading  reading
	warnings map[string]bool
	refused  engine.Faults // invalid options of built-in services that were not found when the application was read

	store     *store.Store
	accounts  *account.Store
	rules     appdata.Rules
	events    *event.Events      // the store, with events that report writes to scripts
	gate      *access.Repository // events, with permission checks in front of it
	workflows *workflow.Set
	checker   *access.Checker
	sessions  *session.Sessions
	oauth     *provider         // nil if the application has no OAuth2 provider
	gateways  *gateway.Gateways // nil if the application has no gateways
	runtime   *script.Runtime
	scripts   *script.Manager
	rest      *rest.Server
}

// newEdition builds the edition of an application, one part after the other. before is the
// current edition, or nil. The last part changes the tables to fit the classes, so if another
// part fails, the database is unchanged.
func (s *Server) newEdition(ctx context.Context, a *loadedApp, before *edition) (*edition, error) {
	e := &edition{Server: s, config: a.Config, meta: a.Meta, shown: a.Presentation, defined: a.Workflows, reading: a.reading, warnings: a.told}
	parts := []func(context.Context, *edition) error{
		e.openStore, e.openAccounts, e.openGate, e.openSessions, e.openOAuth, e.openGateways, e.openScripts, e.openRest, e.mount, e.upgrade,
	}
	for _, open := range parts {
		if err := open(ctx, before); err != nil {
			e.retire(before)
			return nil, err
		}
	}
	if e.lacksServices() && (before == nil || !before.lacksServices()) {
		e.log.Warn(`no service serves the classes of the application: add one to modules.rest.globals.di of deploy.json, such as "crud": {"module": "builtin/crud"}`, "classes", len(e.meta.Classes()))
	}
	return e, nil
}

// lacksServices reports whether the application has classes but no service for their objects.
func (e *edition) lacksServices() bool {
	return len(e.meta.Classes()) > 0 && !slices.ContainsFunc(e.config.Services, func(svc deploy.Service) bool {
		return svc.Builtin != "token" && svc.Builtin != "meta" && svc.Builtin != "echo"
	})
}

// useEdition makes an edition handle all new requests, and retires the previous edition.
func (s *Server) useEdition(e *edition) {
	s.db.SetRules(&e.rules)
	before := s.current.Swap(e)
	if before == nil {
		return
	}
	before.retire(e)
	names := e.scripts.Names()
	for _, name := range before.scripts.Names() {
		if !slices.Contains(names, name) {
			s.scripts.Forget(name) // deletes the values that versions of the script have shared
		}
	}
}

// retire releases the resources of edition e, except resources that the edition other uses too.
// Running requests continue.
func (e *edition) retire(other *edition) {
	if other == nil {
		other = &edition{}
	}
	if e.scripts != nil {
		e.scripts.Close()
	}
	if e.oauth != nil && e.oauth != other.oauth {
		e.oauth.forget()
	}
	if e.gateways != nil && e.gateways != other.gateways {
		e.gateways.Close()
	}
}

// openStore sets the store of the edition. The first edition uses the store that was opened with the database. A
// later edition opens another store on the same database, for its own classes.
func (e *edition) openStore(_ context.Context, before *edition) (err error) {
	e.store = e.db.Store
	if before != nil {
		e.store, err = e.db.Core.With(append(e.meta.Classes(), e.db.System.Classes()...))
	}
	return err
}

// upgrade changes the tables to fit the classes. For the first edition, that was done when the
// database was opened.
func (e *edition) upgrade(ctx context.Context, before *edition) error {
	if before == nil {
		return nil
	}
	err := e.store.Upgrade(ctx)
	var refused *layout.SchemaError
	if errors.As(err, &refused) {
		return fmt.Errorf("%w\n%s", err, appdata.SchemaHint)
	}
	return err
}

// openAccounts reuses the accounts of the previous edition, with their caches, if the settings have
// not changed.
func (e *edition) openAccounts(_ context.Context, before *edition) (err error) {
	c := e.config
	switch {
	case before == nil:
		e.accounts = e.db.Accounts
	case before.config.TokenLifetime == c.TokenLifetime && before.config.CaseInsensitiveLogin == c.CaseInsensitiveLogin && appdata.HasEnrichment(before.config) == appdata.HasEnrichment(c):
		e.accounts = before.accounts
	default:
		e.accounts, err = e.db.NewAccounts(c)
	}
	return err
}

func (e *edition) openScripts(context.Context, *edition) (err error) {
	e.runtime, err = e.Server.scripts.With(scriptConfig(e.config, e.databaseURL(e.config), e.options.Watch, e.log))
	return err
}

func (e *edition) openRest(context.Context, *edition) error {
	handlers := e.sessions.Handlers()
	var bearers engine.Authenticator
	if e.oauth != nil {
		bearers = e.oauth
		maps.Copy(handlers, e.oauth.Handlers())
	}
	if e.gateways != nil {
		for _, prefix := range e.gateways.Prefixes() {
			handlers[prefix] = e.gateways
		}
	}
	e.rest = rest.New(rest.Config{
		Auth: e.wrapSignIn(e.accounts), Log: e.log, Audit: e.db.Audit, Ready: e.faults, Advise: e.options.Watch, MinBodyRate: e.config.MinBodyRate, Answers: e.answers, Bodies: e.bodies,
		Sessions: e.sessions.Account, Handlers: handlers, OAuth: e.wrapSignIn(bearers), TrustedProxies: e.config.TrustedProxies,
		Files: attachment.Files{Storage: e.db.Files, Data: e.gate, Meta: e.meta}, Images: e.images(),
	})
	return nil
}

// images returns the image storage with the thumbnails that the application configures.
func (e *edition) images() *image.Storage { return e.db.Images.With(e.config.Images.Thumbnails) }

// mount builds all services. If a script cannot be loaded, its service continues with the last
// version that could be loaded; if there is none, it answers with the status 503. A built-in
// service with invalid options also answers with 503. With -strict, both mistakes are errors
// instead.
func (e *edition) mount(_ context.Context, before *edition) error {
	modes := map[string]engine.AuthMode{}
	mount := func(name string, svc service.Service) error { return e.rest.Mount(name, modes[name], svc) }
	e.scripts = script.NewManager(e.runtime, mount)
	e.scripts.Observe(e.events)
	if before != nil {
		e.scripts.Follow(before.scripts)
	}
	components := e.components()
	var scripts []script.Service
	for _, svc := range e.config.Services {
		modes[svc.Name] = svc.Mode
		if svc.Broken {
			if err := mount(svc.Name, script.Unavailable(svc.Name, "it could not be set up")); err != nil {
				return err
			}
			continue
		}
		options, err := deploy.Resolve(svc.Options, components)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", e.config.File, svc.Path, err)
		}
		env := &service.Env{Service: svc.Name, Meta: e.meta, Data: e.gate, Access: e.checker,
			Tokens: e.accounts, Files: e.images(), Replays: e.db.Replays, Cursors: e.db.Cursors, Audit: e.db.Audit, Log: e.log, Workflows: e.workflows,
			Settings: service.Settings(e.config.Values), Presentation: e.shown}
		if svc.Builtin == "" {
			scripts = append(scripts, script.Service{Name: svc.Name, File: svc.Script, Env: env, Options: options, Scope: e.scriptScope(components), Limits: ScriptLimits(svc.Limits)})
			continue
		}
		if err := e.addConverters(svc, env, options); err != nil && e.options.Strict {
			return err
		}
		built, err := e.modules[svc.Builtin](env, options)
		if err != nil {
			if f := optionsMistake(e.config, svc, err); !e.warnings[f.String()] {
				e.refused = append(e.refused, f) // not reported yet
			}
			built = script.Unavailable(svc.Name, "it could not be set up")
		}
		if err := mount(svc.Name, built); err != nil {
			return fmt.Errorf("%s: %s: %w", e.config.File, svc.Path, err)
		}
	}
	if err := e.reportRefused(before); err != nil {
		return err
	}
	if before != nil && e.options.ScriptsReloaded != nil {
		e.scripts.OnReload(e.reportScripts) // reload reports scripts that fail, instead of the log
	}
	if err := e.scripts.Add(scripts...); err != nil && e.options.Strict {
		return err
	}
	if e.options.ScriptsReloaded != nil {
		e.scripts.OnReload(e.reportScripts)
	}
	return e.scripts.Lost()
}

// reportRefused logs the invalid options of built-in services that the previous edition has not
// logged. With -strict it returns them as an error.
func (e *edition) reportRefused(before *edition) error {
	if errs, _ := e.refused.Split(e.options.Strict); len(errs) > 0 {
		return errs
	}
	for _, f := range e.refused {
		if before == nil || !slices.Contains(before.refused, f) {
			e.log.Warn(f.String())
		}
	}
	return nil
}

// addConverters replaces each option of the acceptor that names a script by a converter, which
// runs the script. The converter fails as long as the script cannot be loaded.
func (e *edition) addConverters(svc deploy.Service, env *service.Env, options service.Options) error {
	if svc.Builtin != "acceptor" {
		return nil
	}
	var failed error
	plain := maps.Clone(options)
	for name, value := range plain {
		file, ok := value.(string)
		if !ok || !deploy.IsScript(file) {
			continue
		}
		converter, err := e.scripts.AddConverter(script.Service{
			Name: svc.Name + "." + name, File: file, Env: env, Options: plain,
			Limits: ScriptLimits(svc.Limits),
		})
		options[name] = converter
		failed = errors.Join(failed, err)
	}
	return failed
}

// faults returns the lines of the answer of /readyz: an unavailable database, locked tables, and
// services with scripts that cannot be loaded.
func (e *edition) faults() []string {
	var lines []string
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if e.db.Core.Ping(ctx) != nil {
		lines = append(lines, "the database is not available")
	}
	if names, err := e.db.Core.LockedTables(ctx); err == nil && len(names) > 0 {
		e.log.Warn("other sessions of the database lock tables: requests wait for them", "tables", strings.Join(names, ", "))
		lines = append(lines, "tables of the database are locked; the log names them")
	}
	for name := range e.scripts.Faults() {
		lines = append(lines, "service "+name+": its script cannot be loaded")
	}
	sort.Strings(lines)
	return lines
}
