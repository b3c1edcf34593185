// Package builtin lists the modules that are written in Go. Each module has its own package in a
// folder beside this file. No other package imports all modules.
package builtin

import (
	"restsrv/builtin/acceptor"
	"restsrv/builtin/crud"
	"restsrv/builtin/echo"
	"restsrv/builtin/meta"
	"restsrv/builtin/token"
	"restsrv/builtin/workflows"
	"restsrv/engine/service"
)

// Modules returns the functions that create the modules. The key is the name after "builtin/" in
// deploy.json.
func Modules() map[string]service.Module {
	return map[string]service.Module{
		"acceptor":  acceptor.New,
		"crud":      crud.New,
		"echo":      echo.New,
		"meta":      meta.New,
		"token":     token.New,
		"workflows": workflows.New,
	}
}

// Options returns the known option names of each module. They include the options of the IONDV module with the same
// name, so that the server does not report those as unknown. The module acceptor is missing: it has an option for
// each of its converters, and applications choose the names of converters.
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
