package engine

import "context"

// Replays remembers the answers of requests that carry an Idempotency-Key, so
// that a client that lost an answer may ask again and nothing is done twice.
// Package engine/replay keeps them in the database.
type Replays interface {
	// Begin claims a key in a scope, such as an account and a service, for a
	// request. Errors: Invalid when the key is not 1 to 255 printable
	// characters, Unprocessable when another request had the key before,
	// Conflict when the same one is still running, TooMany or Unavailable when
	// too much is stored for the account of ctx or in all.
	Begin(ctx context.Context, scope, key string, request []byte) (Attempt, error)
}

// Attempt is a request that has claimed its key. It ends with Finish or
// Failed, unless it has an Answer.
type Attempt interface {
	// Answer is that of the first request; nil when this is the first, or its
	// answer was not kept.
	Answer() *Response
	// Rights is what Finish was given with the answer.
	Rights() string
	// Saved is what the first request saved. Without an answer its process was
	// cut off, or the answer was too long to be kept. Nil when there was no such
	// request.
	Saved() []SavedItem
	// Record is saved after everything else that the request saves, in the
	// same transaction: from then on the request counts as done.
	Record() Record
	// Finish keeps the answer, unless it is too long. rights is a text that
	// changes with what the account may read.
	Finish(ctx context.Context, answer *Response, rights string)
	// Failed gives the key up and returns the error to answer.
	Failed(ctx context.Context, err error) error
}

// SavedItem names an item.
type SavedItem struct{ Class, ID string }

// Converter translates what the acceptor takes and answers.
type Converter interface {
	// Parse makes the records of a request from its body: decoded JSON when it
	// is JSON, a string when it is other text, else []byte. It returns decoded
	// JSON.
	Parse(ctx context.Context, r *Request, body any) (any, error)
	// Respond makes the answer from what was saved; nil leaves it to the
	// acceptor.
	Respond(ctx context.Context, r *Request, items []*Item) (*Response, error)
}
