// Package shared implements the JavaScript global shared: a store that all VMs and versions of a service have in
// common. Values are copied when they are stored and when they are read. The store has a limit in bytes. If it is
// full, it removes the entries that have not been used for the longest time (store.go). A lock, or a computation that
// must run only once, is a gate: one call passes, and the others wait for it (gate.go).
package shared
