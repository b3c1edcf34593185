package deploy

import (
	"path"
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/suggest"
)

// Plugin is an entry that configures a component. It is in globals.plugins, or in the section di
// of a module.
type Plugin struct {
	Name    string        // name of the entry
	Path    string        // JSON path of the entry in File
	Options engine.Fields // options as written; references to components are still text
}

// pluginModule is a module of IONDV for which restsrv has a replacement.
type pluginModule struct {
	path string // path in IONDV; @iondv/ with the same last part is another spelling
	is   string // name of the component that the module implements, "" if services cannot call that component
}

// pluginModules returns the modules that plug-ins may name. restsrv has its own implementation of
// each of them, which uses only some of the options of the module (see effectiveOptions).
func pluginModules() []pluginModule {
	return []pluginModule{
		{path: oauthModule}, {path: metaMapModule, is: "aclProvider"}, {path: profileModule}, {path: gatewayModule},
		{"core/impl/access/DsAcl", "aclProvider"}, {"core/impl/access/DsRoleAccessManager", "roleAccessManager"},
		{"lib/auth", "auth"}, {"lib/wsAuth", "wsAuth"}, {"lib/session", "sessionHandler"}, {"core/impl/LocalAccountStorage", "accounts"},
		{"core/impl/resource/FsStorage", "fileStorage"}, {"core/impl/resource/ImageStorage", "imageStorage"},
		{"core/impl/meta/DsMetaRepository", "metaRepo"}, {"core/impl/meta/keyProvider", "keyProvider"},
		{"core/impl/datarepository/ionDataRepository", "dataRepo"},
		{"core/impl/datarepository/CachedDataRepository", "cachedDataRepo"},
		{"core/impl/datarepository/SecuredDataRepository", "securedDataRepo"},
	}
}

// The modules that change the server when a plug-in names them, by their path in IONDV.
const (
	oauthModule   = "lib/oAuthAdapter"
	metaMapModule = "core/impl/access/aclMetaMap"
	profileModule = "lib/plugins/customProfile"
	gatewayModule = "modules/rest/client/GateWay"
)

// ancestorComponents are the components that every application has by default. An application can
// refer to them or set their options.
var ancestorComponents = []string{
	"server", "application", "sysLog", "rtEvents", "dataSources", "Db", "settings", "sequenceProvider", "aclProvider", "roleAccessManager",
	"accessLogger", "accounts", "notifier", "sessionHandler", "auth", "authLogger", "calculator", "metaRepo", "dbSync", "fileStorage",
	"imageStorage", "keyProvider", "dataRepo", "innerCache", "memcached", "redis", "wsAuth", "workflows", "queryParser", "cachedDataRepo",
	"securedDataRepo", "background", "kvRepo", "scheduler",
}

// pluginModuleOf finds the module that an entry names. ok is false if restsrv does not have it.
func pluginModuleOf(written string) (m pluginModule, ok bool) {
	written = strings.TrimSuffix(written, ".js")
	switch written {
	case "builtin/oauth":
		written = oauthModule
	case "builtin/gateway":
		written = gatewayModule
	}
	twin := strings.HasPrefix(written, "@iondv/")
	for _, m := range pluginModules() {
		if written == m.path || twin && strings.EqualFold(path.Base(written), path.Base(m.path)) {
			return m, true
		}
	}
	return m, false
}

// readPlugins reads globals.plugins. If restsrv does not have the module of an entry, readPlugins
// adds a warning and skips the entry. The server then keeps its own component with the name of
// the entry.
func (l *loader) readPlugins(globals jsonfile.Object) {
	entries, _ := childOf(globals, "plugins")
	entries.WarnRepeated()
	profiles := map[string]Plugin{}
	for i, f := range entries.Fields {
		if f.Value == nil || isGiven(entries.Fields[i+1:], f.Name) {
			continue
		}
		if e, ok := childOf(entries, f.Name); ok {
			l.readPlugin(e, f.Name, profiles)
		}
	}
	l.readAccounts(entries, profiles)
	l.roleMap(entries)
	l.readImages(entries)
}

