package repository

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"restsrv/cmd/restsrv/apptest"
)

// modelPackages lists the packages that all others may import.
var modelPackages = []string{"engine", "engine/query", "engine/service", "engine/describe", "engine/inputs", "engine/suggest"}

// connecting lists the packages that connect all others.
var connecting = []string{"cmd/restsrv", "cmd/restsrv/command", "cmd/restsrv/apptest", "engine/server", "engine/server/appdata", "engine/server/example"}

// siblings lists, for each package, the other packages of this module that it may import, with
// the reason. The packages of the model and of its own room need no entry.
var siblings = map[string]map[string]string{
	"builtin/acceptor":               {"engine/wire": "decodes its body", "engine/attachment": "stores uploads"},
	"builtin/crud":                   {"engine/wire": "decodes its body", "engine/share": "reads lists of unknown length one at a time", "engine/attachment": "stores uploads"},
	"builtin/token":                  {"engine/wire": "decodes its body"},
	"builtin/workflows":              {"engine/wire": "decodes its body"},
	"engine/acl":                     {"engine/jsonfile": "reads acl files, which people write"},
	"engine/access":                  {"engine/mistake": "has rules for mistakes in its options", "engine/jsonfile": "reads options that people write"},
	"engine/account":                 {"engine/jsonfile": "reads acl files, which people write", "engine/remember": "remembers proven passwords and tokens"},
	"engine/deploy":                  {"engine/mistake": "has rules for mistakes in deploy.json", "engine/wire": "reads deploy.json with positions", "engine/jsonfile": "reads files that people write"},
	"engine/formula":                 {"engine/jsonfile": "names the nearest known name in its errors"},
	"engine/jsonfile":                {"engine/mistake": "reports mistakes with the rules for them"},
	"engine/meta":                    {"engine/mistake": "has rules for mistakes in class files", "engine/wire": "reads class files with positions", "engine/jsonfile": "reads files that people write", "engine/formula": "compiles what they calculate"},
	"engine/oauth":                   {"engine/mistake": "has a rule for mistakes in clients", "engine/jsonfile": "reads what people write of clients", "engine/page": "shows pages", "engine/quota": "limits grants", "engine/remember": "remembers access tokens"},
	"engine/session":                 {"engine/page": "shows pages", "engine/quota": "limits sessions"},
	"engine/file":                    {"engine/quota": "limits the bytes of an account"},
	"engine/replay":                  {"engine/quota": "limits the bytes of an account"},
	"engine/rest":                    {"engine/page": "shows failures as pages", "engine/attachment": "reads files of items", "engine/share": "bounds the memory of bodies and answers"},
	"engine/script":                  {"engine/watch": "waits until a checkout of git is complete"},
	"engine/script/data":             {"engine/attachment": "stores uploads and reads files of items"},
	"engine/script/exchange":         {"engine/wire": "decodes bodies with a bounded depth"},
	"engine/script/module":           {"engine/wire": "decodes JSON files"},
	"engine/script/platform":         {"engine/script/platform/codec": "compresses and decompresses for scripts"},
	"engine/script/sandbox":          {"engine/wire": "decodes the texts of JSON.parse with a bounded depth"},
	"engine/script/shared":           {"engine/wire": "decodes items that are stored"},
	"engine/script/suite":            {"engine/wire": "decodes the responses that tests read"},
	"engine/script/vm":               {"engine/share": "counts streams by account"},
	"engine/workflow":                {"engine/mistake": "has rules for mistakes in workflows", "engine/jsonfile": "names what is wrong in files that people write", "engine/formula": "compiles what transitions assign"},
	"engine/transfer":                {"engine/mistake": "has rules for mistakes in data files", "engine/wire": "decodes what it reads", "engine/jsonfile": "names what is wrong in files that people write, and where"},
	"engine/store/storetest":         {"engine/wire": "filters of its cases are JSON", "engine/formula": "compiles what its classes calculate", "engine/journal": "makes the records of its cases"},
	"engine/store/storetest/journal": {"engine/wire": "reads the records", "engine/journal": "makes the class of the records"},
	"engine/store/storetest/read":    {"engine/store/decimal": "computes the expected values of expressions"},
	"engine/store/dbtest": {"engine/store": "opens databases", "engine/store/sqldb": "returns them", "engine/store/sqlite": "of this kind",
		"engine/store/postgres": "and of this", "engine/store/postgres/pgtest": "has a server"},
	"engine/store/conns":    {"engine/share": "shares the connections and the queue among accounts"},
	"engine/store/read":     {"engine/share": "notes which accounts read"},
	"engine/store/owned":    {"engine/quota": "names the owner of a file"},
	"engine/store/sqlite":   {"engine/store/sqldb": "is a dialect", "engine/store/decimal": "computes expressions"},
	"engine/store/postgres": {"engine/store/sqldb": "is a dialect"},
	"builtin":               {"builtin/acceptor": "lists it", "builtin/crud": "lists it", "builtin/echo": "lists it", "builtin/meta": "lists it", "builtin/token": "lists it", "builtin/workflows": "lists it"},
}

