// Package module finds, reads and compiles the files of scripts.
//
// Files is the set of files of one version of a service. It resolves the names that scripts pass to require: relative
// paths, built-in modules, packages of node_modules and paths within the application (find.go, packages.go). It never
// reads files outside of the application directory, and it records each path that it has looked for, so that a service
// is loaded again when one of them changes.
//
// Cache has the compiled content of each file for all services. A file is compiled again if its content has changed.
// TypeScript and ES modules are transformed first (package transpile). All programs are rewritten by package sandbox.
// LoadError is the error if a file cannot be used; it has the position and an excerpt of the source.
package module
