// Package store implements engine.Repository with SQL, for every database that has a dialect. It asks engine.Guard about
// every item, but it does not know the rules of access (package engine/access) or HTTP.
//
// The packages below it are layers; each imports only those before it:
//
//   - sqldb describes a database; sqlite and postgres are the dialects
//   - layout decides how classes are stored in tables
//   - rights applies the permissions of the caller
//   - conns runs reads and writes on connections, with their queues and transactions
//   - sqlquery writes statements that find items
//   - schema creates and changes the tables
//   - read reads items with what belongs to them
//   - table reads, locks and changes rows for a write
//   - owned writes the rows of files, workflow stages and grants of items
//   - cached computes attributes that are stored although they are calculated
//   - dump reads all rows as they are stored
//
// This package writes items. A write is a save: its steps (step.go) are prepared (save.go), ordered (order.go), checked
// (admit.go) and run (bulk.go, record.go) with nested records and collections (nested.go, collection.go, backref.go).
// all.go writes many items by a filter, delete.go deletes items, and import.go stores items as they are given.
package store
