// Package data implements the JavaScript objects with which scripts use the data of an application. dataRepo has
// queries, writes and transactions; its results are items with properties. metaRepo describes classes and their
// presentation (navigation, views, workflows). Other objects are file storages and workflows.
//
// The first argument of most methods is a class. It is looked up in the view of the repository, so that a script sees
// only the attributes that the account of the request may see. A method checks and copies its arguments in the turn
// of the script, and then runs as a vm.Operation. An item is converted to JavaScript when a script reads it. If a
// handler only returns items, they are written as JSON directly.
package data
