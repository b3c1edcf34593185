package module

import (
	"path/filepath"
	"strconv"
	"strings"

	"restsrv/engine/script/platform"
	"restsrv/engine/suggest"
)

// ourModule is the name of the built-in module with the functions of restsrv.
const ourModule = "restsrv"

// isReserved reports whether a name always stands for a built-in module, even if a package of that name is installed.
// That is the case for modules of Node.js, of restsrv, and of IONDV: the packages of IONDV cannot run here.
func isReserved(name string) bool {
	if !platform.HasModule(name) {
		return false
	}
	first, _, more := strings.Cut(name, "/")
	return name == ourModule || platform.IsNodeModule(name) || first == "@iondv" || more && (first == "core" || first == "modules" || first == "lib")
}

func isRelative(name string) bool {
	return strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") || name == "." || name == ".."
}

// FindModule returns the file that a call require(name) in the file from leads to. If the call leads to a built-in
// module, FindModule returns no file but the name of that module. It can differ from the parameter name, because a
// package.json can map names in its field imports.
func (f *Files) FindModule(name string, from *Source) (*Source, string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if strings.HasPrefix(name, "#") {
		s, other, err := f.ownImport(name, from)
		if s != nil || err != nil {
			return s, "", err
		}
		name = other
	}
	if isRelative(name) {
		s, err := f.findFile(filepath.Join(filepath.Dir(from.Path), filepath.FromSlash(name)), name, from.File)
		return s, "", err
	}
	if isReserved(name) {
		return nil, name, nil
	}
	if f.app.NodeModules {
		if s, err := f.inPackages(name, from); s != nil || err != nil {
			return s, "", err
		}
	}
	if platform.HasModule(name) {
		return nil, name, nil
	}
	if filepath.IsLocal(filepath.FromSlash(name)) {
		for _, path := range f.app.pathsOf(name) {
			if f.lookUpFile(path) != "" {
				s, err := f.findFile(path, name, from.File)
				return s, "", err
			}
		}
	}
	return nil, "", &LoadError{File: from.File, Message: f.unknownMessage(name, from)}
}

// pathsOf returns the absolute paths that a name such as "lib/util" may have within the application directory.
func (r *Application) pathsOf(name string) []string {
	paths := []string{filepath.Join(r.Root, filepath.FromSlash(name))}
	if r.Namespace != "" {
		if rest, ok := strings.CutPrefix(name, "applications/"+r.Namespace+"/"); ok {
			paths = append([]string{filepath.Join(r.Root, filepath.FromSlash(rest))}, paths...)
		}
	}
	return paths
}

// NotFound is the beginning of the message if a module is missing.
const NotFound = "cannot find module "

// unknownMessage returns the error message for a module that was not found. It lists the places that were tried and
// suggests similar names.
func (f *Files) unknownMessage(name string, from *Source) string {
	if strings.HasPrefix(name, "node:") {
		return NotFound + strconv.Quote(name) + ": Node.js has no such module"
	}
	text := NotFound + strconv.Quote(name) + ": it is no built-in module"
	if near := suggest.Nearest(name, platform.ModuleNames()); near != "" {
		text += " (the nearest is " + strconv.Quote(near) + ")"
	}
	switch {
	case !filepath.IsLocal(filepath.FromSlash(name)):
		text += ", and it is no path within the application directory"
	default:
		text += ", and the application directory has no such file (" + strings.Join(suffixes, " ") + " and index files were tried)"
	}
	switch {
	case f.app.NodeModules:
		text += ", nor is there such a package in node_modules"
	case f.isInstalled(name, from):
		text += `; the package is in node_modules, which scripts can use if the setting scripts.nodeModules is true: "globals": {"scripts": {"nodeModules": true}} in deploy.json`
	}
	if isFile(filepath.Join(filepath.Dir(from.Path), filepath.FromSlash(name))) || f.lookUpFile(filepath.Join(filepath.Dir(from.Path), filepath.FromSlash(name))) != "" {
		text += "; a file beside the one that asks is " + strconv.Quote("./"+name)
	}
	return text
}

// isInstalled reports whether the package that the name of a module begins with is in a folder node_modules.
func (f *Files) isInstalled(name string, from *Source) bool {
	pkg, _, ok := splitPackage(name)
	if !ok {
		return false
	}
	for _, dir := range f.foldersAbove(filepath.Dir(from.Path)) {
		if f.isFile(filepath.Join(dir, NodeModules, filepath.FromSlash(pkg), manifest)) {
			return true
		}
	}
	return false
}
