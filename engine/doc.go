// Package engine defines the model of restsrv: the types and interfaces that all other
// packages use. It does not access disk, network or database, and it imports the standard
// library only.
//
// Reading order: class.go (the metadata of items), value.go, cast.go, bind.go and
// complete.go (values, the conversion of input to values, and generated values), item.go
// and render.go (a stored item, its computed values and its JSON), query.go, filter.go and
// expr.go (queries), repository.go (the storage interface, with the journal of writes
// and the states of items), file.go (contents), account.go (callers and security
// events), permission.go and view.go (permissions, their restriction by a scope, and
// hidden attributes), error.go (failures), system.go (classes of the server itself).
// Five packages complete the model: query reads queries, service has the contract of
// services, describe returns classes as JSON, inputs finds the attributes and items from
// which a value is computed, and suggest finds names that resemble an unknown one.
//
// Glossary, one word for each concept:
//
//	class       description of one kind of item
//	view        a class without the properties that are hidden from an account
//	view model  layout of a form or a list of a class; the files are in views
//	property    one named, typed value of a class; "attribute" on the wire
//	item        one stored instance of a class
//	id          text form of the key, "_id" on the wire
//	record      an item as input of the acceptor: class, id, values; in a
//	            journal, the entry of one change
//	repository  stores and finds items (store is the SQL one)
//	service     handles the requests below /rest/{name}
//	module      creates a service from its options
//	account     user or program that can sign in; named <login>@<type>
//	role        named set of grants, which accounts can have
//	coactor     further subject of an account, found in the data
//	subject     receiver of a grant: an account, a role, everyone
//	resource    object of a grant: everything, a class, an item, a property ...
//	permission  read, write, delete, use, or full for all of them
//	grant       one permission of one subject on one resource; in engine/oauth,
//	            the scope that a user allows a client
//	policy      the current set of grants
//	gate        the repository that enforces the permissions of an account
//	guard       the permissions of an account in the form that the store uses
//	scope       restriction of an account's permissions by a token
//	token       text that stands for an account; a service or a client sends it
//	client      program that acts for accounts, by OAuth2
//	consent     a user's answer to the request of a client
//	session     sign-in of a browser, stored by the server
//	guess       failed attempt at a password or a code
//	event       security event for the auditor; in engine/script, a write or a
//	            move that scripts can listen to
//	journal     history of the changes of items, stored with them; "changes" in
//	            the command line
//	workflow    the states of items of a class and the transitions between them
//	stage       the state of a workflow that an item has reached
//	move        step of an item in a workflow: a transition, or into a state
//	lease       right of one process to do a task while the others wait
//	fault       an error in a file that people write, with its position
//	system      class or item of the server itself, which services cannot use
//	IONDV       the framework whose applications and interfaces restsrv runs
package engine
