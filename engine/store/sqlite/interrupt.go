package sqlite

import (
	"context"
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"

	"restsrv/engine/store"
)

// Interrupt is store.Dialect's. The driver watches the context only until the
// first row is there, and pays a goroutine for it; SQLite itself can be told
// at any time, from any thread, while the connection is open. The driver does
// not hand out what that takes, so it is read from the connection; without it
// statements run with their context and without ticks.
func (dialect) Interrupt(_ context.Context, driverConn any) (store.Interrupt, error) {
	unknown := store.Interrupt{Spends: true}
	v := reflect.ValueOf(driverConn)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return unknown, nil
	}
	handle := v.Elem().FieldByName("db")
	if handle.Kind() != reflect.Uintptr || handle.Uint() == 0 {
		return unknown, nil
	}
	db := uintptr(handle.Uint())
	unlock(db)
	i := store.Interrupt{End: func() { sqlite3.Xsqlite3_interrupt(nil, db) }} // one atomic store
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

// unlock has SQLite work without the mutex of a connection, as it does when the
// connection is opened with SQLITE_OPEN_NOMUTEX, which the driver does not offer.
// SQLite would lock it several times for each row and each value. Only one
// goroutine at a time uses a connection: database/sql and the driver's own
// memory require that too. The exception is sqlite3_interrupt, which does not
// need the mutex.
func unlock(db uintptr) {
	(*sqlite3.Tsqlite3)(pointer(db)).Fmutex = 0
}

// pointer is the address of memory that SQLite allocated outside of Go's heap.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// tickers has the tick function of each open connection by a number, which
// SQLite passes to progress: it cannot hold a Go pointer.
var (
	tickers    sync.Map
	lastTicker atomic.Int64
)

// progressFunction is progress as the pointer to a C function, in the way of the
// driver (cFuncPointer).
var progressFunction = *(*uintptr)(unsafe.Pointer(&struct {
	call func(*libc.TLS, uintptr) int32
}{progress}))

// progress is a progress handler of SQLite, which ends the statement when it
// returns a number other than 0.
func progress(_ *libc.TLS, id uintptr) int32 {
	if tick, ok := tickers.Load(id); ok && !tick.(func() bool)() {
		return 1
	}
	return 0
}
