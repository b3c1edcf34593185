package service

import (
	"context"

	"restsrv/engine"
)

// Replays stores the responses to requests with an Idempotency-Key. A client that has lost a response can repeat the
// request without repeating its effect. Package engine/replay implements Replays in the database.
type Replays interface {
	// Begin claims a key in a scope, such as an account and a service. If a client repeats a request, the text request
	// must be the same. Errors:
	//   - Invalid if the key is not 1 to 255 printable characters
	//   - Unprocessable if another request has used the key
	//   - Conflict if the first request with the key is still running
	//   - TooMany or Unavailable if too much is stored, for the account of ctx or in total
	Begin(ctx context.Context, scope, key string, request []byte) (Attempt, error)
}

// Attempt is a request that has claimed its key. If Answer returns nil, the caller must end the attempt with Finish or
// Failed.
type Attempt interface {
	// Answer returns the response to the first request. It is nil if this is the first request, or if the response was
	// not stored.
	Answer() *Response
	// Rights returns the rights that Finish stored with the response.
	Rights() string
	// Saved returns the items that the first request has saved, or nil if this is the first request. There can be
	// saved items although Answer returns nil: the process of the first request may have ended early, or the response
	// was too long to be stored.
	Saved() []SavedItem
	// Record returns a record that must be saved after all other records of the request, in the same transaction. When
	// the record is saved, the request counts as done.
	Record() engine.Record
	// Finish stores the response, unless the response is too long. rights is a text that changes with the rights of
	// the account; see RightsOf.
	Finish(ctx context.Context, answer *Response, rights string)
	// Failed releases the key and returns the error for the response. err is the error of the request.
	Failed(ctx context.Context, err error) error
}

// SavedItem identifies an item.
type SavedItem struct{ Class, ID string }

// Converter translates the requests to the service acceptor and the responses.
type Converter interface {
	// Parse converts the body of a request to records, which it returns as decoded JSON. The type of body is that of
	// decoded JSON if the body is JSON, string if it is other text, and otherwise []byte.
	Parse(ctx context.Context, r *Request, body any) (any, error)
	// Respond makes the response from the saved items. If it returns nil, the acceptor makes the response.
	Respond(ctx context.Context, r *Request, items []*engine.Item) (*Response, error)
}
