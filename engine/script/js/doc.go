// Package js connects Go code with the values of one JavaScript runtime. It is the lowest layer of the packages below
// engine/script: it uses goja and the data types of package engine, but no VM, request or repository.
//
// A Realm belongs to one VM. It creates functions, errors and promises, converts values in both directions
// (convert.go), and writes JSON with limits (writer.go, stringify.go). A JavaScript object can be backed by a Go
// value. The Go value controls conversions if it has one of these methods: Decoded returns the value that the object
// is converted to, WriteJSON writes its own JSON, and Stored marks an item or an array of items.
//
// goja reports errors of scripts as panics. Therefore a Go function that scripts call throws an error by a panic with
// a value of Realm.NewError. Use Must for errors that scripts cannot catch, and Rethrow for errors that goja
// returned.
package js
