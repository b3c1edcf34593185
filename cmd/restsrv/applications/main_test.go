// Package applications tests restsrv with complete applications of IONDV, and compares its answers with recorded ones.
package applications

import (
	"os"
	"testing"

	"restsrv/cmd/restsrv/apptest"
)

func TestMain(m *testing.M) { os.Exit(apptest.RunTests(m)) }