// rooms lists the packages of a room, from the lowest to the highest. A package may import the packages of its room
// that are listed before it.
var rooms = [][]string{
	{"engine/script/types", "engine/script/limits", "engine/script/js", "engine/script/transpile",
		"engine/script/platform/webcrypto", "engine/script/platform/cryptojs", "engine/script/platform", "engine/script/sandbox",
		"engine/script/module", "engine/script/vm", "engine/script/access", "engine/script/exchange", "engine/script/event",
		"engine/script/data", "engine/script/shared", "engine/script/suite", "engine/script"},
	{"engine/store/sqldb", "engine/store/layout", "engine/store/rights", "engine/store/conns", "engine/store/sqlquery", "engine/store/schema",
		"engine/store/read", "engine/store/table", "engine/store/owned", "engine/store/cached", "engine/store/dump", "engine/store"},
	{"engine/store/storetest", "engine/store/storetest/read", "engine/store/storetest/write", "engine/store/storetest/guard",
		"engine/store/storetest/journal", "engine/store/storetest/suite"},
}

// isBelow reports whether a package may import another package of its room.
func isBelow(imported, dir string) bool {
	for _, room := range rooms {
		if at := slices.Index(room, imported); at >= 0 {
			return at < slices.Index(room, dir)
		}
	}
	return false
}

// owners names the only package that may import an outside library, or a part of that library.
var owners = map[string]string{
	"github.com/alexedwards/scs":         "engine/session",
	"github.com/dop251/goja":             "engine/script",
	"github.com/go-sourcemap/sourcemap":  "engine/script/transpile",
	"github.com/evanw/esbuild":           "engine/script/transpile",
	"github.com/dlclark/regexp2":         "engine/script",
	"github.com/fsnotify/fsnotify":       "engine/watch",
	"github.com/gorilla/mux":             "engine/rest",
	"github.com/go-oauth2/oauth2/v4":     "engine/oauth",
	"github.com/jmoiron/sqlx":            "engine/store",
	"modernc.org/sqlite":                 "engine/store/sqlite",
	"modernc.org/libc":                   "engine/store/sqlite",
	"github.com/lib/pq":                  "engine/store/postgres",
	"golang.org/x/crypto":                "engine/account",
	"golang.org/x/crypto/scrypt":         "engine/script/platform/webcrypto",
	"github.com/go-jose/go-jose/v4":      "engine/script/platform/webcrypto",
	"golang.org/x/image":                 "engine/image",
	"golang.org/x/sync":                  "engine/image",
	"golang.org/x/term":                  "cmd/restsrv",
	"github.com/schollz/progressbar":     "cmd/restsrv",
	"go.yaml.in/yaml/v4":                 "engine/jsonfile",
	"golang.org/x/text/cases":            "engine/store/sqlite",
	"golang.org/x/text/language":         "engine/store/sqlite",
	"golang.org/x/text/encoding":         "engine/script/platform",
	"golang.org/x/net/idna":              "engine/script/platform",
	"github.com/google/uuid":             "engine/store",
	"github.com/go-json-experiment/json": "engine/wire",
}

