// Package shared has the global shared of scripts: a store of a service for all its VMs and versions. Values are copied
// in both directions. The store has a limit in bytes; if it is full, it removes the entries that were not used for the
// longest time (store.go). Locks and computations that run only once are gates at which calls wait (gate.go).
package shared
