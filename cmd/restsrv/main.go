// Command restsrv serves classes as a REST API, and services written in JavaScript, from one application directory.
// Package command has the command line.
package main

import (
	"os"

	"restsrv/cmd/restsrv/command"
)

func main() { os.Exit(command.Main()) }
