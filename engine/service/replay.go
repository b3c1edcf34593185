package service

import (
	"context"

	"restsrv/engine"
)

// Replays stores the answers of requests with an Idempotency-Key, so that a client
// that lost an answer can repeat the request without repeating its effect. Package
// engine/replay stores them in the database.
type Replays interface {
	// Begin claims a key in a scope, such as an account and a service. request is a text that is
	// the same if a client repeats the request. Errors: Invalid if the key is not 1 to 255
	// printable characters. Unprocessable if another request used the key before. Conflict if
	// the first request with the key is still running. TooMany or Unavailable if too much is
	// stored, for the account of ctx or in total.
	Begin(ctx context.Context, scope, key string, request []byte) (Attempt, error)
}

// Attempt is a request that has claimed its key. It must end with Finish or Failed,
// unless it has an Answer.
type Attempt interface {
	// Answer returns the answer of the first request. It is nil if this is the
	// first request, or if the answer was not stored.
	Answer() *Response
	// Rights returns the rights that Finish stored with the answer.
	Rights() string
	// Saved returns the items that the first request has saved, or nil if this is the first
	// request. There may be saved items without an Answer: then the process of the first request
	// has ended early, or the answer was too long to be stored.
	Saved() []SavedItem
	// Record returns a record that must be saved after all other records of the
	// request, in the same transaction. When it is saved, the request counts as done.
	Record() engine.Record
	// Finish stores the answer, unless it is too long. rights is a text that
	// changes with the rights of the account; see RightsOf.
	Finish(ctx context.Context, answer *Response, rights string)
	// Failed releases the key and returns the error for the answer.
	Failed(ctx context.Context, err error) error
}

// SavedItem identifies an item.
type SavedItem struct{ Class, ID string }

// Converter translates the requests and answers of the service acceptor.
type Converter interface {
	// Parse converts the body of a request to records, as decoded JSON. body is
	// decoded JSON if the body is JSON, a string if it is other text, else []byte.
	Parse(ctx context.Context, r *Request, body any) (any, error)
	// Respond makes the answer from the saved items. If it returns nil, the
	// acceptor makes the answer.
	Respond(ctx context.Context, r *Request, items []*engine.Item) (*Response, error)
}
