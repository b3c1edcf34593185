package engine

// SmallBytes is the length up to which a body or an answer needs no reservation of
// memory.
const SmallBytes = 64 << 10

// Memory is the reservation of one request in the memory that all requests share
// for bodies, or for answers. It is released when the request ends.
type Memory interface {
	// Try raises the reservation to a number of bytes if they are free, and
	// reports whether they were. It does not wait, so the caller may hold a
	// connection of the database.
	Try(bytes int) bool
	// Wait releases the reservation and waits until a number of bytes is free. The
	// caller must hold nothing that other requests wait for, such as a connection
	// of the database. Errors: Unavailable when the bytes are not free in time,
	// Timeout when the request ends.
	Wait(bytes int) error
}
