package engine

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
)

// Service answers the requests under /rest/{name}. Builtins and scripts
// implement it alike; one value is one immutable version of the service, a
// reload makes a new one.
type Service interface {
	// Routes lists what the service answers; the first that matches wins.
	Routes() []Route
	// Errors says in which form its failures are answered.
	Errors() ErrorForm
}

// Route binds a method and a path to a handler. Path is relative to the
// service and written as in Express 4: "/", "/:class/:id", "/:id?",
// "/:id(\\d+)", "*". Matching ignores case and a trailing slash. GET routes
// answer HEAD too unless HEAD has a route of its own.
type Route struct {
	Method  string
	Path    string
	MaxBody int64 // bytes; 0 means DefaultMaxBody
	Handler Handler
}

// DefaultMaxBody is the largest request body of a route that says nothing.
const DefaultMaxBody = 10 << 20

// Handler answers one route. A failure is returned, never written.
type Handler func(ctx context.Context, r *Request) (*Response, error)

// ErrorForm is the form in which a service answers failures. What fails before
// the service is called, TextErrors and PageErrors tell in the ancestor's words.
type ErrorForm int

// The forms.
const (
	ProblemErrors ErrorForm = iota // application/problem+json, RFC 9457
	TextErrors                     // the bare message: custom services, interface.md "Custom services" 5
	PageErrors                     // 400 and an HTML page: acceptor, interface.md "POST acceptor" 4
)

// Request is what a handler sees of a request.
type Request struct {
	ID       string // request id, in every log line about it
	Service  string
	Method   string
	Path     string // relative to the service, escaped, begins with "/"
	RawQuery string
	Header   http.Header
	Params   []Param // from the route's path, decoded
	Account  *Account
	Host     string // as the client sent it
	Secure   bool   // came by TLS
	RemoteIP string
	Body     io.Reader // ends with TooLarge past the route's MaxBody
	Input    Memory    // for the body; nil for no limit
	Answer   Memory    // for the answer; nil for no limit

	query url.Values
	read  []byte
	done  bool

	received, admitted int // bytes of the body: read so far, and reserved
}

// Param is a named part of the path.
type Param struct{ Name, Value string }

// Param returns the decoded path parameter of that name, or "".
func (r *Request) Param(name string) string {
	for _, p := range r.Params {
		if p.Name == name {
			return p.Value
		}
	}
	return ""
}

// Query returns the query parameters. A malformed query is Invalid.
func (r *Request) Query() (url.Values, error) {
	if r.query == nil {
		if r.RawQuery == "" {
			r.query = url.Values{}
			return r.query, nil
		}
		q, err := url.ParseQuery(r.RawQuery)
		if err != nil {
			return nil, Errorf(Invalid, "query", "the query string is malformed")
		}
		r.query = q
	}
	return r.query, nil
}

// ReadBody returns the whole body. Errors: TooLarge, Invalid when the client
// sent less than it announced or says that its JSON is not UTF-8.
func (r *Request) ReadBody() ([]byte, error) {
	if r.done || r.Body == nil {
		return r.read, nil
	}
	n := r.announced()
	b := make([]byte, 0, min(n, SmallBytes)+bytes.MinRead)
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

// announced returns the Content-Length, 0 if there is none.
func (r *Request) announced() int {
	n, _ := strconv.Atoi(r.Header.Get("Content-Length"))
	return max(n, 0)
}

// admit reserves memory for n more bytes of the body. When more than SmallBytes
// have arrived, it waits for the memory of the announced length. A body that is
// longer than that, or of unknown length, is refused if there is no memory for more.
func (r *Request) admit(n int) error {
	r.received += n
	if r.received <= max(r.admitted, SmallBytes) || r.Input == nil {
		return nil
	}
	if r.admitted == 0 {
		r.admitted = max(r.announced(), 4*SmallBytes)
		return r.Input.Wait(r.admitted)
	}
	if r.admitted = 2 * r.received; !r.Input.Try(r.admitted) {
		return &Error{Code: Unavailable, Reason: "body-bytes", Message: "the bodies of other requests leave no memory for a body of this size; try again later"}
	}
	return nil
}

// Stream returns the body for a caller that needs a part of it at a time. It
// is read once, unless ReadBody has it. Errors of reading are those of ReadBody.
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

// Read is io.Reader's.
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.r.Body.Read(p)
	if n > 0 && !s.begun {
		s.begun = true
		if err := s.r.checkCharset(); err != nil {
			return 0, err
		}
	}
	if err == nil || err == io.EOF {
		if refused := s.r.admit(n); refused != nil {
			return 0, refused
		}
		return n, err
	}
	var e *Error
	if errors.As(err, &e) {
		return n, e
	}
	return n, &Error{Code: Invalid, Reason: "body", Message: "the body could not be read", Err: err}
}

