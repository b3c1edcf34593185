package script

import (
	"errors"

	"restsrv/engine"
)

// exclusive is the value of the option "isolation" with which each VM takes one
// call at a time. Use it for scripts that store data of a request in variables
// of the module. Module variables are separate in each VM in either case.
const exclusive = "exclusive"

// checkIsolation returns an error if the option has another value.
func checkIsolation(o engine.Options) error {
	switch o["isolation"] {
	case nil, "", exclusive, "shared":
		return nil
	}
	return errors.New(`the option "isolation" is "exclusive" (a VM takes one request at a time) or "shared" (many, the default)`)
}
