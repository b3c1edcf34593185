package deploy

import (
	"encoding/json"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
	"restsrv/engine/service"
	"restsrv/engine/wire"
)

// Gateway forwards requests below a path, such as /api, to this server or to another server. The
// requests come from browsers, and the target server handles them with the rights of the account
// that is configured here. In deploy.json, a Gateway is an entry with the module
// modules/rest/client/GateWay.
type Gateway struct {
	Name      string // name of the entry
	Path      string // JSON path of the entry in File
	Base      string // prefix of the paths of its routes, such as /api, without a slash at the end
	Endpoint  string // URL of the target server, with scheme, host and an optional path; "" for this server
	Account   string // account that the target server sees
	Secret    string // password of the account
	TokenPath string // path at the target server that issues tokens for the account, or ""
	Routes    []GatewayRoute
}

// GatewayRoute is a path that a Gateway forwards. A segment in braces, such as {id}, matches any
// text without a slash.
type GatewayRoute struct {
	Path    string
	Methods []string // in upper case
}

// gatewayNames are the known options of a gateway. IONDV uses log, which has no effect
// here.
var gatewayNames = []string{"definition", "clientId", "clientSecret", "tokenPath", "base", "endPoint", "log"}

// maxDefinition is the maximum size of a definition file, in bytes.
const maxDefinition = 4 << 20

// gateways reads the entries of gateways.
type gateways struct{ *loader }

// readGateways reads the gateways that are configured in other modules than rest.
func (l gateways) readGateways(modules jsonfile.Object) {
	for i, f := range modules.Fields {
		section, ok := f.Value.(engine.Fields)
		if !ok || f.Name == "rest" || isGiven(modules.Fields[i+1:], f.Name) {
			continue
		}
		m := jsonfile.Object{File: modules.File, Path: modules.At(f.Name), Fields: section, Faults: modules.Faults}
		globals, _ := m.Value("globals").(engine.Fields)
		g := jsonfile.Object{File: m.File, Path: m.At("globals"), Fields: globals, Faults: m.Faults}
		di, _ := g.Value("di").(engine.Fields)
		entries := jsonfile.Object{File: m.File, Path: g.At("di"), Fields: di, Faults: m.Faults}
		for j, e := range di {
			fields, ok := e.Value.(engine.Fields)
			written, _ := fields.Get("module")
			name, _ := written.(string)
			if module, here := pluginModuleOf(name); !ok || !here || module.path != gatewayModule || isGiven(di[j+1:], e.Name) {
				continue
			}
			entry, _ := childOf(entries, e.Name)
			entry.WarnRepeated()
			entry.WarnUnknown(entryNames)
			l.readGateway(entry, e.Name)
		}
	}
}

// readGateway reads the entry of one gateway. If the gateway has no credentials or invalid options,
// it is left out.
func (l gateways) readGateway(e jsonfile.Object, name string) {
	before := len(*l.faults)
	o, _ := e.Child("options")
	for _, must := range []string{"definition", "clientId", "clientSecret", "base"} {
		l.markRead(o.At(must))
	}
	o.WarnRepeated()
	o.WarnUnknown(gatewayNames)
	g := Gateway{Name: name, Path: e.Path, Account: secretText(o, "clientId"), Secret: secretText(o, "clientSecret")}
	g.Base = l.localPath(o, "base")
	if o.Value("base") == nil {
		o.Fault(o.Path, "no base", `what the paths of the gateway begin with, such as "/api"`)
	}
	g.TokenPath = l.localPath(o, "tokenPath")
	g.Endpoint = readEndpoint(o)
	g.Routes = l.readDefinition(o)
	for _, reserved := range []string{"/rest", "/auth", "/oauth2", "/files", "/images", "/livez", "/readyz", "/.well-known"} {
		if g.Base == reserved || strings.HasPrefix(g.Base, reserved+"/") {
			o.Fault(o.At("base"), engine.Quote(g.Base), "a path that is not the server's own")
		}
	}
	if mistake.Gateway.Apply((*l.faults)[before:]) {
		return
	}
	for _, must := range []string{"clientId", "clientSecret"} {
		if o.Value(must) == nil || o.Value(must) == "" {
			e.Warn(o.Path, "no "+must, "the account that acts for those who call the gateway, and its password: the gateway is skipped")
			return
		}
	}
	l.config.Gateways = append(l.config.Gateways, g)
}

// secretText reads a text, which can also be a JSON number. Faults do not contain the value,
// since it may be secret.
func secretText(o jsonfile.Object, name string) string {
	switch v := o.Value(name).(type) {
	case nil:
	case string:
		return v
	case json.Number:
		return string(v)
	default:
		o.Fault(o.At(name), "something else", "text")
	}
	return ""
}

