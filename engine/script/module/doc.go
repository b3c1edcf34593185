// Package module finds, reads and compiles the files of scripts.
//
// Files is the set of files of one version of a service. It resolves the names that scripts pass to require: relative
// paths, built-in modules, packages of node_modules and paths within the application (find.go, packages.go). It never
// reads files outside of the application directory. It records each path that it has read or looked for, so that the
// service can be loaded again when one of these files changes or appears.
//
// Cache holds the compiled content of each file for all services. A file is compiled again if its content has
// changed. TypeScript and ES modules are first transformed to JavaScript that goja can run (package transpile).
// Package sandbox then rewrites each program. If a file cannot be used, the error is a LoadError with the position
// and an excerpt of the source.
package module
