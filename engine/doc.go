// Package engine is the vocabulary of restsrv: the types and interfaces that
// every other package speaks, and nothing that touches disk, network or
// database. It imports the standard library only.
//
// Reading order: class.go (what can be stored), value.go, cast.go, bind.go and
// complete.go (what a value may be, how input becomes one and what the server
// adds), item.go, compute.go and render.go (one stored thing, what is computed
// from it and its JSON), query.go and filter.go (what to fetch), repository.go (the one
// storage interface), journal.go (what is kept of its writes), workflow.go (how
// items move), file.go and image.go (contents), service.go (the one service
// interface), account.go (who asks), permission.go, scope.go and view.go (what it
// may do and know), describe.go and told.go (what class files and their like say,
// as it may know it), audit.go (what is told of it), error.go (how things fail),
// web.go (what answers outside /rest), presentation.go (how the application is
// shown), system.go (what the server keeps for itself).
//
// Glossary, one word per thing:
//
//	class       description of one kind of item
//	view        a class as those see it who may not know some of its properties
//	view model  what a form or a list of a class shows to people; files are in views
//	property    one named, typed value of a class; "attribute" on the wire
//	item        one stored instance of a class
//	id          text form of the key, "_id" on the wire
//	record      an item as the acceptor takes it: class, id, values; in a journal,
//	            what is kept of one change
//	repository  stores and finds items (store is the SQL one)
//	service     what answers under /rest/{name}
//	module      what builds a service from its options
//	account     who may sign in, or act as a program; named <login>@<type>
//	role        name that stands for what the accounts that have it are granted
//	coactor     subject that an account is too, because the data say so
//	subject     what is granted something: an account, a role, everyone
//	resource    what something is granted on: everything, a class, an item, a property ...
//	permission  read, write, delete, use, or full for all of them
//	grant       one permission of one subject on one resource; in engine/oauth, what
//	            a person lets a client have
//	policy      knows the grants of the moment
//	gate        the repository that lets an account do no more than it may
//	guard       what an account may do, as the store asks it
//	scope       what a token leaves of what its account may do
//	token       text that stands for an account; a service or a client sends it
//	client      program that acts for accounts, by OAuth2
//	consent     a person's answer to what a client asks for
//	session     that a browser has signed in, kept by the server
//	guess       failed attempt at a password or a code
//	event       what happened to the security of the server, for the auditor; in
//	            engine/script, a write or a move that scripts hear of
//	journal     what writes have changed of items, kept with them; "changes" to people
//	workflow    the states that items of a class go through, and the transitions between
//	stage       the state of a workflow that an item has reached
//	move        step of an item in a workflow: a transition, or into a state
//	lease       that one process does something while the others wait
//	fault       what is wrong in a file that people write, and where
//	system      class or item that the server keeps for itself and shows to no service
package engine
