// Package data has the objects with which scripts use the data of an application: dataRepo with its queries, writes
// and transactions, items and their properties, metaRepo with classes and their presentation, file storages, and
// workflows.
//
// The first argument of most methods is a class. It is looked up in the view of the repository, so that a script sees
// only the attributes that the account may see. A method checks and copies its arguments in the turn, and then runs as
// a vm.Operation. Items are converted to JavaScript when a script reads them. If a handler only returns items, they
// are written as JSON directly.
package data
