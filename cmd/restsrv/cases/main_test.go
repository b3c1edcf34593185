// Package cases runs the end-to-end cases in testdata. Each case describes one aspect of the behaviour of restsrv.
package cases

import (
	"os"
	"testing"

	"restsrv/cmd/restsrv/apptest"
)

func TestMain(m *testing.M) { os.Exit(apptest.RunTests(m)) }
