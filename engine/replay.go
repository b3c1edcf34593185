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
	// Answer returns the answer of the first request. It is nil if this is the
	// first request, or if the answer was not stored.
	Answer() *Response
	// Rights returns the rights that Finish has stored with the answer.
	Rights() string
	// Saved returns what the first request saved, nil if there was no such
	// request. If there is no answer, the process of the first request ended early,
	// or the answer was too long to be stored.
	Saved() []SavedItem
	// Record is saved after everything else that the request saves, in the
	// same transaction: from then on the request counts as done.
	Record() Record
	// Finish stores the answer, unless it is too long. rights is a text that
	// changes with the rights of the account; see RightsOf.
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
