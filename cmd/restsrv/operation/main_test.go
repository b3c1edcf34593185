// Package operation tests starting, reloading and stopping of servers.
package operation

import (
	"os"
	"testing"

	"restsrv/cmd/restsrv/apptest"
)

func TestMain(m *testing.M) { os.Exit(apptest.RunTests(m)) }
