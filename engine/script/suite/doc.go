// Package suite runs tests that are written in JavaScript. A Suite has the tests of one file, which its Binding
// collects while the file is loaded. A Host is the server that the tests send requests to.
package suite
