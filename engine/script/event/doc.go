// Package event calls functions of scripts when data is written or read.
//
// Events is an engine.Repository that wraps another one. Scripts register handlers with dataRepo.on while they load
// (handler.go). Package script passes the handlers to Events when a version of a service becomes active. A write
// first calls the handlers that run before it, in its transaction (transaction.go, write.go). If a written item
// contains nested records, their handlers are called, too (nested.go). Handlers that run after the write cannot
// refuse it.
package event
