// Package security tests attacks: reading of hidden data, guessed, revoked and repeated credentials, hostile input,
// slow clients, and secrets in answers and logs. The table in security_test.go lists the tests for each kind of
// attack.
package security

import (
	"os"
	"testing"

	"restsrv/cmd/restsrv/apptest"
)

func TestMain(m *testing.M) { os.Exit(apptest.RunTests(m)) }
