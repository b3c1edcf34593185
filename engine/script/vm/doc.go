// Package vm runs JavaScript for many calls at the same time.
//
// A Group has the VMs of one version of a service. It creates VMs under load and removes them when they are idle. A VM
// runs one turn at a time. A turn is the start of a function, the completion of an operation, or a timer. If the VM is
// idle, a goroutine that has a turn runs it itself. If the VM is busy, the goroutine adds the turn to the queue of the
// VM. Many calls share a VM, and each call waits for its own promises.
//
// A Call is one run of a function of a script. Its Work decides which function is called and what becomes of the
// result; see package exchange for requests and package event for events. The current Call and Scope (a transaction)
// belong to the asynchronous context, not to the VM. If a VM is discarded, calls that have not changed anything run
// again on another VM.
//
// An Operation runs Go code, such as a query, outside of the turns and settles a promise with the result. Use
// VM.AsyncFunction to define a function that returns such a promise.
//
// A Watchdog interrupts turns that use too much CPU time. If the heap is too large, it interrupts the longest turn. An
// interrupted VM is discarded, because its queue is lost.
//
// A binding is a struct that adds objects for scripts to a VM. It embeds the VM, keeps its own caches, and is created
// by package script. Work finds the binding of its VM with BindingOf. Data that belongs to one call is kept with
// LocalOf.
package vm
