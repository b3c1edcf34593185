package engine

// SmallBytes is how long a body or an answer may be without a reservation of
// memory.
const SmallBytes = 64 << 10

// Memory is what one request may hold of a memory that all requests share: that
// of bodies, or that of answers. What is reserved is given back with the request.
type Memory interface {
	// Try reserves so many bytes in all and reports whether they are free. It does
	// not wait, so a caller may hold connections of a database.
	Try(bytes int) bool
	// Wait gives back what is reserved and waits for so many bytes. The caller
	// must hold nothing that others wait for. Errors: Unavailable when they are not
	// free soon, Timeout when the request ends.
	Wait(bytes int) error
}