func (l *loader) readPlugin(e jsonfile.Object, name string, profiles map[string]Plugin) {
	builtin := slices.Contains(ancestorComponents, name)
	written, _ := e.Value("module").(string)
	m, here := pluginModuleOf(written)
	switch {
	case e.Value("module") == nil && e.Value("executable") == nil:
		if !builtin {
			expected := "a module"
			if near := suggest.Nearest(name, ancestorComponents); near != "" {
				expected += ", or the name " + engine.Quote(near)
			}
			e.Warn(e.Path, "a plug-in without a module", expected+": the entry is ignored")
		}
		usage{l}.optionsWithoutEffect(e, name)
		return // the options belong to a component that restsrv implements itself or does not have
	case !here && builtin:
		e.Warn(e.Path, pluginName(e), "a module that restsrv has: the entry is skipped and the server's own "+name+" stays")
		return
	case !here:
		e.Warn(e.Path, pluginName(e), "a module that restsrv has: the entry is skipped")
		return
	}
	e.WarnRepeated()
	e.WarnUnknown(entryNames)
	options, _ := childOf(e, "options")
	options.WarnRepeated()
	if m.path != gatewayModule {
		l.markRead(e.Path)
	}
	usage{l}.optionsWithoutEffect(e, m.path)
	p := Plugin{Name: name, Path: e.Path, Options: options.Fields}
	switch m.path {
	case oauthModule:
		if l.config.OAuth != nil {
			e.Warn(e.Path, "another plug-in for OAuth2", "one: this one is ignored")
			break
		}
		l.config.OAuth = &p
	case metaMapModule:
		if name != "aclProvider" {
			e.Warn(e.Path, "an aclMetaMap of another name", `the name "aclProvider", under which alone it has an effect`)
			break
		}
		l.config.MetaMap = &p
	case profileModule:
		profiles[name] = p
	case gatewayModule:
		gateways{l}.readGateway(e, name)
	}
	if !builtin {
		l.config.Components[name] = m.is
	}
}

func pluginName(e jsonfile.Object) string {
	if v := e.Value("module"); v != nil {
		return "module " + jsonfile.Describe(v)
	}
	return "executable " + jsonfile.Describe(e.Value("executable"))
}

// readAccounts reads the options of the plug-in accounts: whether letter case in names matters, and
// the list of profiles. profiles holds all profiles of the file by name. As in IONDV, only those in
// the list have an effect.
func (l *loader) readAccounts(entries jsonfile.Object, profiles map[string]Plugin) {
	options := optionsOf(entries, "accounts")
	l.markRead(options.Path)
	lenient := options
	lenient.Lenient = true
	l.config.CaseInsensitiveLogin = lenient.Flag("caseInsensitiveLogin", false)
	used := map[string]bool{}
	use := func(path string, v any) {
		name, ok := parseReference(v)
		p, found := profiles[name]
		switch {
		case !ok:
			options.Warn(path, jsonfile.Describe(v), "a plug-in, such as \"ion://customProfile\": it is ignored")
		case !found:
			options.Warn(path, engine.Quote("ion://"+name)+", which is no profile", "the name of a plug-in of module "+engine.Quote(profileModule)+": it is ignored")
		case !used[name]:
			used[name] = true
			l.config.Profiles = append(l.config.Profiles, p)
		}
	}
	at := options.At("plugins")
	switch listed := options.Value("plugins").(type) {
	case nil:
	case []any:
		for i, v := range listed {
			use(jsonfile.Element(at, i), v)
		}
	case engine.Fields:
		for _, f := range listed {
			if f.Value != nil {
				use(jsonfile.Member(at, f.Name), f.Value)
			}
		}
	default:
		options.Warn(at, jsonfile.Describe(listed), "an array or object of plug-ins: it is ignored")
	}
	for _, f := range entries.Fields {
		if p, ok := profiles[f.Name]; ok && !used[f.Name] && isGiven(p.Options, "propertyMap") {
			entries.Warn(p.Path, "a profile that accounts does not name", `"ion://`+f.Name+`" in globals.plugins.accounts.options.plugins: without that it adds nothing to accounts`)
			used[f.Name] = true
		}
	}
}