// localPath reads a path of this server, such as /api. The result has no slash at the end, so "/"
// becomes "".
func (l gateways) localPath(o jsonfile.Object, name string) string {
	p := o.Text(name)
	if p == "" {
		return ""
	}
	if p != "/" && (!strings.HasPrefix(p, "/") || !plainPath(p)) {
		o.Fault(o.At(name), engine.Quote(p), "a path such as /api, of letters, digits and -._~!$&'()*+,;=:@")
		return ""
	}
	return strings.TrimSuffix(p, "/")
}

// plainPath reports whether all segments of a path can be used in a URL without escaping.
func plainPath(p string) bool {
	for _, part := range strings.Split(strings.Trim(p, "/"), "/") {
		if !pathSegment(part) {
			return false
		}
	}
	return true
}

func readEndpoint(o jsonfile.Object) string {
	text := o.Text("endPoint")
	if text == "" {
		return ""
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		o.Fault(o.At("endPoint"), "another kind of address", "http://host:port or https://host, without account, query and fragment")
		return ""
	}
	return strings.TrimSuffix(text, "/")
}

// readDefinition reads the routes of a gateway from an object in the format of OpenAPI, with paths
// and methods. If the value is text, it is the name of a file with such an object, in the
// application directory.
func (l gateways) readDefinition(o jsonfile.Object) []GatewayRoute {
	at, v := o.At("definition"), o.Value("definition")
	if file, ok := v.(string); ok {
		o.File, v, ok = l.definitionFile(o, file)
		if !ok {
			return nil
		}
		at = ""
	}
	fields, ok := v.(engine.Fields)
	if !ok {
		o.Fault(at, jsonfile.Describe(v), `an object such as {"paths": {"/rest/echo": {"get": {}}}}, or the path of a JSON or YAML file with one`)
		return nil
	}
	paths, _ := jsonfile.Object{File: o.File, Path: at, Fields: fields, Faults: o.Faults, Lenient: true}.Child("paths")
	paths.WarnRepeated()
	var routes []GatewayRoute
	for i, f := range paths.Fields {
		if f.Value == nil || isGiven(paths.Fields[i+1:], f.Name) {
			continue
		}
		if !templatePath(f.Name) {
			paths.Report(mistake.GatewayPath, paths.At(f.Name), "path "+engine.Quote(f.Name), "a path such as /rest/crud/{class}/{id}")
			continue
		}
		verbs, _ := paths.Child(f.Name)
		if methods := gatewayMethods(verbs); len(methods) > 0 {
			routes = append(routes, GatewayRoute{Path: f.Name, Methods: methods})
		}
	}
	if len(routes) == 0 {
		o.Warn(at, "no paths", `at least one, such as "paths": {"/rest/echo": {"get": {}}}`)
	}
	return routes
}

// definitionFile reads and decodes the file of a definition. written is the name in the option. The
// result file is the name for use in faults.
func (l gateways) definitionFile(o jsonfile.Object, written string) (file string, v any, ok bool) {
	file = written
	if l.config.Namespace != "" {
		file = strings.TrimPrefix(file, "applications/"+l.config.Namespace+"/")
	}
	file = path.Clean(file)
	if !filepath.IsLocal(filepath.FromSlash(file)) || !isInside(l.config.Dir, file) {
		o.Fault(o.At("definition"), engine.Quote(written), "a path inside the application directory")
		return o.File, nil, false
	}
	at := filepath.Join(l.config.Dir, filepath.FromSlash(file))
	l.config.Read = append(l.config.Read, at)
	data, err := os.ReadFile(at)
	if err != nil || len(data) > maxDefinition {
		o.Fault(o.At("definition"), engine.Quote(written)+", which cannot be read", "a JSON or YAML file in the application directory")
		return o.File, nil, false
	}
	switch strings.ToLower(path.Ext(file)) {
	case ".yml", ".yaml":
		v, _, err = jsonfile.DecodeYAML(data)
	default:
		v, err = wire.Decode(data)
	}
	if err != nil {
		*o.Faults = append(*o.Faults, *jsonfile.Malformed(file, err, "paths and methods"))
		return o.File, nil, false
	}
	return file, v, true
}

// gatewayMethods returns the HTTP methods of one path of the definition. It ignores fields that are
// not methods.
func gatewayMethods(verbs jsonfile.Object) []string {
	var methods []string
	for _, f := range verbs.Fields {
		m := strings.ToUpper(f.Name)
		if f.Value != nil && f.Value != false && service.IsMethod(m) && !slices.Contains(methods, m) {
			methods = append(methods, m)
		}
	}
	return methods
}

// templatePath reports whether p is a path of URL segments. A segment may be a name in braces.
func templatePath(p string) bool {
	if !strings.HasPrefix(p, "/") || p == "/" {
		return false
	}
	for _, part := range strings.Split(strings.TrimSuffix(p[1:], "/"), "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			part, ok = strings.CutSuffix(name, "}")
			if !ok {
				return false
			}
		}
		if !pathSegment(part) {
			return false
		}
	}
	return true
}
