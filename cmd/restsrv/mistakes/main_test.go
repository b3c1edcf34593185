// Package mistakes tests applications with mistakes: each mistake is reported with its place and its resolution, the
// rest of the application works, and no data are lost.
package mistakes

import (
	"os"
	"testing"

	"restsrv/cmd/restsrv/apptest"
)

func TestMain(m *testing.M) { os.Exit(apptest.RunTests(m)) }
