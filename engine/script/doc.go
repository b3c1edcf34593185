// Package script runs services written in JavaScript. It owns the JavaScript
// engine: loading and compiling script files, the virtual machines (VMs) that
// run them, what a script can reach (dataRepo, metaRepo, req, console ...),
// the limits that keep a faulty script from harming others, and the swap of a
// changed script. It is not for HTTP (engine/rest), nor for watching files
// (engine/watch), nor for storing items (engine.Repository).
//
// Reading order: runtime.go and generation.go (one loaded version of a service,
// an engine.Service), resolve.go, modules.go, packages.go and source.go
// (files: how they are found and compiled), load.go, route.go and initialize.go (how one
// becomes a service), group.go and vm.go (where calls run), call.go (one
// request), body.go, intake.go and multipart.go (what it brings), result.go,
// writer.go and failure.go (what it answers).
//
// What scripts reach: host.go and platform.go (globals), request.go, component.go
// (what options name), repository.go, reading.go, writing.go and item.go (data),
// transaction.go (calls as one), events.go and eventwrite.go (who hears of
// writes), meta.go (classes), presentation.go and concealed.go (how they are
// shown), storage.go (files), user.go, auth.go and acl.go (who asks, and what it
// may do), shared.go (what VMs share), converter.go (converters of the acceptor).
//
// What bounds them: limits.go, watchdog.go, heap.go and metrics.go, and the
// guards (guard.go, guardwords.go, guardtext.go, guardsyntax.go, nesting.go,
// rewrite.go, patience.go). Reload: manager.go and managed.go. For developing:
// excerpt.go (source around a failure), probe.go and watched.go (module
// variables), suite.go and testing.go (tests of scripts).
//
// How a call runs. A service has a small group of VMs. A VM runs one turn at a
// time: the start of a handler, the completion of something it awaits, a
// timer. Who brings a turn to an idle VM runs it on its own goroutine; who
// finds the VM busy leaves the turn in the VM's queue. Many calls share a VM,
// each waiting for its own promises, and the account that dataRepo acts for
// follows the asynchronous context, never the VM; so does the transaction that
// a call is a part of. Classes are looked up in the view of the repository they
// are named to; metaRepo shows the views of the account, unless the options name
// a repository that hides nothing. A watchdog interrupts a turn that burns too
// much CPU, and the longest turn while the heap is too large; an interrupted VM
// is thrown away, because what it had queued is lost.
package script
