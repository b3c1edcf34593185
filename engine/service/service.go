package service

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"restsrv/engine"
)

// Service answers the requests under /rest/{name}. Both builtins and scripts implement
// it. A value is one immutable version of the service; a reload creates a new one.
type Service interface {
	// Routes lists the routes of the service; the first that matches is used.
	Routes() []Route
	// Errors returns the form of the service's error answers.
	Errors() ErrorForm
}

// Route binds a method and a path to a handler. Path is relative to the service and
// written as in Express 4: "/", "/:class/:id", "/:id?", "/:id(\\d+)", "*". Matching
// ignores case and a trailing slash. A GET route also answers HEAD, unless HEAD has a
// route of its own.
type Route struct {
	Method  string
	Path    string
	MaxBody int64 // bytes; 0 means DefaultMaxBody
	Handler Handler
}

// DefaultMaxBody is the default of Route.MaxBody.
const DefaultMaxBody = 10 << 20

// Handler answers the requests of a route. It returns failures and must not write them.
type Handler func(ctx context.Context, r *Request) (*Response, error)

// ErrorForm is the form of a service's error answers. If a request fails before the
// service is called, TextErrors and PageErrors use the messages of IONDV.
type ErrorForm int

// The forms of error answers.
const (
	ProblemErrors ErrorForm = iota // application/problem+json, RFC 9457
	TextErrors                     // the message only: custom services
	PageErrors                     // 400 and an HTML page: acceptor
)

// Request is a request as a handler gets it.
type Request struct {
	ID       string // request id, which every log line about the request contains
	Service  string
	Method   string
	Path     string // relative to the service, escaped, begins with "/"
	RawQuery string
	Header   http.Header
	Params   []Param // decoded parameters of the route's path
	Account  *engine.Account
	Host     string // as sent by the client
	Secure   bool   // the request arrived over TLS
	RemoteIP string
	Body     io.Reader     // returns TooLarge after the MaxBody of the route
	Input    engine.Memory // limits the memory for the body; nil means no limit
	Answer   engine.Memory // limits the memory for the answer; nil means no limit

	query url.Values
	read  []byte
	done  bool

	received, admitted int // bytes of the body that have arrived, and bytes of memory that are reserved for it
}

// Param is a named part of the path.
type Param struct{ Name, Value string }

// Param returns the decoded path parameter with that name, or "".
func (r *Request) Param(name string) string {
	for _, p := range r.Params {
		if p.Name == name {
			return p.Value
		}
	}
	return ""
}

// Query returns the query parameters. If the query is malformed, the error is Invalid.
func (r *Request) Query() (url.Values, error) {
	if r.query == nil {
		if r.RawQuery == "" {
			r.query = url.Values{}
			return r.query, nil
		}
		q, err := url.ParseQuery(r.RawQuery)
		if err != nil {
			return nil, engine.Errorf(engine.Invalid, "query", "the query string is malformed")
		}
		r.query = q
	}
	return r.query, nil
}

// ReadBody returns the whole body. The error is TooLarge if the body exceeds the limit of the
// route. It is Invalid if the client sent fewer bytes than it announced, or if it declares a
// charset other than UTF-8 for JSON. It is Unavailable if there is no memory for the body.
func (r *Request) ReadBody() ([]byte, error) {
	if r.done || r.Body == nil {
		return r.read, nil
	}
	n := r.announcedLength()
	b := make([]byte, 0, min(n, engine.SmallBytes)+bytes.MinRead)
	for src := (&stream{r: r}); ; {
		if len(b) == cap(b) {
			b = slices.Grow(b, max(len(b), min(n-len(b), 1<<20)+bytes.MinRead))
		}
		k, err := src.Read(b[len(b):cap(b)])
		b = b[:len(b)+k]
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	r.read, r.done = b, true
	return r.read, nil
}

// announcedLength returns the Content-Length, or 0 if there is none.
func (r *Request) announcedLength() int {
	n, _ := strconv.Atoi(r.Header.Get("Content-Length"))
	return max(n, 0)
}

// admitBytes reserves memory when n more bytes of the body have arrived. Up to SmallBytes, a
// body needs no reservation. Beyond that, admitBytes waits until there is memory for the
// announced length. If the body is longer than announced, or has no announced length, admitBytes
// reserves more memory as it arrives. If there is no memory then, it does not wait but returns
// an error.
func (r *Request) admitBytes(n int) error {
	r.received += n
	if r.received <= max(r.admitted, engine.SmallBytes) || r.Input == nil {
		return nil
	}
	if r.admitted == 0 {
		r.admitted = max(r.announcedLength(), 4*engine.SmallBytes)
		return r.Input.Wait(r.admitted)
	}
	if r.admitted = 2 * r.received; !r.Input.Try(r.admitted) {
		return &engine.Error{Code: engine.Unavailable, Reason: "body-bytes", Message: "the bodies of other requests leave no memory for a body of this size; try again later"}
	}
	return nil
}

// Stream returns the body for a caller that reads it in parts. The body can be read only once,
// unless ReadBody has read it before. The reader returns the same errors as ReadBody.
func (r *Request) Stream() io.Reader {
	if r.done || r.Body == nil {
		return bytes.NewReader(r.read)
	}
	return &stream{r: r}
}

type stream struct {
	r     *Request
	begun bool
}

// Read implements io.Reader.
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.r.Body.Read(p)
	if n > 0 && !s.begun {
		s.begun = true
		if err := s.r.checkCharset(); err != nil {
			return 0, err
		}
	}
	if err == nil || err == io.EOF {
		if refused := s.r.admitBytes(n); refused != nil {
			return 0, refused
		}
		return n, err
	}
	var e *engine.Error
	if errors.As(err, &e) {
		return n, e
	}
	return n, &engine.Error{Code: engine.Invalid, Reason: "body", Message: "the body could not be read", Err: err}
}

