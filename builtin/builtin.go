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
