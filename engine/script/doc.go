// Package script runs services written in JavaScript. Use New to start a Runtime, and a Manager to load services and to
// replace them when their files change.
//
// The packages below it have one task each, and a package imports only packages that are listed before it:
//
//	limits     limits for time, memory and sizes
//	js         values of a JavaScript runtime, conversion, JSON
//	transpile  TypeScript and ES modules to JavaScript
//	platform   globals and modules of browsers and Node.js
//	sandbox    guards for built-ins that could harm the server
//	module     finding and compiling files
//	vm         VMs, turns, calls, operations, watchdog
//	access     accounts and permissions
//	exchange   requests and responses
//	event      handlers for writes
//	data       repositories, items, metadata, files
//	shared     data shared by VMs
//	suite      tests of scripts
//
// This package puts them together. A Generation is one loaded version of a service, an engine.Service (generation.go,
// load.go). Each of its VMs has a host, which creates the bindings and the globals (host.go, platform.go, console.go,
// component.go) and runs modules (require.go). In development mode, it reports variables of modules that requests
// change (watched.go). The Manager keeps the last good version of a service active if a new one cannot be loaded
// (manager.go, report.go). converter.go has the converters of the acceptor.
package script
