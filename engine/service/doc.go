// Package service defines the contract of a service: its routes, requests, responses and options, and the environment
// in which the service is created. Services in Go (builtin) and in JavaScript (engine/script) implement this contract,
// and engine/rest calls them.
package service
