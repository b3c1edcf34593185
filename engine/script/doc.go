// Package script runs services that are written in JavaScript. Use New to start a Runtime, and a Manager to load
// services and to replace them when their files change.
//
// The packages below it have one task each. A package imports only packages that are listed before it:
//
//	limits     limits for time, memory and sizes
//	js         values of a JavaScript runtime, conversion, JSON
//	transpile  TypeScript and ES modules to JavaScript
//	platform   globals and modules of browsers and Node.js
//	sandbox    guards for built-in functions that could harm the server
//	module     finding and compiling files
//	vm         VMs, turns, calls, operations, watchdog
//	access     accounts and permissions
//	exchange   requests and responses
//	event      handlers for writes
//	data       repositories, items, metadata, files
//	shared     data shared by VMs
//	suite      tests of scripts
//
// This package combines them. A Generation is one loaded version of a service and implements service.Service
// (generation.go, load.go). Each of its VMs has a host. The host creates the bindings and the globals (host.go,
// platform.go, console.go, component.go) and runs modules (require.go). In development mode, it reports variables of
// modules that requests change (watched.go). If a new version of a service cannot be loaded, the Manager keeps the
// last good version active (manager.go, report.go). A converter is a script that converts the data of the acceptor
// (converter.go).
package script
