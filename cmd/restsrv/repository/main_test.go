// Package repository tests the rules of this repository: imports, sizes and documentation of packages, plain English,
// and that the commands and paths in the documents are right.
package repository

import (
	"os"
	"testing"

	"restsrv/cmd/restsrv/apptest"
)

func TestMain(m *testing.M) { os.Exit(apptest.RunTests(m)) }
