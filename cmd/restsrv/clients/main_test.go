// Package clients tests restsrv together with other programs: a browser, OAuth2 clients, and the TypeScript compiler.
package clients

import (
	"os"
	"testing"

	"restsrv/cmd/restsrv/apptest"
)

func TestMain(m *testing.M) {
	code := apptest.RunTests(m)
	os.RemoveAll(driver.dir) // dir is "" if no test used the driver
	os.Exit(code)
}
