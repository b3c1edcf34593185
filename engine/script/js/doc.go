// Package js connects Go code with the values of one JavaScript runtime. It is the lowest layer of the script room: it
// knows goja and the data types of engine, but no VM, request or repository.
//
// A Realm belongs to one VM. It creates functions, errors and promises, converts values in both directions (convert.go),
// and writes JSON with limits (writer.go, stringify.go). The Go value behind an object can take part in conversions if
// it has one of these methods: Decoded (the value that the object stands for), WriteJSON (its own JSON) or Stored (the
// object is an item).
//
// goja reports errors of scripts as panics. Functions that are called by scripts panic with a value of Realm.NewError.
// Use Must for errors that scripts cannot catch, and Rethrow for errors that goja returned.
package js