// These maps list files, functions, packages and types that may exceed the limits. The value is
// the reason.
var (
	longFiles     = map[string]string{}
	longFunctions = map[string]string{}
	largePackages = map[string]string{}
	largeTypes    = map[string]string{}
)

const (
	maxFileLines     = 700
	maxFunctionLines = 80
	maxMethods       = 10 // of an interface
	maxTypeMethods   = 40
	maxPackageFiles  = 30
	maxPackageLines  = 6000
)

// TestLayout checks the rules of the tree: imports between packages, owners of
// libraries, documentation of packages and exported names, and the limits of
// size.
func TestLayout(t *testing.T) {
	for dir, files := range packages(t) {
		comments := 0
		for name, f := range files {
			if f.ast.Doc != nil {
				comments++
			}
			checkFile(t, dir, name, f)
		}
		if comments != 1 {
			t.Errorf("%s: got %d files with a package comment, want exactly one", dir, comments)
		}
	}
}

// TestSizes checks the limits of packages and types.
func TestSizes(t *testing.T) {
	for dir, files := range packages(t) {
		lines, methods := 0, map[string]int{}
		for _, f := range files {
			lines += f.lines
			for _, decl := range f.ast.Decls {
				if d, ok := decl.(*ast.FuncDecl); ok && d.Recv != nil {
					methods[receiverName(d)]++
				}
			}
		}
		if (len(files) > maxPackageFiles || lines > maxPackageLines) && largePackages[dir] == "" {
			t.Errorf("%s: got %d files and %d lines, want at most %d and %d", dir, len(files), lines, maxPackageFiles, maxPackageLines)
		}
		if len(files) <= maxPackageFiles && lines <= maxPackageLines && largePackages[dir] != "" {
			t.Errorf("%s: got %d files and %d lines: it is no longer an exception of the limits", dir, len(files), lines)
		}
		for name, n := range methods {
			if n > maxTypeMethods && largeTypes[dir+"."+name] == "" {
				t.Errorf("%s.%s: got %d methods, want at most %d", dir, name, n, maxTypeMethods)
			}
		}
	}
}

// TestMap checks that the map in engine/ARCHITECTURE.md has every package, except packages that
// are part of a package above them.
func TestMap(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(apptest.Root, "engine/ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, mapped, _ := strings.Cut(string(text), "## Map\n")
	mapped, _, _ = strings.Cut(mapped, "\n## ")
	for dir := range packages(t) {
		parts := strings.Split(filepath.ToSlash(dir), "/")
		name := path.Join(parts[:min(len(parts), 2)]...)
		if parts[0] == "builtin" {
			name = path.Base(dir) // among the services
		}
		if !regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).MatchString(mapped) {
			t.Errorf("the map in engine/ARCHITECTURE.md: got no entry for %s, want one", dir)
		}
	}
}

// mappedPackage matches a package at the beginning of a column of the map.
var mappedPackage = regexp.MustCompile(`(?:^|  )(engine/[a-z]+) `)

