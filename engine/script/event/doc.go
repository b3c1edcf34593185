// Package event calls functions of scripts when data is written or read.
//
// Events is an engine.Repository around another one. Scripts register handlers with dataRepo.on while they load
// (handler.go), and package script passes them to Events when a version of a service becomes active. A write calls the
// handlers before it in its transaction (transaction.go, write.go), including handlers for the records that are nested
// in the written item (nested.go). Handlers after the write cannot refuse it.
package event