// checkCharset refuses JSON in another encoding than UTF-8, which is the only
// one it has (RFC 8259 section 8.1).
func (r *Request) checkCharset() error {
	header := r.Header.Get("Content-Type")
	if !strings.Contains(header, "=") { // as nearly always: nothing to parse
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
		return Errorf(Invalid, "charset", "JSON is sent as UTF-8, found charset %s", Quote(charset))
	}
}

// MediaType returns the media type of the body in lower case, without
// parameters; "" when none is given or it is malformed.
func (r *Request) MediaType() string {
	t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return t
}

// Handling returns what the client prefers (Prefer: handling=strict or lenient,
// RFC 7240 section 4.4), else def.
func (r *Request) Handling(def Handling) Handling {
	for _, line := range r.Header["Prefer"] {
		for _, p := range strings.FieldsFunc(line, func(c rune) bool { return c == ',' || c == ';' }) {
			switch strings.ToLower(strings.NewReplacer(" ", "", `"`, "").Replace(p)) {
			case "handling=strict":
				return Strict
			case "handling=lenient":
				return Lenient
			}
		}
	}
	return def
}

// Response is what a handler answers.
type Response struct {
	Status      int    // 0 means 200
	ContentType string // "" sends none
	ETag        string // "" lets GET answers get a weak one
	Header      http.Header
	Body        []byte
	Done        func() // called once Body has been sent and may be used again; nil for nothing
}

// JSON makes a 200 response of ready JSON.
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

// maxWarning bounds the text of a Warning header, in bytes before its end.
const maxWarning = 1 << 10

// Warn adds a Warning header (RFC 7234 section 5.5) that names what was passed
// over, and returns its text for the log. The names are the client's: at most
// ten are told, each cut as in Quote, within about 1 KiB, and what a header
// cannot hold is escaped.
func (r *Response) Warn(what string, names []string) string {
	var b strings.Builder
	b.WriteString(what + ":")
	for i, name := range names {
		name = " " + Cut(name, 80)
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

// Cursors write positions in lists so that clients can hand them back and
// neither read nor change nor use them for another list. CursorKey is one.
type Cursors interface {
	// Encode writes the position behind the last item of a page of the list of q,
	// in less than 1 KiB. The page is given as the positions of its last items,
	// CursorItems or, if it is shorter, all of them; next is that of the item behind,
	// nil if that is not known.
	Encode(q *Query, page []Position, next *Position) string
	// Decode reads what Encode wrote for a list of the same class, filter,
	// order and search. The error is Invalid.
	Decode(q *Query, cursor string) (*Position, error)
}

// Module builds a service from its options; deploy.json names it. The error
// says in one line what is wrong with the options or the script.
type Module func(env *Env, options Options) (Service, error)

// Env is what the server lends a module.
type Env struct {
	Service string // the name it is registered under
	Meta    MetaRepository
	Data    Repository // checks the permissions of the account in ctx
	Tokens  TokenIssuer
	Files   FileStorage // what fileStorage is when a service does not name it
	Replays Replays
	Cursors Cursors
	Audit   Auditor
	Access  Access
	Log     *slog.Logger

	Workflows    Workflows
	Settings     Settings     // what deploy.json says, for scripts
	Presentation Presentation // how the application is shown; nil when it is not known
}
