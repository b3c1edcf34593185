package script

import (
	"errors"

	"restsrv/engine"
)

// exclusive is the value of the option "isolation" that has each VM take one
// call at a time, for scripts that keep what belongs to a request in variables
// of the module. Module variables are per VM in either case.
const exclusive = "exclusive"

// checkIsolation refuses other values of the option.
func checkIsolation(o engine.Options) error {
	switch o["isolation"] {
	case nil, "", exclusive, "shared":
		return nil
	}
	return errors.New(`the option "isolation" is "exclusive" (a VM takes one request at a time) or "shared" (many, the default)`)
}
