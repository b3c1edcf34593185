// Package vm runs JavaScript for many calls at the same time.
//
// A group is the set of VMs of one version of a service. It creates VMs under load and removes VMs that are idle. A
// VM runs one turn at a time. A turn is one uninterrupted run of JavaScript: it starts a function, continues a
// function after an operation has completed, or runs the function of a timer. If the VM is idle, the goroutine that
// has a turn to run runs it directly. If the VM is busy, the goroutine adds the turn to the queue of the VM. Many
// calls share a VM: while one call waits for a promise, turns of other calls run.
//
// A Call is one execution of a function of a script. Its Work decides which function is called and how the result is
// used; see package exchange for requests and package event for events. The current Call and the current Scope (a
// transaction) follow the asynchronous context, as AsyncLocalStorage of Node.js does. If a VM is discarded, calls
// that have not changed any data run again on another VM.
//
// An Operation runs Go code, such as a query, outside of the turns and settles a promise with the result. Use
// VM.AsyncFunction to define a function that returns such a promise.
//
// A Watchdog interrupts turns that use too much CPU time. If the heap is too large, it interrupts the turn that has
// run longest. An interrupted VM is discarded, because goja loses its queue of pending promise callbacks.
//
// A binding is a struct that adds objects for scripts to a VM. It embeds the VM, keeps its own caches, and is created
// by package script. Work finds the binding of its VM with BindingOf. Data that belongs to one call is kept with
// LocalOf.
package vm
