package module

import (
	"path/filepath"
	"strconv"
	"strings"

	"restsrv/engine"
)

const (
	NodeModules = "node_modules" // the folder of installed packages
	manifest    = "package.json"
)

// conditions are the conditions in the exports of a package.json that restsrv accepts, in rounds. Many packages have one
// file for require and another one for import. The first round ignores files for import, because files for require need
// no transformation. The last rounds find the files of packages that are not made for Node.js, but for browsers or for
// other servers of the web platform.
var conditions = []map[string]bool{
	{"require": true, "node": true, "default": true, "module-sync": true},
	{"import": true, "node": true, "default": true, "module-sync": true},
	{"require": true, "worker": true, "workerd": true, "browser": true, "default": true, "module-sync": true},
	{"import": true, "worker": true, "workerd": true, "browser": true, "default": true, "module-sync": true},
}

// splitPackage splits the name of a module into the name of the package and the path within the package. For example,
// "@scope/a/lib/b" has the package "@scope/a" and the path "lib/b". ok is false if no package can have the name.
func splitPackage(name string) (pkg, sub string, ok bool) {
	parts := strings.SplitN(name, "/", 3)
	n := 1
	if strings.HasPrefix(name, "@") {
		n = 2
	}
	if len(parts) < n || parts[n-1] == "" || strings.HasPrefix(parts[0], ".") || strings.ContainsAny(name, "\\%") {
		return "", "", false
	}
	pkg = strings.Join(parts[:n], "/")
	return pkg, strings.TrimPrefix(name[len(pkg):], "/"), true
}

// inPackages finds a module of a package by its name. The package may be the one that the file from belongs to.
// Otherwise inPackages looks for node_modules in the folder of from and in the folders above it, up to the
// application directory. It returns nil if the package is not installed.
func (f *Files) inPackages(name string, from *Source) (*Source, error) {
	pkg, sub, ok := splitPackage(name)
	if !ok {
		return nil, nil
	}
	if dir, own := f.findPackage(from); own != nil {
		if called, _ := own.Get("name"); called == pkg {
			if exports, ok := own.Get("exports"); ok {
				return f.findExport(exportsOf{dir, exports, name}, exportKey(sub), from)
			}
		}
	}
	for _, dir := range f.foldersAbove(filepath.Dir(from.Path)) {
		if filepath.Base(dir) == NodeModules {
			continue
		}
		s, err := f.inPackage(filepath.Join(dir, NodeModules, filepath.FromSlash(pkg)), sub, name, from)
		if s != nil || err != nil {
			return s, err
		}
	}
	return nil, nil
}

// foldersAbove returns the folder dir and the folders above it, up to the application directory.
func (f *Files) foldersAbove(dir string) []string {
	var all []string
	for isInside(f.app.Root, dir) {
		all = append(all, dir)
		if dir == f.app.Root {
			break
		}
		dir = filepath.Dir(dir)
	}
	return all
}

// inPackage finds a file of the package in the folder dir; sub is the path of the file within the package. name is the
// module name in the script, for error messages. inPackage returns nil if there is no such file.
func (f *Files) inPackage(dir, sub, name string, from *Source) (*Source, error) {
	fields, err := f.readManifest(dir, from)
	if err != nil {
		return nil, err
	}
	if exports, ok := fields.Get("exports"); ok && exports != nil {
		return f.findExport(exportsOf{dir, exports, name}, exportKey(sub), from)
	}
	path := f.lookUpFile(filepath.Join(dir, filepath.FromSlash(sub)))
	if path == "" {
		return nil, nil
	}
	return f.readOnce(path, name, from)
}

func exportKey(sub string) string {
	if sub == "" {
		return "."
	}
	return "./" + sub
}

func (f *Files) readOnce(path, name string, from *Source) (*Source, error) {
	if s := f.found[path]; s != nil {
		return s, nil
	}
	s, err := f.readFile(path, name, from.File)
	if err == nil {
		f.found[path] = s
	}
	return s, err
}

// readManifest returns the members of the package.json in a folder. It returns nil if that file does not exist.
func (f *Files) readManifest(dir string, from *Source) (engine.Fields, error) {
	path := filepath.Join(dir, manifest)
	if !f.isFile(path) {
		return nil, nil
	}
	s, err := f.readOnce(path, path, from)
	if err != nil {
		return nil, err
	}
	fields, _ := s.Data.(engine.Fields)
	return fields, nil
}

// mainOf returns the absolute path of the file that the package.json in a folder names as main, or "" if there is
// none.
func (f *Files) mainOf(dir string) string {
	fields, err := f.readManifest(dir, &Source{})
	if err != nil {
		return ""
	}
	v, _ := fields.Get("main")
	main, _ := v.(string)
	if main = filepath.Join(dir, filepath.FromSlash(main)); main == dir || !isInside(f.app.Root, main) && !isInside(f.app.Dir, main) {
		return ""
	}
	return main
}

