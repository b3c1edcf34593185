// Package service defines the contract of a service: its routes, requests, responses and
// options, and the environment in which it is created. Services in Go (builtin) and in
// JavaScript (engine/script) implement it, and engine/rest calls them.
package service