// readRooms reads engine/ARCHITECTURE.md. It returns the room of each package of the map,
// and the row of each room in the drawing; higher rows have lower numbers.
func readRooms(t *testing.T) (rooms map[string]string, rows map[string]int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(apptest.Root, "engine/ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	rooms, rows = map[string]string{"cmd": "cmd/restsrv", "builtin": "builtin", "engine": "Model"}, map[string]int{}
	room, row := "", 0
	for line := range strings.Lines(string(text)) {
		line, indented := strings.CutPrefix(line, "    ")
		if line = strings.TrimRight(line, "\n"); !indented || line == "" {
			continue
		}
		switch {
		case strings.HasPrefix(line, "|"):
			row++
			for _, name := range strings.Split(strings.Trim(line, "| "), "|") {
				rows[strings.TrimSpace(name)] = row
			}
		case line[0] >= 'A' && line[0] <= 'Z':
			room = line
		default:
			for _, m := range mappedPackage.FindAllStringSubmatch(line, -1) {
				rooms[m[1]] = room
			}
		}
	}
	return rooms, rows
}

// TestMapRooms checks the drawing in engine/ARCHITECTURE.md: a package imports only
// packages of its own room and of rooms below it.
func TestMapRooms(t *testing.T) {
	rooms, rows := readRooms(t)
	roomOf := func(dir string) string {
		parts := strings.Split(dir, "/")
		if parts[0] != "engine" {
			return rooms[parts[0]]
		}
		return rooms[path.Join(parts[:min(len(parts), 2)]...)]
	}
	for dir, files := range packages(t) {
		room := roomOf(dir)
		if rows[room] == 0 {
			t.Errorf("%s: room %q is not in the drawing", dir, room)
		}
		for name, f := range files {
			for _, spec := range f.ast.Imports {
				imported, own := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), "restsrv/")
				if other := roomOf(imported); own && other != room && rows[other] <= rows[room] {
					t.Errorf("%s/%s (%s) imports %s (%s), which is not in a room below", dir, name, room, imported, other)
				}
			}
		}
	}
}

// TestWhereToChange checks that the files in the table "Where to change what" of engine/ARCHITECTURE.md contain the
// declarations that it names.
func TestWhereToChange(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(apptest.Root, "engine/ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "## Where to change what\n")
	table, _, _ = strings.Cut(table, "\n## ")
	quoted, rows := regexp.MustCompile("`([^`]+)`"), 0
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || strings.Contains(line, "---") || strings.Contains(line, "| change |") {
			continue
		}
		rows++
		code := ""
		for _, m := range quoted.FindAllStringSubmatch(cells[2], -1) {
			files := []string{filepath.Join(apptest.Root, m[1])}
			if filepath.Ext(m[1]) == "" {
				if files, err = filepath.Glob(filepath.Join(apptest.Root, m[1], "*.go")); err != nil {
					continue // not a path, such as $
				}
			}
			for _, file := range files {
				if part, err := os.ReadFile(file); err == nil {
					code += string(part)
				} else if filepath.Ext(m[1]) != "" {
					t.Errorf("row %q: %v", strings.TrimSpace(cells[1]), err)
				}
			}
		}
		for _, m := range quoted.FindAllStringSubmatch(cells[3], -1) {
			if !regexp.MustCompile(`\b(func|var|const|type)\b[^\n]*\b` + m[1] + `\b|(?m)^\t` + m[1] + ` +=`).MatchString(code) {
				t.Errorf("row %q: got no declaration of %s in its files, want one", strings.TrimSpace(cells[1]), m[1])
			}
		}
	}
	if rows < 10 {
		t.Errorf("got %d rows, want at least 10", rows)
	}
}

// TestTopLevel checks the entries at the top of the repository.
func TestTopLevel(t *testing.T) {
	allowed := map[string]bool{"cmd": true, "engine": true, "builtin": true, "scripts": true,
		"deploy.json": true, "go.mod": true, "go.sum": true, "README.md": true}
	entries, err := os.ReadDir(apptest.Root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		made := strings.HasPrefix(e.Name(), "restsrv") || strings.HasPrefix(e.Name(), "admin-password") || e.Name() == "files" // files of a running server, git-ignored
		if !allowed[e.Name()] && !strings.HasPrefix(e.Name(), ".") && !made {
			t.Errorf("top level has %s, which is not an allowed entry", e.Name())
		}
	}
}

type source struct {
	fset  *token.FileSet
	ast   *ast.File
	lines int
}