// ImportsAsNode reports whether the default import of a CommonJS module in the file s is module.exports, as in Node.js.
// That is the case in .mjs and .mts, and in packages of type module. Otherwise it is exports.default if the module has
// the mark __esModule, as in bundlers and in TypeScript.
func (f *Files) ImportsAsNode(s *Source) bool {
	if !s.ES {
		return false
	}
	switch filepath.Ext(s.Path) {
	case ".mjs", ".mts":
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_, fields := f.findPackage(s)
	kind, _ := fields.Get("type")
	return kind == "module"
}

// HasTwin reports whether the package of s has another file for import statements, whose default export stands for
// exports.default of s.
func (f *Files) HasTwin(s *Source) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dual[s.Path]
}

// findPackage returns the package that a file belongs to: its folder and the members of its package.json. fields is
// nil if the file belongs to no package.
func (f *Files) findPackage(of *Source) (dir string, fields engine.Fields) {
	for _, dir := range f.foldersAbove(filepath.Dir(of.Path)) {
		if filepath.Base(dir) == NodeModules {
			break
		}
		if fields, err := f.readManifest(dir, of); err == nil && fields != nil {
			return dir, fields
		}
	}
	return "", nil
}

// ownImport resolves a name that begins with #, such as "#lib", by the field imports of the package that from belongs
// to. It returns a file, or the name of another package or a built-in module.
func (f *Files) ownImport(name string, from *Source) (*Source, string, error) {
	dir, fields := f.findPackage(from)
	imports, _ := fields.Get("imports")
	for _, c := range conditions {
		target, ok := targetOf(imports, name, c)
		switch {
		case !ok:
			continue
		case !strings.HasPrefix(target, "./"):
			return nil, target, nil // another package, or a built-in module
		}
		s, err := f.readTarget(exportsOf{dir, imports, name}, target, from)
		return s, "", err
	}
	return nil, "", &LoadError{File: from.File, Message: "no package.json above says what " + strconv.Quote(name) + " is"}
}

// exportsOf is the field exports or imports of the package.json in dir. name is the module name in the script, for
// error messages.
type exportsOf struct {
	dir   string
	field any
	name  string
}

// findExport finds the file that a package exports under a key such as "./sub".
func (f *Files) findExport(e exportsOf, key string, from *Source) (*Source, error) {
	field := e.field
	if list, ok := field.(engine.Fields); !ok || len(list) > 0 && !strings.HasPrefix(list[0].Name, ".") {
		field = engine.Fields{{Name: ".", Value: e.field}} // a single target is a short form of {".": target}
	}
	for _, c := range conditions {
		target, ok := targetOf(field, key, c)
		if !ok {
			continue
		}
		s, err := f.readTarget(e, target, from)
		if err == nil {
			other, ok := targetOf(field, key, conditions[1])
			f.dual[s.Path] = ok && other != target
		}
		return s, err
	}
	return nil, &LoadError{File: from.File, Message: "the package of " + strconv.Quote(e.name) + " exports no " + strconv.Quote(key)}
}

// readTarget reads the file that a package.json names as target, such as "./lib/a.js".
func (f *Files) readTarget(e exportsOf, target string, from *Source) (*Source, error) {
	local := filepath.FromSlash(strings.TrimPrefix(target, "./"))
	path := filepath.Join(e.dir, local)
	if !strings.HasPrefix(target, "./") || !filepath.IsLocal(local) || !f.isFile(path) {
		return nil, &LoadError{File: from.File, Message: "the package of " + strconv.Quote(e.name) + " names " + strconv.Quote(target) + ", which is none of its files"}
	}
	return f.readOnce(path, e.name, from)
}

// targetOf returns the target for a key in a field exports or imports. If there is no entry for the key, it uses an
// entry with a star, such as "./lib/*". If several such entries match, it uses the one with the longest text before
// the star.
func targetOf(field any, key string, conditions map[string]bool) (string, bool) {
	entries, _ := field.(engine.Fields)
	if v, ok := entries.Get(key); ok && !strings.Contains(key, "*") {
		return chooseTarget(v, "", conditions)
	}
	best, star := -1, ""
	for i, e := range entries {
		before, after, ok := strings.Cut(e.Name, "*")
		if !ok || len(key) < len(e.Name)-1 || !strings.HasPrefix(key, before) || !strings.HasSuffix(key, after) {
			continue
		}
		if best < 0 || len(before) > strings.Index(entries[best].Name, "*") {
			best, star = i, key[len(before):len(key)-len(after)]
		}
	}
	if best < 0 {
		return "", false
	}
	return chooseTarget(entries[best].Value, star, conditions)
}

// chooseTarget returns the target of the first accepted condition in v. star is the text that replaces a star in the
// target.
func chooseTarget(v any, star string, conditions map[string]bool) (string, bool) {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, "*", star), true
	case []any:
		for _, one := range v {
			if target, ok := chooseTarget(one, star, conditions); ok {
				return target, true
			}
		}
	case engine.Fields:
		for _, e := range v {
			if !conditions[e.Name] {
				continue
			}
			if target, ok := chooseTarget(e.Value, star, conditions); ok {
				return target, true
			}
		}
	}
	return "", false
}
