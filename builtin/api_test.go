package builtin

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/service"
)

var apiRoute = regexp.MustCompile("`([A-Z]+) (/[^`]*)`")

// TestAPIRoutes compares the routes of each module with its section in API.md.
func TestAPIRoutes(t *testing.T) {
	text, err := os.ReadFile("API.md")
	if err != nil {
		t.Fatal(err)
	}
	env := &service.Env{
		Meta: struct{ engine.MetaRepository }{}, Data: struct{ engine.Repository }{}, Tokens: struct{ engine.TokenIssuer }{},
		Access: struct{ engine.Access }{}, Presentation: struct{ service.Presentation }{}, Workflows: struct{ engine.Workflows }{},
	}
	for name, module := range Modules() {
		options := service.Options{}
		if name == "acceptor" {
			options = service.Options{"dataRepo": env.Data, "metaRepo": env.Meta}
		}
		service, err := module(env, options)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got []string
		for _, r := range service.Routes() {
			got = append(got, r.Method+" "+r.Path)
		}
		_, section, found := strings.Cut(string(text), "\n## "+name+"\n")
		if !found {
			t.Errorf("API.md has no section %s", name)
		}
		section, _, _ = strings.Cut(section, "\n## ")
		var want []string
		for line := range strings.Lines(section) {
			if !strings.HasPrefix(line, "| `") {
				continue
			}
			for _, m := range apiRoute.FindAllStringSubmatch(line, -1) {
				path := strings.TrimPrefix(m[2], "/rest/"+name)
				if path == "" {
					path = "/"
				}
				want = append(want, m[1]+" "+path)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: the module has the routes\n%q\nand API.md has\n%q", name, got, want)
		}
	}
}
