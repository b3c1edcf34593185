// Package store implements engine.Repository with SQL, for every database that has a dialect. It asks engine.Guard for
// the permissions on every item, but it does not know the rules of access (package engine/access) or HTTP.
//
// The packages below it are layers; each imports only those before it:
//
//   - sqldb describes a database; sqlite and postgres are the dialects
//   - layout decides how classes are stored in tables
//   - rights applies the permissions of the caller
//   - conns runs reads and writes on connections, with their queues and transactions
//   - sqlquery writes statements that find items
//   - schema creates and changes the tables
//   - read reads items with the items that they refer to
//   - table reads, locks and changes rows for a write
//   - owned writes the rows of files, workflow stages and grants of items
//   - cached computes attributes that are stored although they are calculated
//   - dump reads all rows as they are stored
//
// This package writes items. Each call of Create, Update or Save is a save. It consists of entries, one for each
// record, and its work is divided into steps (step.go). Entries are prepared (save.go), put in order (order.go),
// checked (admit.go) and written (bulk.go, record.go), with nested records and collections (nested.go, collection.go,
// backref.go). all.go writes all items that a filter finds, delete.go deletes items, and import.go stores items as they
// are given.
package store
