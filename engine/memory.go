package engine

// SmallBytes is the maximum size of a body or an answer that needs no reservation
// of memory.
const SmallBytes = 64 << 10

// Memory is the reservation of one request in the memory that all requests share
// for bodies, or for answers. It is released when the request ends.
type Memory interface {
	// Try raises the reservation to the given number of bytes if they are free,
	// and reports whether they were. It does not wait, so the caller may hold a
	// database connection.
	Try(bytes int) bool
	// Wait releases the reservation and waits until the given number of bytes is
	// free. The caller must not hold resources for which other requests wait, such
	// as a database connection. Errors: Unavailable if the bytes are not free in
	// time, Timeout if the request ends.
	Wait(bytes int) error
}
