// Package engine is the vocabulary of restsrv: the types and interfaces that
// every other package speaks, and nothing that touches disk, network or
// database. It imports the standard library only.
//
// Reading order: class.go (what can be stored), value.go, cast.go, bind.go and
// complete.go (what a value may be, how input becomes one and what the server
// adds), item.go, compute.go and render.go (one stored thing, what is computed
// from it and its JSON), query.go and filter.go (what to fetch), repository.go (the one
// storage interface), service.go (the one service interface), account.go (who
// asks), permission.go and view.go (what it may do and know), error.go (how things
// fail), web.go (what answers outside /rest).
//
// Glossary, one word per thing:
//
//	class       description of one kind of item
//	view        a class as those see it who may not know some of its properties
//	property    one named, typed value of a class; "attribute" on the wire
//	item        one stored instance of a class
//	id          text form of the key, "_id" on the wire
//	record      an item as the acceptor takes it: class, id, values
//	repository  stores and finds items (store is the SQL one)
//	service     what answers under /rest/{name}
//	module      what builds a service from its options
//	account     who may sign in
//	session     that a browser has signed in, kept by the server
package engine