func (l *loader) roleMap(entries jsonfile.Object) {
	options := optionsOf(entries, "securedDataRepo")
	l.markRead(options.Path)
	roles, _ := childOf(options, "roleMap")
	roles.WarnRepeated()
	l.config.RoleMap, l.config.RoleMapPath = roles.Fields, roles.Path
}

// optionsOf returns the options of an entry. They are empty if the entry has no options or if these
// have the wrong type, which is already reported.
func optionsOf(entries jsonfile.Object, name string) jsonfile.Object {
	fields, _ := entries.Value(name).(engine.Fields)
	e := jsonfile.Object{File: entries.File, Path: entries.At(name), Fields: fields, Faults: entries.Faults}
	if _, ok := e.Value("options").(engine.Fields); !ok {
		return jsonfile.Object{File: e.File, Path: e.At("options"), Faults: e.Faults}
	}
	options, _ := childOf(e, "options")
	return options
}

// readAliases reads di-alias, which gives components additional names. An alias must not be the
// name of an existing component. Otherwise it could replace that component by another one with
// fewer permission checks.
func (l *loader) readAliases(in jsonfile.Object) {
	alias, _ := childOf(in, "di-alias")
	alias.WarnRepeated()
	for _, f := range alias.Fields {
		if f.Value == nil {
			continue
		}
		path := alias.At(f.Name)
		target, ok := f.Value.(string)
		switch {
		case !ok:
			alias.Warn(path, jsonfile.Describe(f.Value), "the name of a component: it is ignored")
		case slices.Contains(l.known.Components, f.Name):
			alias.Warn(path, "an alias with the name of a component", "another name: the component "+engine.Quote(f.Name)+" stays what it is")
		case slices.Contains(l.known.Components, target):
			l.config.Components[f.Name] = target
		default:
			if is, found := l.config.Components[target]; found {
				l.config.Components[f.Name] = is
				break
			}
			alias.Warn(path, engine.Quote(target)+", a component that does not exist", jsonfile.Choice(target, l.componentNames())+": it is ignored")
		}
	}
}

// componentNames returns the names that services can use for components, including aliases, sorted.
func (l *loader) componentNames() []string {
	names := slices.Clone(l.known.Components)
	for name := range l.config.Components {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// AddNames adds the names that the configuration gives to components. components maps the existing
// names to the components; these entries are not changed. If services cannot call a component, its
// additional name gets the value nil.
func (c *Config) AddNames(components map[string]any) {
	for name, is := range c.Components {
		if _, taken := components[name]; !taken {
			components[name] = components[is]
		}
	}
}

// warnUnsecured adds a warning for each service that uses a repository without
// permission checks.
func (l *loader) warnUnsecured(top jsonfile.Object) {
	for _, s := range l.config.Services {
		if s.Broken {
			continue
		}
		whom := "whoever may call it"
		if s.Mode == engine.AuthNone {
			whom = "everybody, without authentication"
		}
		base := jsonfile.Member(s.Path, "options")
		if path, written := l.findUnsecured(base, s.Options); path != "" {
			top.Warn(path, engine.Quote(written)+", which checks no permissions", engine.Quote("ion://securedDataRepo")+": service "+engine.Quote(s.Name)+" shows all items to "+whom)
		}
	}
}

// findUnsecured finds the first reference to dataRepo, the repository without permission checks,
// in v or in a value within v. path is the JSON path of v, and at is the JSON path of the
// reference.
func (l *loader) findUnsecured(path string, v any) (at, written string) {
	switch v := v.(type) {
	case string:
		name, ok := parseReference(v)
		if ok && (name == "dataRepo" || l.config.Components[name] == "dataRepo") {
			return path, v
		}
	case []any:
		for i, e := range v {
			if at, written = l.findUnsecured(jsonfile.Element(path, i), e); at != "" {
				return at, written
			}
		}
	case engine.Fields:
		for _, f := range v {
			if at, written = l.findUnsecured(jsonfile.Member(path, f.Name), f.Value); at != "" {
				return at, written
			}
		}
	}
	return "", ""
}
