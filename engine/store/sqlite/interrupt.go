package sqlite

import (
	"context"
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"

	"restsrv/engine/store/sqldb"
)

// Interrupt implements sqldb.Dialect. The driver is not sufficient: it would watch the context of a statement only
// until the first row is available, and start a goroutine for this. SQLite itself can be interrupted at any time and
// from any thread while the connection is open. This requires the handle of the connection. The driver does not export
// it, so it is read by reflection. If that fails, statements run with their context and without ticks.
func (dialect) Interrupt(_ context.Context, driverConn any) (sqldb.Interrupt, error) {
	unknown := sqldb.Interrupt{Spends: true}
	v := reflect.ValueOf(driverConn)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return unknown, nil
	}
	handle := v.Elem().FieldByName("db")
	if handle.Kind() != reflect.Uintptr || handle.Uint() == 0 {
		return unknown, nil
	}
	db := uintptr(handle.Uint())
	disableMutex(db)
	i := sqldb.Interrupt{End: func() { sqlite3.Xsqlite3_interrupt(nil, db) }} // cheap: a single atomic store
	tls := v.Elem().FieldByName("tls")
	if !tls.IsValid() || tls.Type() != reflect.TypeFor[*libc.TLS]() || tls.IsNil() {
		return i, nil
	}
	i.Tick = func(steps int, tick func() bool) {
		id := uintptr(lastTicker.Add(1))
		tickers.Store(id, tick)
		i.Close = func() { tickers.Delete(id) }
		sqlite3.Xsqlite3_progress_handler((*libc.TLS)(tls.UnsafePointer()), db, int32(steps), progressFunction, id)
	}
	return i, nil
}

// disableMutex makes SQLite work without the mutex of a connection, which it would lock several times for each row and
// each value. The effect is that of SQLITE_OPEN_NOMUTEX, which the driver does not offer. The mutex is not needed:
// only one goroutine at a time uses a connection, which database/sql and the memory of the driver require anyway.
// Other goroutines may call sqlite3_interrupt, but this function does not use the mutex.
func disableMutex(db uintptr) {
	(*sqlite3.Tsqlite3)(pointerTo(db)).Fmutex = 0
}

// pointerTo converts the address of memory that SQLite allocated outside of Go's heap.
func pointerTo(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// tickers maps a number to the tick function of each open connection. SQLite passes the number to handleProgress,
// because SQLite cannot store a Go pointer.
var (
	tickers    sync.Map
	lastTicker atomic.Int64
)

// progressFunction is handleProgress as a pointer to a C function. The conversion is the same as in the function
// cFuncPointer of the driver.
var progressFunction = *(*uintptr)(unsafe.Pointer(&struct {
	call func(*libc.TLS, uintptr) int32
}{handleProgress}))

// handleProgress is the progress handler for SQLite. If it returns a number other than 0, SQLite ends the statement.
func handleProgress(_ *libc.TLS, id uintptr) int32 {
	if tick, ok := tickers.Load(id); ok && !tick.(func() bool)() {
		return 1
	}
	return 0
}