// checkCharset refuses JSON in an encoding other than UTF-8, which is the only encoding
// of JSON (RFC 8259 section 8.1).
func (r *Request) checkCharset() error {
	header := r.Header.Get("Content-Type")
	if !strings.Contains(header, "=") { // nearly always, so that there is no need to parse
		return nil
	}
	t, params, err := mime.ParseMediaType(header)
	if err != nil || t != "application/json" && !strings.HasSuffix(t, "+json") {
		return nil
	}
	switch charset := strings.ToLower(params["charset"]); charset {
	case "", "utf-8", "utf8", "us-ascii":
		return nil
	default:
		return engine.Errorf(engine.Invalid, "charset", "JSON is sent as UTF-8, found charset %s", engine.Quote(charset))
	}
}

// MediaType returns the media type of the body in lower case, without parameters. It
// returns "" if the header is missing or malformed.
func (r *Request) MediaType() string {
	t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return t
}

// Handling returns the handling that the client prefers: the header Prefer contains
// handling=strict or handling=lenient (RFC 7240 section 4.4). If there is no such header, it
// returns def.
func (r *Request) Handling(def engine.Handling) engine.Handling {
	for _, line := range r.Header["Prefer"] {
		for _, p := range strings.FieldsFunc(line, func(c rune) bool { return c == ',' || c == ';' }) {
			switch strings.ToLower(strings.NewReplacer(" ", "", `"`, "").Replace(p)) {
			case "handling=strict":
				return engine.Strict
			case "handling=lenient":
				return engine.Lenient
			}
		}
	}
	return def
}

// Response is the answer of a handler.
type Response struct {
	Status      int    // 0 means 200
	ContentType string // "" sends no header
	ETag        string // if "", answers to GET get a weak ETag
	Header      http.Header
	Body        []byte
	Done        func() // called after Body has been sent and may be reused; may be nil
	Stream      Stream // used instead of Body if it is not nil
}

// Stream is the body of a response that is produced while it is sent.
type Stream interface {
	// Send writes the body. If it returns an error, the body is not complete: the server then closes the
	// connection, so that the client notices.
	Send(w StreamWriter) error
	// Close releases the resources of the stream. It is called once, even if Send is not called.
	Close()
}

// StreamWriter receives the body of a response. Write blocks while the client does not read.
type StreamWriter interface {
	io.Writer
	// Flush sends the bytes that have been written.
	Flush() error
}

// JSON returns a response with status 200 and the given JSON.
func JSON(body []byte) *Response {
	return &Response{ContentType: "application/json; charset=utf-8", Body: body}
}

// SetHeader adds a header line to the response.
func (r *Response) SetHeader(name, value string) {
	if r.Header == nil {
		r.Header = make(http.Header)
	}
	r.Header.Add(name, value)
}

// maxWarning is the approximate limit of the text of a Warning header in bytes.
const maxWarning = 1 << 10

// Warn adds a Warning header (RFC 7234 section 5.5) that lists ignored names, and returns its
// text for the log. The names come from the client, so their length is limited: at most ten
// names are listed, long names are cut, and the text has about 1 KiB at most. Characters that a
// header cannot contain are escaped.
func (r *Response) Warn(what string, names []string) string {
	var b strings.Builder
	b.WriteString(what + ":")
	for i, name := range names {
		name = " " + engine.Cut(name, 80)
		if i == 10 || len(strconv.QuoteToASCII(b.String()+name)) > maxWarning {
			b.WriteString(" ...")
			break
		}
		if b.WriteString(name); i < len(names)-1 {
			b.WriteByte(',')
		}
	}
	text := strconv.QuoteToASCII(b.String())
	r.SetHeader("Warning", "299 - "+text)
	return text
}

// Cursors converts a position in a list to a text, the cursor, and back. A client can send a
// cursor back, but cannot read it, change it or use it for another list. query.CursorKey
// implements Cursors.
type Cursors interface {
	// Encode returns the cursor for the end of a page: a text of less than 1 KiB. q is the query
	// of the list. page has the positions of the last items of the page: of query.CursorItems
	// items, or of all items if the page has fewer. next is the position of the first item after
	// the page, or nil if it is not known.
	Encode(q *engine.Query, page []engine.Position, next *engine.Position) string
	// Decode reads a cursor that Encode wrote for a list of the same class, filter, order
	// and search. The error is Invalid.
	Decode(q *engine.Query, cursor string) (*engine.Position, error)
}

// Module creates a service from its options in deploy.json. The error describes the mistake in
// one line; the mistake may be in the options or in the script.
type Module func(env *Env, options Options) (Service, error)

// Env has the parts of the server that a module can use.
type Env struct {
	Service string // name under which the service is registered
	Meta    engine.MetaRepository
	Data    engine.Repository // checks the permissions of the account in ctx
	Tokens  engine.TokenIssuer
	Files   engine.FileStorage // default of the option fileStorage
	Replays Replays
	Cursors Cursors
	Audit   engine.Auditor
	Access  engine.Access
	Log     *slog.Logger

	Workflows    engine.Workflows
	Settings     Settings     // settings of deploy.json, for scripts
	Presentation Presentation // user interface of the application; nil if it is unknown
}
