// Package consistency tests that stored data are right: after random requests, compared with a model, when requests
// run at the same time, and after crashes, power cuts and full disks.
package consistency

import (
	"os"
	"testing"

	"restsrv/cmd/restsrv/apptest"
)

func TestMain(m *testing.M) { os.Exit(apptest.RunTests(m)) }
