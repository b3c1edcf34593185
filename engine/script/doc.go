// Package script runs services written in JavaScript. It wraps the JavaScript engine: it loads and compiles script
// files, runs them in virtual machines (VMs), provides the objects that scripts use (dataRepo, metaRepo, req,
// console ...), enforces the limits that keep a faulty script from harming others, and replaces a script when its
// file changes. HTTP is in engine/rest, file watching in engine/watch, and storage behind engine.Repository.
//
// Reading order: runtime.go and generation.go (one loaded version of a service, an engine.Service), resolve.go,
// modules.go, packages.go and source.go (how files are found and compiled), load.go, route.go and initialize.go (how
// a file becomes a service), group.go and vm.go (where calls run), call.go (one request), body.go, intake.go and
// multipart.go (request bodies), result.go, writer.go and failure.go (responses).
//
// Objects for scripts: host.go and platform.go (globals), request.go, component.go (components in options),
// repository.go, reading.go, writing.go and item.go (data), transaction.go (transactions), events.go and
// eventwrite.go (listeners for writes), meta.go (classes), presentation.go and concealed.go (classes as an account
// sees them), storage.go (files), user.go, auth.go and acl.go (accounts and permissions), shared.go (data shared by
// VMs), converter.go (converters of the acceptor).
//
// Limits: limits.go, watchdog.go, heap.go, metrics.go, and the guards (guard.go, guardwords.go, guardtext.go,
// guardsyntax.go, nesting.go, rewrite.go, patience.go). Reload: manager.go and managed.go. Development: excerpt.go
// (source around a failure), probe.go and watched.go (module variables), suite.go and testing.go (tests of scripts).
//
// How a call runs: a service has a small group of VMs. A VM runs one turn at a time. A turn is the start of a
// handler, the completion of an awaited operation, or a timer. If the VM is idle, a goroutine that has a turn runs
// it itself. If the VM is busy, the goroutine adds the turn to the queue of the VM. Many calls share a VM, and each
// waits for its own promises. The account that dataRepo acts for belongs to the asynchronous context, not to the VM;
// so does the transaction of a call. Classes are looked up in the view of the repository whose method names them.
// metaRepo returns the views of the account, unless the options name a repository that hides nothing. A watchdog
// interrupts a turn that uses too much CPU time. If the heap is too large, it interrupts the longest turn. An
// interrupted VM is discarded, because its queue is lost.
package script
