// Package sandbox protects the server from its scripts.
//
// # Threat model
//
// Scripts are written by the administrator of the application, but their input comes from clients, and npm packages
// come from strangers. A script must therefore not be able to end the process, to stop other services, or to block a
// processor, whether by mistake or because a client sent unusual data. The watchdog of package vm interrupts a turn
// that runs too long or uses too much memory. goja checks for an interrupt between instructions of a script. It cannot
// interrupt its own Go code. This package closes that gap:
//
//   - Built-in functions that run in Go for a long time, or that allocate memory depending on a number or on the length
//     of a text (repeat, fill, replace, BigInt operators, regular expressions ...), get limits. If a call exceeds a
//     limit, it throws a RangeError.
//   - Built-in functions that recurse in Go (JSON, join, flat, generators, prototype chains) get limits for the depth,
//     because an overflow of the Go stack ends the process.
//   - Source text is checked before it is parsed, because the compilers recurse, too (nesting.go).
//   - Syntax that is not a function call (spread, new Array, operators of BigInts) is rewritten to call a guard
//     (syntax.go, bigint.go).
//
// These attacks are handled elsewhere: access to files outside of the application (package module), access to hosts
// (package platform), and access to data (engine.Repository checks the permissions of the account). A script can read
// the data of the requests that it serves, and it can make its own service slow or wrong.
//
// # Costs
//
// A guard slows down each call, and creating all guards would take most of the start time of a VM. FindNeeds therefore
// looks for the names of built-ins in a source text, and Guards.ProvideBuiltins installs a guard when the first file
// that needs it is loaded. If code is compiled at run time (eval, Function), it is checked in the same way.
package sandbox
