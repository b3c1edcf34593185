package server

import (
	"maps"
	"slices"
	"sort"

	"restsrv/builtin"
	"restsrv/engine/deploy"
	"restsrv/engine/server/appdata"
	"restsrv/engine/service"
)

// lacking lists components of IONDV that restsrv does not have. Applications can still name them:
// services get a placeholder, which fails only when it is called.
var lacking = []string{
	"accessLogger", "accounts", "application", "authLogger", "background", "calculator", "dataSources", "Db", "dbSync",
	"module", "notifier", "queryParser", "roleAccessManager", "rtEvents",
	"scheduler", "server", "sessionHandler",
}

// caches lists components of IONDV that store values by key. Services get a service.Cache instead.
var caches = []string{"innerCache", "kvRepo", "memcached", "redis"}

// components returns the components by the names that options of services use in ion://name.
func (e *edition) components() map[string]any {
	all := map[string]any{
		"dataRepo": e.events, "securedDataRepo": e.gate, "cachedDataRepo": e.gate, "metaRepo": e.meta,
		"fileStorage": e.db.Files, "imageStorage": e.images(),
		"auth": service.Auth{Accounts: e.accounts}, "wsAuth": service.ServiceAuth{Accounts: e.accounts},
		"aclProvider": rights{e.checker, e.db.Policy}, "keyProvider": service.KeyProvider{},
		"sequenceProvider": service.Counters{Sequences: e.store},
		"workflows":        e.workflows,
		"settings":         service.Settings(e.config.Values), "sysLog": service.SysLog{},
	}
	for _, name := range lacking {
		all[name] = service.Lacking(name)
	}
	for _, name := range caches {
		all[name] = service.Cache{}
	}
	e.config.AddNames(all)
	return all
}

// scriptScope returns the components that services of IONDV get as scope when they are
// initialized. It differs from components in one respect: dataRepo is the repository that checks
// permissions. To get the repository without permission checks, a service must name
// ion://dataRepo in its options.
func (e *edition) scriptScope(components map[string]any) map[string]any {
	scope := maps.Clone(components)
	for name, component := range scope {
		if component == any(e.events) {
			scope[name] = e.gate
		}
	}
	return scope
}

// LoadApplication reads the application of a deploy.json without serving it. If strict is set,
// mistakes are errors. If there is an error, it still returns an App, with the warnings.
func LoadApplication(file string, strict bool) (*appdata.App, error) {
	return loadApp(file, builtin.Modules(), strict)
}

// KnownNames returns the names that deploy.json may use: built-in services, their options
// and components.
func KnownNames() deploy.Known { return knownNames(builtin.Modules()) }

// knownNames returns the names that deploy.json may use. modules are the modules written in Go.
func knownNames(modules map[string]service.Module) deploy.Known {
	var k deploy.Known
	for name := range modules {
		k.Builtins = append(k.Builtins, name)
	}
	sort.Strings(k.Builtins)
	k.Lacking, k.Options = lacking, builtin.Options()
	k.Components = append(slices.Concat(lacking, caches), "aclProvider", "auth", "cachedDataRepo", "dataRepo", "fileStorage", "imageStorage", "keyProvider",
		"metaRepo", "securedDataRepo", "sequenceProvider", "settings", "sysLog", "workflows", "wsAuth")
	sort.Strings(k.Components)
	return k
}
