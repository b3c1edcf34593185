package deploy

import (
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/suggest"
)

// Unused is a part of the configuration that has no effect in restsrv. It is not a mistake, since
// IONDV or a module of IONDV uses it.
type Unused struct {
	engine.Fault
	Setting string // name by which scripts can read the setting, "" if they cannot
}

// usage reports the parts of the configuration that have no effect.
type usage struct{ *loader }

// addUnused adds a part of the configuration that has no effect.
func (l usage) addUnused(o jsonfile.Object, path, found, expected string) {
	l.config.Unused = append(l.config.Unused, Unused{Fault: engine.Fault{File: o.File, Path: path, Found: found, Expected: expected, Level: engine.Warning}})
}

// effectiveOptions lists the options that have an effect, by component or module. If an entry of
// deploy.json sets another option of a listed component, that option is reported as unused.
// Options with a value that only refers to components are not reported. The options of components
// that are not listed are checked elsewhere.
var effectiveOptions = map[string][]string{
	"accounts": {"caseInsensitiveLogin", "plugins"}, "securedDataRepo": {"roleMap"}, profileModule: {"propertyMap"},
	"core/impl/access/DsAcl": nil, "core/impl/access/DsRoleAccessManager": nil, "core/impl/LocalAccountStorage": {"caseInsensitiveLogin", "plugins"},
	"lib/auth": nil, "lib/wsAuth": {"tokenLifetime"}, "lib/session": nil, "core/impl/resource/FsStorage": nil,
	"core/impl/meta/DsMetaRepository": nil, "core/impl/meta/keyProvider": nil,
	"core/impl/datarepository/ionDataRepository": nil, "core/impl/datarepository/CachedDataRepository": nil,
	"core/impl/datarepository/SecuredDataRepository": {"roleMap"},
	"cachedDataRepo": nil, "auth": nil, "metaRepo": nil, "keyProvider": nil, "dataRepo": nil, "aclProvider": nil,
	"sessionHandler": nil, "notifier": nil, "authLogger": nil, "accessLogger": nil, "background": nil, "scheduler": nil,
}

// optionsWithoutEffect reports the options of an entry that have no effect. is is the name under
// which effectiveOptions lists the component of the entry.
func (l usage) optionsWithoutEffect(e jsonfile.Object, is string) {
	effective, listed := effectiveOptions[is]
	options, _ := e.Value("options").(engine.Fields)
	if !listed {
		return
	}
	for _, f := range options {
		if f.Value == nil || slices.Contains(effective, f.Name) || isWired(f.Value) {
			continue
		}
		at := jsonfile.Member(e.At("options"), f.Name)
		l.addUnused(e, at, "option "+engine.Quote(f.Name)+", which has no effect", "options that restsrv knows: it is ignored")
	}
}

// isWired reports whether a value consists only of references to components.
func isWired(v any) bool {
	switch v := v.(type) {
	case string:
		_, ok := parseReference(v)
		return ok
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !isWired(e) })
	case engine.Fields:
		return !slices.ContainsFunc(v, func(f engine.Field) bool { return !isWired(f.Value) })
	}
	return false
}

// reportUsage reports parts of the file that have no effect, such as jobs, unknown settings, and
// modules that restsrv does not have.
func (l usage) reportUsage(top, globals, modules, rest jsonfile.Object) {
	for i, f := range globals.Fields {
		ours := slices.Contains(settingNames, f.Name) || f.Name == "plugins" || f.Name == "di-alias"
		if f.Value == nil || ours || isGiven(globals.Fields[i+1:], f.Name) || suggest.Nearest(f.Name, settingNames) != "" {
			continue
		}
		if f.Name == "jobs" {
			l.addUnused(globals, globals.At(f.Name), "jobs", "services, which are called: restsrv runs no jobs")
			continue
		}
		l.addUnused(globals, globals.At(f.Name), "setting "+engine.Quote(f.Name)+", of which restsrv knows nothing", "settings that it has: this one is there for scripts that ask for it, and does nothing else")
		l.config.Unused[len(l.config.Unused)-1].Setting = f.Name
	}
	for i, f := range modules.Fields {
		if f.Value == nil || f.Name == "rest" || isGiven(modules.Fields[i+1:], f.Name) {
			continue
		}
		does := "its pages and services are not there"
		if l.hasGateway(modules.At(f.Name)) {
			does += ", but for its gateways"
		}
		l.config.Skipped = append(l.config.Skipped, f.Name)
		l.addUnused(modules, modules.At(f.Name), "module "+engine.Quote(f.Name)+", which restsrv does not have", "the module rest: "+does)
	}
	for _, name := range []string{"import", "statics"} {
		if rest.Value(name) != nil {
			l.addUnused(rest, rest.At(name), engine.Quote(name)+" of the module rest", "no such section: restsrv has no use for it, and it is ignored")
		}
	}
	if d := top.Value("deployer"); d != nil && d != "built-in" {
		l.addUnused(top, top.At("deployer"), "deployer "+jsonfile.Describe(d), `"built-in": no other one is run`)
	}
}

func (l usage) hasGateway(path string) bool {
	return slices.ContainsFunc(l.config.Gateways, func(g Gateway) bool { return strings.HasPrefix(g.Path, path+".") })
}

// serviceUsage reports options that a service does not use, and its references to components that
// restsrv does not implement.
func (l usage) serviceUsage(e jsonfile.Object, s Service) {
	options := e.At("options")
	l.lackingComponents(e, options, s.Options)
	known, listed := l.known.Options[s.Builtin]
	if !listed {
		return
	}
	for _, f := range s.Options {
		if f.Value == nil || slices.Contains(known, f.Name) {
			continue
		}
		l.addUnused(e, jsonfile.Member(options, f.Name), "option "+engine.Quote(f.Name)+", which builtin/"+s.Builtin+" does not have", jsonfile.Choice(f.Name, known)+": it is ignored")
	}
}

// lackingComponents reports references in v to components that restsrv accepts but does not
// implement. path is the JSON path of v.
func (l usage) lackingComponents(o jsonfile.Object, path string, v any) {
	eachReference(path, v, func(path, text, name string) {
		if slices.Contains(l.known.Lacking, name) {
			l.addUnused(o, path, engine.Quote(text)+", a component that restsrv does not have", "a component that it has: whatever calls this one fails")
		}
	})
}
