// Package builtin lists the modules written in Go. It is the only package that
// imports all of them; each one has a package of its own beside this file.
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

// Modules returns the modules by the name that follows "builtin/" in
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

// Options returns the options of the modules, and those options of IONDV's
// modules of the same names that need not be reported. acceptor is missing,
// because its converters can have any name.
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
