package repository

import (
	"go/ast"
	"go/token"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"restsrv/cmd/restsrv/apptest"
)

// apiReference returns builtin/API.md.
func apiReference(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(apptest.Root, "builtin/API.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestAPIPaths checks that the sample application serves every path outside of /rest that the API
// reference names.
func TestAPIPaths(t *testing.T) {
	t.Parallel()
	_, section, _ := strings.Cut(apiReference(t), "\n## Outside of /rest\n")
	section, _, _ = strings.Cut(section, "\n## ")
	routes := regexp.MustCompile("`([A-Z]+) (/[^`]*)`").FindAllStringSubmatch(section, -1)
	if len(routes) < 10 {
		t.Fatalf("API reference: got %d paths, want at least 10", len(routes))
	}
	p := apptest.StartSample(t)
	for _, m := range routes {
		q, err := http.NewRequest(m[1], p.URL+strings.ReplaceAll(m[2], ":", ""), nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultTransport.RoundTrip(q)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusMethodNotAllowed {
			t.Errorf("%s %s: got %d, want a route that exists", m[1], m[2], resp.StatusCode)
		}
	}
}

// notInAnswers lists codes of errors that no service returns, with the reason.
var notInAnswers = map[string]string{
	"granted": "command line", "hash": "import of accounts", "role": "command line", "subject": "command line", "resource": "command line",
	"unknown-resource": "command line", "unknown-role": "command line", "permission": "command line", "account": "command line",
	"unknown-account": "command line", "no-account": "command line", "name": "command line", "yaml": "files of an application",
	"unknown-component": "start of the server",
}

// clientPackages are folders of packages whose errors can reach a client as a problem.
var clientPackages = []string{"engine", "engine/access", "engine/account", "engine/file", "engine/image", "engine/oauth", "engine/replay",
	"engine/rest", "engine/session", "engine/share", "engine/store", "engine/store/conns", "engine/store/layout", "engine/store/cached", "engine/store/owned", "engine/store/read", "engine/store/rights",
	"engine/store/schema",
	"engine/store/sqldb", "engine/store/sqlquery", "engine/store/table", "engine/wire", "engine/gateway", "engine/guess", "engine/query", "engine/service",
	"builtin/acceptor", "builtin/crud", "builtin/meta", "builtin/token", "builtin/workflows"}

// TestAPIErrors checks that the API reference has exactly the codes of the errors that the
// packages behind the API return.
func TestAPIErrors(t *testing.T) {
	_, section, _ := strings.Cut(apiReference(t), "\n### Codes\n")
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_-]+)` ").FindAllStringSubmatch(section, -1) {
		documented[m[1]] = true
	}
	texts := map[string]bool{}
	for dir, files := range packages(t) {
		if !slices.Contains(clientPackages, dir) {
			continue
		}
		for _, f := range files {
			for _, code := range errorCodes(f.ast, texts) {
				if !documented[code] && notInAnswers[code] == "" {
					t.Errorf("%s returns errors with the code %q, want it in builtin/API.md", dir, code)
				}
			}
		}
	}
	for code := range documented {
		if !texts[code] {
			t.Errorf("builtin/API.md has the code %q, want a code of an error", code)
		}
	}
}

// errorCodes returns the texts in the second argument of calls of Errorf and in the field
// Reason of composite literals. It adds all texts of the file to texts.
func errorCodes(f *ast.File, texts map[string]bool) (codes []string) {
	add := func(e ast.Expr) {
		if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil && s != "" {
				codes = append(codes, s)
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if s, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil {
				texts[s] = true
			}
		case *ast.CallExpr:
			name := ""
			switch fun := n.Fun.(type) {
			case *ast.Ident:
				name = fun.Name
			case *ast.SelectorExpr:
				name = fun.Sel.Name
			}
			if name == "Errorf" && len(n.Args) > 2 {
				add(n.Args[1])
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Reason" {
				add(n.Value)
			}
		}
		return true
	})
	return codes
}
