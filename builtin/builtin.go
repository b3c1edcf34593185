// Package builtin lists the modules written in Go. It is the one place that
// knows them all; each lives in a package of its own beside this file.
package builtin

import (
	"restsrv/builtin/acceptor"
	"restsrv/builtin/crud"
	"restsrv/builtin/echo"
	"restsrv/builtin/meta"
	"restsrv/builtin/token"
	"restsrv/builtin/workflows"
	"restsrv/engine"
)

// Modules maps the name that deploy.json gives after "builtin/" to the module.
func Modules() map[string]engine.Module {
	return map[string]engine.Module{
		"acceptor":  acceptor.New,
		"crud":      crud.New,
		"echo":      echo.New,
		"meta":      meta.New,
		"token":     token.New,
		"workflows": workflows.New,
	}
}

// Options are the options that modules take, and those of the ancestor's modules
// of their names that need not be said here; acceptor takes converters of any
// name.
func Options() map[string][]string {
	components := []string{"auth", "metaRepo", "dataRepo", "keyProvider", "fileStorage", "log"}
	return map[string][]string{
		"crud":      append([]string{"handling", "maxCount", "maxBody"}, components...),
		"echo":      {},
		"meta":      components,
		"token":     append([]string{"tokenLifetime"}, components...),
		"workflows": append([]string{"workflow"}, components...),
	}
}
