// Package suite runs tests that are written in JavaScript. A Suite holds the tests of one file. The Binding of a VM
// collects them while the file is loaded. A Host is the server to which the tests send requests.
package suite
