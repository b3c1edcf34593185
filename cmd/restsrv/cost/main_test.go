// Package cost tests limits of the resources that requests and idle servers use: SQL statements, allocations, and
// waiting.
package cost

import (
	"os"
	"testing"

	"restsrv/cmd/restsrv/apptest"
)

func TestMain(m *testing.M) { os.Exit(apptest.RunTests(m)) }
