package deploy

import (
	"slices"
	"time"

	"restsrv/engine/jsonfile"
)

// Limits holds the limits of the scripts of a service, from "limits" in the file. If a limit is 0,
// engine/script uses its default. A VM is one JavaScript runtime of a service. A turn is the time
// during which a VM runs code without waiting, for example up to the next await.
type Limits struct {
	CPUTime         time.Duration // CPU time of one turn
	WallTime        time.Duration // time of one request
	TransactionTime time.Duration // time of one transaction
	LoadTime        time.Duration // CPU time of loading the script
	Idle            time.Duration // idle time after which a VM is discarded
	CallDepth       int
	VMs             int
	InFlight        int // concurrent requests in one VM
	Queue           int // requests that wait for a VM
	BodyBytes       int
	ResponseBytes   int
	JSONDepth       int
	Rows            int // items of one list
	TextBytes       int // bytes that one call of a built-in function may allocate
	Elements        int // elements that one call of a built-in function may visit
	Timers          int // timers of one VM
	SharedBytes     int // bytes of the store that all VMs share

	StreamTime     time.Duration // time of one streamed answer or request body
	StreamGrace    time.Duration // time for which streamed answers continue after a reload
	StreamBytes    int           // bytes of one streamed answer
	Streams        int           // open streamed answers of the service
	AccountStreams int           // open streamed answers of one account
	UploadBytes    int           // bytes of one streamed request body
	WorkTime       time.Duration // time of the work after an answer
	Works          int           // requests with work after their answers
	AccountWorks   int           // requests of one account with such work
	WorkPromises   int           // pending promises of one request with such work
}

// whole is a limit that is a whole number: its name in the file, its place in Limits and its range.
type whole struct {
	name     string
	to       *int
	min, max int64
}

func (l *Limits) wholeLimits() []whole {
	return []whole{
		{"callDepth", &l.CallDepth, 16, 1 << 16}, {"vms", &l.VMs, 1, 1 << 10}, {"inFlight", &l.InFlight, 1, 1 << 20},
		{"queue", &l.Queue, 1, 1 << 20}, {"bodyBytes", &l.BodyBytes, 1, 1 << 30}, {"responseBytes", &l.ResponseBytes, 1, 1 << 30},
		{"jsonDepth", &l.JSONDepth, 1, 5000}, {"rows", &l.Rows, 1, 10_000_000}, {"textBytes", &l.TextBytes, 1 << 10, 1 << 30},
		{"elements", &l.Elements, 1 << 10, 100_000_000}, {"timers", &l.Timers, 1, 1_000_000}, {"sharedBytes", &l.SharedBytes, 1 << 10, 1 << 30},
		{"streamBytes", &l.StreamBytes, 1 << 10, 1 << 50}, {"streams", &l.Streams, 1, 1 << 20}, {"accountStreams", &l.AccountStreams, 1, 1 << 20},
		{"uploadBytes", &l.UploadBytes, 1, 1 << 50},
		{"works", &l.Works, 1, 1 << 20}, {"accountWorks", &l.AccountWorks, 1, 1 << 20}, {"workPromises", &l.WorkPromises, 1, 1 << 20},
	}
}

// span is a limit that is a duration: its name in the file and its place in Limits.
type span struct {
	name string
	to   *time.Duration
}

func (l *Limits) timeLimits() []span {
	return []span{{"cpuTime", &l.CPUTime}, {"wallTime", &l.WallTime}, {"transactionTime", &l.TransactionTime}, {"loadTime", &l.LoadTime}, {"idle", &l.Idle},
		{"streamTime", &l.StreamTime}, {"streamGrace", &l.StreamGrace}, {"workTime", &l.WorkTime}}
}

func limitNames() (names []string) {
	var l Limits
	for _, t := range l.timeLimits() {
		names = append(names, t.name)
	}
	for _, n := range l.wholeLimits() {
		names = append(names, n.name)
	}
	return names
}

// heapName is the limit of the heap, which applies to all services together.
const heapName = "heapBytes"

// globalLimits reads the limits that apply to all services, and the limit of the heap of the
// process.
func (l *loader) globalLimits(o jsonfile.Object) {
	in, ok := o.Child("limits")
	if !ok {
		return
	}
	in.WarnRepeated()
	in.WarnUnknown(append(limitNames(), heapName))
	l.config.Limits.read(in)
	if n, ok := in.Whole(heapName, 16<<20, 1<<40); ok {
		l.config.HeapBytes = n
	}
}

// readLimits reads the limits of one service. Limits that it does not set are taken from def.
func readLimits(o jsonfile.Object, def Limits) Limits {
	in, ok := o.Child("limits")
	if !ok {
		return def
	}
	in.WarnRepeated()
	names := limitNames()
	if in.Value(heapName) != nil {
		in.Warn(in.At(heapName), "a limit of one service", "it among the limits of all, beside di: the services share one heap")
		names = append(slices.Clip(names), heapName)
	}
	in.WarnUnknown(names)
	def.read(in)
	return def
}

func (l *Limits) read(in jsonfile.Object) {
	for _, t := range l.timeLimits() {
		*t.to = readSeconds(in, t.name, time.Millisecond, *t.to)
	}
	for _, n := range l.wholeLimits() {
		if v, ok := in.Whole(n.name, n.min, n.max); ok {
			*n.to = int(v)
		}
	}
}
