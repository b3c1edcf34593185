package deploy

import (
	"strings"
	"time"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
)

// entryNames are the known fields of an entry in di. IONDV uses the fields of the last line for
// components; they have no effect here.
var entryNames = []string{
	"module", "options", "limits",
	"executable", "initMethod", "initLevel",
}

// tokenService is the service that issues tokens. It exists even if it has no entry.
const tokenService = "token"

func (l *loader) readServices(inner jsonfile.Object) {
	di, _ := childOf(inner, "di")
	di.WarnRepeated()
	for i, f := range di.Fields {
		if f.Value != nil && !isGiven(di.Fields[i+1:], f.Name) {
			l.readEntry(di, f.Name)
		}
	}
	if l.serviceNamed(tokenService) == nil {
		l.config.Services = append(l.config.Services, Service{Name: tokenService, Builtin: tokenService, Limits: l.config.Limits, Path: di.At(tokenService)})
	}
	l.tokenLifetime(di)
	l.authModes(inner)
}

func isGiven(fields engine.Fields, name string) bool {
	_, ok := fields.Get(name)
	return ok
}

func (l *loader) serviceNamed(name string) *Service {
	for i := range l.config.Services {
		if l.config.Services[i].Name == name {
			return &l.config.Services[i]
		}
	}
	return nil
}

func (l *loader) readEntry(di jsonfile.Object, name string) {
	e, ok := childOf(di, name)
	if !ok || name == "wsAuth" {
		return
	}
	e.WarnRepeated()
	e.WarnUnknown(entryNames)
	if written, _ := e.Value("module").(string); written != "" {
		if m, here := pluginModuleOf(written); here && m.path == gatewayModule {
			gateways{l}.readGateway(e, name)
			return
		}
	}
	options, _ := childOf(e, "options")
	options.WarnRepeated()
	s := Service{Name: name, Options: options.Fields, Limits: readLimits(e, l.config.Limits), Path: e.Path}
	switch {
	case e.Value("executable") != nil:
		e.Warn(e.At("executable"), "a component that is no service", "a module: the entry is ignored")
		return
	case e.Value("module") != nil:
		s.Broken = !l.resolveModule(&s, e)
	case name == tokenService:
		s.Builtin = tokenService
	default:
		e.Warn(e.Path, "no module", `a module, such as "builtin/crud" or a script: the entry is ignored`)
		return
	}
	if !pathSegment(name) {
		e.Report(mistake.ServiceName, e.Path, "service name "+engine.Quote(name), "a name of letters A-Z and a-z, digits and -._~!$&'()*+,;=:@")
		return
	}
	if !l.checkReferences(e, options.Path, options.Fields) {
		s.Broken = true
	}
	if s.Builtin == "acceptor" {
		for _, must := range []string{"dataRepo", "metaRepo"} {
			if options.Value(must) == nil {
				e.Report(mistake.ServiceRepository, options.Path, "no "+must, engine.Quote("ion://"+must)+", which acceptor needs")
				s.Broken = true
			}
		}
	}
	usage{l}.serviceUsage(e, s)
	l.config.Services = append(l.config.Services, s)
}

// pathSegment reports whether name is a path segment that can be used in a URL without escaping.
func pathSegment(name string) bool {
	if name == "" || name == "." || name == ".." {
		return false
	}
	for _, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && !strings.ContainsRune("-._~!$&'()*+,;=:@", r) {
			return false
		}
	}
	return true
}

// tokenLifetime reads the lifetime of tokens from the options of the service token or, if they do
// not set it, from the options of wsAuth, as IONDV does.
func (l *loader) tokenLifetime(di jsonfile.Object) {
	for _, name := range []string{"wsAuth", tokenService} {
		entry, ok := di.Value(name).(engine.Fields)
		if !ok {
			continue
		}
		e := jsonfile.Object{File: di.File, Path: di.At(name), Fields: entry, Faults: di.Faults}
		if options, ok := e.Value("options").(engine.Fields); ok {
			o := jsonfile.Object{File: di.File, Path: e.At("options"), Fields: options, Faults: di.Faults}
			l.config.TokenLifetime = readSeconds(o, "tokenLifetime", time.Second, l.config.TokenLifetime)
			if v := o.Value("tokenLifetime"); v != nil {
				l.config.given["tokenLifetime"] = given{o.At("tokenLifetime"), v}
			}
		}
	}
}

// unknownMode is the mode of a service with an unknown authentication mode: the service answers all
// requests with 401.
const unknownMode engine.AuthMode = "?"

func (l *loader) authModes(inner jsonfile.Object) {
	modes, _ := childOf(inner, "authMode")
	l.config.given["authMode"] = given{modes.Path, modes.Fields}
	modes.WarnRepeated()
	for i := range l.config.Services {
		l.config.Services[i].Mode = engine.AuthPwd
	}
	for i, f := range modes.Fields {
		if f.Value == nil || isGiven(modes.Fields[i+1:], f.Name) {
			continue
		}
		text, ok := f.Value.(string)
		mode := engine.AuthMode(text)
		if !ok {
			modes.Report(mistake.ServiceAuthMode, modes.At(f.Name), jsonfile.Describe(f.Value), "none, token, oauth or pwd")
			mode = unknownMode
		}
		switch mode {
		case unknownMode:
		case engine.AuthNone, engine.AuthToken, engine.AuthPwd:
		case engine.AuthOAuth:
			if l.config.OAuth == nil {
				modes.Warn(modes.At(f.Name), jsonfile.Describe(text), "a plug-in for it too, such as "+`"oauth": {"module": "builtin/oauth"} in globals.plugins: without one it answers 401 to everyone`)
			}
		default:
			modes.Warn(modes.At(f.Name), jsonfile.Describe(text), "none, token, oauth or pwd: any other mode answers 401 to everyone")
		}
		if s := l.serviceNamed(f.Name); s != nil {
			s.Mode = mode
			continue
		}
		di, _ := inner.Value("di").(engine.Fields)
		if !isGiven(di, f.Name) {
			modes.Warn(modes.At(f.Name), "the mode of a service that is not registered", jsonfile.Choice(f.Name, l.serviceNames()))
		}
	}
}

func (l *loader) serviceNames() []string {
	names := make([]string, len(l.config.Services))
	for i, s := range l.config.Services {
		names[i] = s.Name
	}
	return names
}

func (l *loader) fullName(class string) string {
	if strings.Contains(class, "@") {
		return class
	}
	return engine.FullName(class, l.config.Namespace)
}
