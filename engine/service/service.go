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

// Service handles the requests under /rest/{name}. Services in Go and scripts implement it. A value is one immutable
// version of the service; a reload creates a new value.
type Service interface {
	// Routes lists the routes of the service. The first route that matches a request is used.
	Routes() []Route
	// Errors returns the form of the service's error responses.
	Errors() ErrorForm
}

// Route binds a method and a path to a handler. Path is relative to the service and written as in Express 4: "/",
// "/:class/:id", "/:id?", "/:id(\\d+)", "*". Matching ignores letter case and a slash at the end. A GET route also
// handles HEAD if there is no route for HEAD with the same path.
type Route struct {
	Method  string
	Path    string
	MaxBody int64 // bytes; 0 means DefaultMaxBody
	Handler Handler
}

// DefaultMaxBody is the default of Route.MaxBody.
const DefaultMaxBody = 10 << 20

// Handler handles the requests of a route. It must return failures as errors, not write them to a response.
type Handler func(ctx context.Context, r *Request) (*Response, error)

// ErrorForm is the form of a service's error responses. If a request fails before the service is called, TextErrors
// and PageErrors use the messages of IONDV.
type ErrorForm int

// The forms of error answers.
const (
	ProblemErrors ErrorForm = iota // application/problem+json, RFC 9457
	TextErrors                     // only the message; used by custom services
	PageErrors                     // status 400 and an HTML page; used by the acceptor
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
	Body     io.Reader     // returns TooLarge after MaxBody bytes of the route
	Input    engine.Memory // limits the memory for the body; nil means no limit
	Answer   engine.Memory // limits the memory for the response; nil means no limit

	query url.Values
	read  []byte
	done  bool

	received, admitted int // bytes of the body that have arrived, and bytes of memory that are reserved for it
}

// Param is a named part of the path of a request.
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

// ReadBody returns the whole body. Errors:
//   - TooLarge if the body exceeds the limit of the route
//   - Invalid if the client sent fewer bytes than announced, or declared a charset other than UTF-8 for JSON
//   - Unavailable if there is no memory for the body
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

// admitBytes must be called when n more bytes of the body have arrived. It reserves memory for them. Up to SmallBytes,
// a body needs no reservation. Then admitBytes reserves the announced length, and waits until there is enough memory.
// If the body is longer than announced, or has no announced length, admitBytes reserves more memory as the bytes
// arrive. In this case it does not wait, but returns an error if there is not enough memory.
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

// Stream returns the body for a caller that reads it in parts. The body can be read only once, except if ReadBody has
// read it before. The reader returns the same errors as ReadBody.
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

// checkCharset refuses JSON in an encoding other than UTF-8, because RFC 8259 section 8.1 allows only UTF-8.
func (r *Request) checkCharset() error {
	header := r.Header.Get("Content-Type")
	if !strings.Contains(header, "=") { // true for nearly all requests, and saves the parsing
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

// Handling returns the handling that the client prefers, if the header Prefer contains handling=strict or
// handling=lenient (RFC 7240 section 4.4). Otherwise it returns def.
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

// Response is the result of a handler.
type Response struct {
	Status      int    // 0 means 200
	ContentType string // "" sends no header
	ETag        string // if "", responses to GET get a weak ETag
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

// maxWarning is the approximate maximum length of the text of a Warning header in bytes.
const maxWarning = 1 << 10

// Warn adds a Warning header (RFC 7234 section 5.5) that lists ignored names, and returns the text of the header for
// the log. The names come from the client, so the length is limited: Warn lists at most ten names, cuts long names,
// and writes at most about 1 KiB. It escapes characters that a header cannot contain.
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

// Cursors converts a position in a list to a text, the cursor, and back. A client can send a cursor back, but cannot
// read it, change it or use it for another list. query.CursorKey implements Cursors.
type Cursors interface {
	// Encode returns the cursor for the end of a page, a text of less than 1 KiB. q is the query of the list. page
	// contains the positions of the last items of the page: of query.CursorItems items, or of all items if the page
	// has fewer. next is the position of the first item after the page, or nil if this position is not known.
	Encode(q *engine.Query, page []engine.Position, next *engine.Position) string
	// Decode reads a cursor. Encode must have written the cursor for a list of the same class, filter, order and
	// search; otherwise the error is Invalid.
	Decode(q *engine.Query, cursor string) (*engine.Position, error)
}

// Module creates a service from its options in deploy.json. If the options or the script contain a mistake, the error
// describes it in one line.
type Module func(env *Env, options Options) (Service, error)

// Env contains the parts of the server that a module can use.
type Env struct {
	Service string // name under which the service is registered in deploy.json
	Meta    engine.MetaRepository
	Data    engine.Repository // checks the permissions of the account in the context of a call
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
