package platform

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
)

var update = flag.Bool("update", false, "write the embedded packages again")

// embedded are the npm packages that the folder modules/npm contains, each as one file.
var embedded = []struct{ file, pkg, version, entry string }{
	{"readable-stream", "readable-stream", "4.7.0", "lib/stream.js"},
	{"punycode", "punycode", "2.3.1", "punycode.js"},
}

// replaced are the modules that embedded packages get from restsrv instead of from npm.
var replaced = map[string]string{
	"events": "events", "buffer": "buffer", "string_decoder": "string_decoder", "string_decoder/": "string_decoder", "process/": "process", "abort-controller": "#event",
}

// TestEmbeddedPackages checks that the files of modules/npm are made from the named versions. With -update, it makes
// them. If npm is not available, the test is skipped, unless RESTSRV_TEST_NPM is "require".
func TestEmbeddedPackages(t *testing.T) {
	for _, e := range embedded {
		dir := t.TempDir()
		npm := exec.CommandContext(t.Context(), "npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--prefix", dir, e.pkg+"@"+e.version)
		if out, err := npm.CombinedOutput(); err != nil {
			if os.Getenv("RESTSRV_TEST_NPM") == "require" {
				t.Fatalf("npm install: %v: %s", err, out)
			}
			t.Skipf("npm install: %v", err)
		}
		want := bundle(t, filepath.Join(dir, "node_modules", e.pkg), e.entry)
		name := filepath.Join("modules", "npm", e.file+".js")
		if *update {
			if err := os.WriteFile(name, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s differs from the bundle of %s@%s: run go test -run TestEmbeddedPackages -update", name, e.pkg, e.version)
		}
	}
}

// bundle returns a package as one CommonJS file in the syntax of goja, after a comment with its licence.
func bundle(t *testing.T, dir, entry string) []byte {
	var manifest struct{ Name, Version, License string }
	text, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil || json.Unmarshal(text, &manifest) != nil {
		t.Fatalf("package.json: %v", err)
	}
	var licence []byte
	for _, name := range []string{"LICENSE", "LICENSE-MIT.txt"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			licence = text
		}
	}
	if len(licence) == 0 {
		t.Fatal("the package has no licence")
	}
	r := api.Build(api.BuildOptions{
		EntryPoints: []string{filepath.Join(dir, entry)}, Bundle: true, AbsWorkingDir: dir, Format: api.FormatCommonJS, Target: api.ES2022, Platform: api.PlatformNeutral,
		MinifyWhitespace: true, MinifySyntax: true, Charset: api.CharsetASCII, LegalComments: api.LegalCommentsNone, MainFields: []string{"main"},
		LineLimit: 160,
		Supported: map[string]bool{"async-generator": false, "for-await": false, "dynamic-import": false},
		Plugins: []api.Plugin{{Name: "replaced", Setup: func(b api.PluginBuild) {
			b.OnResolve(api.OnResolveOptions{Filter: "^[^./]"}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
				if name, ok := replaced[a.Path]; ok {
					return api.OnResolveResult{Path: name, External: true}, nil
				}
				return api.OnResolveResult{}, nil
			})
		}}},
	})
	if len(r.Errors) > 0 {
		t.Fatal(r.Errors[0].Text)
	}
	head := "/* " + manifest.Name + " " + manifest.Version + ", made by TestEmbeddedPackages\n\n" + string(licence) + "*/\n"
	return append([]byte(head), r.OutputFiles[0].Contents...)
}
