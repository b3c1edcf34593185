package limits

import (
	"runtime"
	"time"

	"restsrv/engine/service"
)

// Limits are the limits for the scripts of one service. A field that is zero has its default. See package vm for VMs,
// turns and calls.
type Limits struct {
	CPU         time.Duration // CPU time of one turn, default 1 s; if it is exceeded, the service answers 500
	Wall        time.Duration // duration of one call, default 30 s; if it is exceeded, the service answers 504
	Load        time.Duration // CPU time for loading, default 1 s; an async _route may wait five times as long
	CallStack   int           // nested calls, default 1000
	VMs         int           // VMs of the service, default twice the number of processors and at least 4; default 64 if each VM takes one call at a time
	InFlight    int           // calls that share a VM, default 128
	Queue       int           // calls that wait for a VM, default 1024; if there are more, they get 503
	Transaction time.Duration // duration of dataRepo.transaction without the time in the queue, default 5 s
	Idle        time.Duration // time after which unused VMs except one are removed, default 60 s
	Timers      int           // timers of a VM, default 1000
	Source      int           // bytes of a script file, default 4 MiB; bundles of applications have 1 MiB and more
	Response    int           // bytes of a response, default 64 MiB
	Depth       int           // nesting depth of JSON in bodies, JSON.parse and results, default 512
	Rows        int           // items of one getList, default 50,000
	Text        int           // bytes that one built-in function may allocate, default 64 MiB
	Elements    int           // elements that one built-in array function may visit, default 1 million
	Body        int           // bytes of a request body, default 10 MiB
	Shared      int           // bytes of the shared store, default 16 MiB
	Calls       int           // calls after which a VM is replaced, default 10,000

	StreamTime     time.Duration // duration of a streamed body, default 1 h
	StreamGrace    time.Duration // time for which streams continue after their service was reloaded, default 30 s
	StreamBytes    int           // bytes of a streamed answer, default 1 GiB
	Streams        int           // open streamed answers of a service, default 256
	AccountStreams int           // open streamed answers of one account, default 32
	UploadBytes    int           // bytes of a request body that the script reads as a stream, default 1 GiB
	WorkTime       time.Duration // duration of the work that req.waitUntil continues after the answer, default 30 s
	Works          int           // requests of a service with such work, default 256
	AccountWorks   int           // requests of one account with such work, default 32
	WorkPromises   int           // pending promises of one request, default 100
}

// WithDefaults returns l with the defaults in place of its zero fields.
func (l Limits) WithDefaults() Limits {
	return l.OrDefaults(Limits{
		CPU: time.Second, Wall: 30 * time.Second, Load: time.Second, Transaction: 5 * time.Second, Idle: time.Minute,
		CallStack: 1000, VMs: max(4, 2*runtime.GOMAXPROCS(0)), InFlight: 128, Queue: 1024, Timers: 1000,
		Source: 4 << 20, Response: 64 << 20, Depth: 512, Rows: 50_000, Text: 64 << 20, Elements: 1_000_000,
		Body: service.DefaultMaxBody, Shared: 16 << 20, Calls: 10_000,
		StreamTime: time.Hour, StreamGrace: 30 * time.Second, StreamBytes: 1 << 30, Streams: 256, AccountStreams: 32, UploadBytes: 1 << 30,
		WorkTime: 30 * time.Second, Works: 256, AccountWorks: 32, WorkPromises: 100,
	})
}

// OrDefaults returns l with the values of def in place of its zero fields.
func (l Limits) OrDefaults(def Limits) Limits {
	for _, d := range []struct{ to, from *time.Duration }{
		{&l.CPU, &def.CPU}, {&l.Wall, &def.Wall}, {&l.Load, &def.Load}, {&l.Transaction, &def.Transaction}, {&l.Idle, &def.Idle},
		{&l.StreamTime, &def.StreamTime}, {&l.StreamGrace, &def.StreamGrace}, {&l.WorkTime, &def.WorkTime},
	} {
		if *d.to <= 0 {
			*d.to = *d.from
		}
	}
	for _, n := range []struct{ to, from *int }{
		{&l.CallStack, &def.CallStack}, {&l.VMs, &def.VMs}, {&l.InFlight, &def.InFlight}, {&l.Queue, &def.Queue},
		{&l.Timers, &def.Timers}, {&l.Source, &def.Source}, {&l.Response, &def.Response}, {&l.Depth, &def.Depth},
		{&l.Rows, &def.Rows}, {&l.Text, &def.Text}, {&l.Elements, &def.Elements},
		{&l.Body, &def.Body}, {&l.Shared, &def.Shared}, {&l.Calls, &def.Calls},
		{&l.StreamBytes, &def.StreamBytes}, {&l.Streams, &def.Streams}, {&l.AccountStreams, &def.AccountStreams}, {&l.UploadBytes, &def.UploadBytes},
		{&l.Works, &def.Works}, {&l.AccountWorks, &def.AccountWorks}, {&l.WorkPromises, &def.WorkPromises},
	} {
		if *n.to <= 0 {
			*n.to = *n.from
		}
	}
	return l
}