// packages parses every non-test Go file, by directory relative to the root.
func packages(t *testing.T) map[string]map[string]source {
	t.Helper()
	all := map[string]map[string]source{}
	err := filepath.WalkDir(apptest.Root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != apptest.Root) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, text, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(apptest.Root, filepath.Dir(path))
		dir := filepath.ToSlash(rel)
		if all[dir] == nil {
			all[dir] = map[string]source{}
		}
		all[dir][filepath.Base(path)] = source{fset, f, strings.Count(string(text), "\n")}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func checkFile(t *testing.T, dir, name string, f source) {
	t.Helper()
	path := dir + "/" + name
	if f.lines > maxFileLines && longFiles[path] == "" {
		t.Errorf("%s: got %d lines, want at most %d", path, f.lines, maxFileLines)
	}
	if !strings.HasPrefix(dir, "cmd/bench") { // the benchmark and its floor stand beside the product
		for _, spec := range f.ast.Imports {
			checkImport(t, dir, path, strings.Trim(spec.Path.Value, `"`))
		}
	}
	for _, decl := range f.ast.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			checkFunction(t, path, f, d)
		case *ast.GenDecl:
			checkDeclaration(t, path, f, d)
		}
	}
}

func checkImport(t *testing.T, dir, path, imported string) {
	t.Helper()
	if own, ok := strings.CutPrefix(imported, "restsrv/"); ok {
		if slices.Contains(connecting, dir) || slices.Contains(modelPackages, own) && dir != "engine" || siblings[dir][own] != "" || isBelow(own, dir) {
			return
		}
		t.Errorf("%s imports %s: a package imports the model, the packages below it in its room, and no sibling", path, own)
		return
	}
	if !strings.Contains(strings.Split(imported, "/")[0], ".") {
		return // standard library
	}
	if dir == "engine" {
		t.Errorf("%s imports %s: the vocabulary imports the standard library only", path, imported)
	}
	for library, owner := range owners {
		if (imported == library || strings.HasPrefix(imported, library+"/")) && (dir == owner || strings.HasPrefix(dir, owner+"/")) {
			return
		}
	}
	t.Errorf("%s imports %s, which it does not own", path, imported)
}

func checkFunction(t *testing.T, path string, f source, d *ast.FuncDecl) {
	t.Helper()
	name := path + " " + d.Name.Name
	lines := f.fset.Position(d.End()).Line - f.fset.Position(d.Pos()).Line + 1
	if lines > maxFunctionLines && longFunctions[name] == "" {
		t.Errorf("%s: got %d lines, want at most %d", name, lines, maxFunctionLines)
	}
	if d.Name.Name == "init" && d.Recv == nil {
		t.Errorf("%s: init is not used here, wire explicitly", name)
	}
	if d.Doc == nil && d.Name.IsExported() && exportedReceiver(d) && f.ast.Name.Name != "main" {
		t.Errorf("%s is exported and has no comment", name)
	}
}

func exportedReceiver(d *ast.FuncDecl) bool {
	return d.Recv == nil || ast.IsExported(receiverName(d))
}

// receiverName returns the name of the type of a method, or "" for a function.
func receiverName(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if generic, ok := typ.(*ast.IndexExpr); ok {
		typ = generic.X
	}
	if id, ok := typ.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

func checkDeclaration(t *testing.T, path string, f source, d *ast.GenDecl) {
	t.Helper()
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() && d.Doc == nil && s.Doc == nil && f.ast.Name.Name != "main" {
				t.Errorf("%s: type %s is exported and has no comment", path, s.Name.Name)
			}
			if i, ok := s.Type.(*ast.InterfaceType); ok && len(i.Methods.List) > maxMethods {
				t.Errorf("%s: interface %s: got %d methods, want at most %d", path, s.Name.Name, len(i.Methods.List), maxMethods)
			}
		case *ast.ValueSpec:
			if s.Names[0].IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil && f.ast.Name.Name != "main" {
				t.Errorf("%s: %s is exported and has no comment", path, s.Names[0].Name)
			}
		}
	}
}
