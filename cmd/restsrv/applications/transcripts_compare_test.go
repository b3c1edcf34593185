package applications

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// passing lists patterns of values that are different in each run: generated ids, ids of files,
// times, and tokens, which are shortened in the record. theirs is the form in the record, ours
// the form in restsrv.
var passing = []struct{ theirs, ours string }{
	{`[0-9a-f]{8}-[0-9a-f]{4}-11f1-[0-9a-f]{4}-[0-9a-f]{12}`, `[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`},
	{`\bcm[0-9a-z]{23}\b`, `\b[a-z2-7]{26}\b`},
	{`\b2026-11-\d\dT[\d:.]+Z`, `\b20(?:2[6-9]|[3-9]\d)-\d\d-\d\dT[\d:.]+Z`},
	{`<[0-9a-f]{6}…>`, `\b[0-9a-f]{40}\b`},
}

var passingOurs, passingTheirs = anyOf(func(i int) string { return passing[i].ours }), anyOf(func(i int) string { return passing[i].theirs })

func anyOf(pattern func(i int) string) *regexp.Regexp {
	var all []string
	for i := range passing {
		all = append(all, "("+pattern(i)+")")
	}
	return regexp.MustCompile(strings.Join(all, "|"))
}

// masked replaces the values in a text of restsrv that are different in each run.
func masked(s string) string {
	return passingOurs.ReplaceAllString(oursAlone.ReplaceAllString(s, "${1}…"), "…")
}

// oursAlone matches ids of requests and of tokens, which IONDV does not send.
var oursAlone = regexp.MustCompile(`("requestId":")[^"]*|(\b)[0-9a-f]{16}\b`)

// counterparts maps values of the record that match passing to the values in the answers of
// restsrv.
type counterparts map[string]string

// same reports whether a text of restsrv is equal to the recorded text. A value that is different
// in each run may have any value of its kind where it first occurs, and must have the same value
// later. … stands for omitted text. If prefix is set, more text may follow.
func (k counterparts) same(theirs, ours string, prefix bool) bool {
	var pattern strings.Builder
	var names []string
	at := 0
	literally := func(s string) {
		pattern.WriteString(leftOut.ReplaceAllString(regexp.QuoteMeta(s), `(?s:.*)`))
	}
	for _, m := range passingTheirs.FindAllStringSubmatchIndex(theirs, -1) {
		literally(theirs[at:m[0]])
		kind := 0
		for m[2+2*kind] < 0 {
			kind++
		}
		pattern.WriteString("(" + passing[kind].ours + ")")
		names, at = append(names, theirs[m[0]:m[1]]), m[1]
	}
	literally(theirs[at:])
	end := "$"
	if prefix {
		end = ""
	}
	found := regexp.MustCompile("^" + pattern.String() + end).FindStringSubmatch(ours)
	if found == nil {
		return false
	}
	for i, name := range names {
		if k[name] == "" {
			k[name] = found[i+1]
		}
		if k[name] != found[i+1] {
			return false
		}
	}
	return true
}

var leftOut = regexp.MustCompile(` ?… ?`)

// replied is an answer of restsrv.
type replied struct {
	status int
	header http.Header
	body   string
}

// problem returns the code in an answer of type problem+json. It returns "" for other answers.
func (r replied) problem() string {
	var p struct{ Code string }
	if r.header.Get("Content-Type") == "application/problem+json" {
		_ = json.Unmarshal([]byte(r.body), &p) // a missing code is reported as a difference
	}
	return p.Code
}

// brief describes a body in a few words.
func (r replied) brief() string {
	var any json.RawMessage
	switch {
	case r.problem() != "":
		return "problem " + r.problem()
	case r.body == "":
		return "nothing"
	case says.MatchString(r.body):
		return "page " + quoted(says.FindStringSubmatch(r.body)[1])
	case len(r.body) > 60 && json.Unmarshal([]byte(r.body), &any) == nil:
		return "JSON"
	}
	return quoted(masked(r.body))
}

// says matches the message on an HTML page.
var says = regexp.MustCompile(`<pre>([^<]*)`)

// whole returns the status, the type and the body of an answer. A long body is replaced with its
// checksum.
func (r replied) whole() string {
	body := masked(r.body)
	if len(body) > 400 {
		body = fmt.Sprintf("%d bytes, sha256 %.8x", len(body), sha256.Sum256([]byte(body)))
	}
	return strings.TrimRight(fmt.Sprintf("%d %s %s", r.status, typeOf(r.header.Get("Content-Type")), strings.ReplaceAll(body, "\n", `\n`)), " ")
}

func typeOf(contentType string) string {
	if contentType == "" {
		return "(no type)"
	}
	return contentType
}

func quoted(s string) string {
	if len(s) > 60 {
		s = strings.ToValidUTF8(s[:60], "") + "…"
	}
	return fmt.Sprintf("%q", s)
}

// compared lists the headers that are compared if the record has them, besides the type. For ETag,
// only its presence is compared, because the record omits most ETags.
var compared = []string{"allow", "location"}

// differences returns the differences between the recorded answer and the answer of restsrv,
// sorted, one in each line. A line has the place, the recorded value, ->, and the value of
// restsrv.
func (k counterparts) differences(e *recorded, r replied) []string {
	found := map[string]bool{}
	tell := func(format string, args ...any) { found[fmt.Sprintf(format, args...)] = true }
	if r.status != e.status {
		tell("%s", strings.TrimSpace(fmt.Sprintf("status: %d -> %d %s", e.status, r.status, r.problem())))
	}
	if theirs, ours := typeOf(e.answered["content-type"]), typeOf(r.header.Get("Content-Type")); theirs != ours && !e.broken {
		tell("type: %s -> %s", theirs, ours)
	}
	for _, name := range compared {
		if theirs, ours := e.answered[name], r.header.Get(name); theirs != "" && !k.same(theirs, ours, false) {
			tell("%s: %s -> %s", name, theirs, cmp.Or(masked(ours), "none"))
		}
	}
	if e.status == http.StatusOK && r.status == http.StatusOK && e.want != "" && r.header.Get("ETag") == "" {
		tell("etag: weak -> none")
	}
	switch {
	case k.same(e.want, r.body, e.total > 0):
	case e.method == http.MethodHead && r.body == "":
	default:
		theirs, one := decode(e.want)
		ours, two := decode(r.body)
		if !one || !two || r.problem() != "" {
			tell("body: %s -> %s", replied{body: e.want}.brief(), r.brief())
			break
		}
		k.compare("", theirs, ours, tell)
	}
	if len(found) == 0 && e.total > 0 && !e.broken && !passingTheirs.MatchString(e.want) && len(r.body) != e.total {
		tell("length: %d -> %d", e.total, len(r.body))
	}
	return slices.Sorted(maps.Keys(found))
}

// decode reads JSON whose end may be missing. It leaves out an incomplete member, and marks the
// object or list around it with unread.
func decode(s string) (v any, ok bool) {
	if !strings.HasPrefix(s, "{") && !strings.HasPrefix(s, "[") {
		return nil, false
	}
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	v, err := decodeNext(d)
	return v, err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// unread marks objects and lists that are incomplete.
type unread struct{}

func decodeNext(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return unread{}, err
	}
	switch token {
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := decodeNext(d)
			if err != nil {
				return append(list, v, unread{}), err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	case json.Delim('{'):
		object := map[string]any{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				object[""] = unread{}
				return object, err
			}
			v, err := decodeNext(d)
			object[name.(string)] = v
			if err != nil {
				object[""] = unread{}
				return object, err
			}
		}
		_, err = d.Token()
		if err != nil {
			object[""] = unread{}
		}
		return object, err
	}
	return token, nil
}

// compare returns the differences of two decoded values, by path.
func (k counterparts) compare(path string, theirs, ours any, tell func(string, ...any)) {
	switch t := theirs.(type) {
	case unread:
		return
	case map[string]any:
		if o, ok := ours.(map[string]any); ok {
			k.compareObjects(path, t, o, tell)
			return
		}
	case []any:
		if o, ok := ours.([]any); ok {
			cut := len(t) > 0 && t[len(t)-1] == unread{}
			if cut {
				t = t[:len(t)-1]
			}
			if len(t) != len(o) && !(cut && len(o) > len(t)) {
				tell("%s[]: %d elements -> %d", path, len(t), len(o))
				return
			}
			for i := range t {
				k.compare(path+"[]", t[i], o[i], tell)
			}
			return
		}
	case string:
		if o, ok := ours.(string); ok && k.same(t, o, false) {
			return
		}
	default:
		if t == ours {
			return
		}
	}
	tell("%s: %s -> %s", path, scalar(theirs), scalar(ours))
}

func (k counterparts) compareObjects(path string, theirs, ours map[string]any, tell func(string, ...any)) {
	for name, v := range theirs {
		if o, there := ours[name]; there {
			k.compare(path+"."+name, v, o, tell)
		} else if name != "" {
			tell("%s.%s: %s -> absent", path, name, kind(v))
		}
	}
	if _, cut := theirs[""]; cut {
		return
	}
	for name, v := range ours {
		if _, there := theirs[name]; !there {
			tell("%s.%s: absent -> %s", path, name, kind(v))
		}
	}
}

// kind returns the type of a value.
func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "text"
	case map[string]any:
		return "object"
	case []any:
		return "list"
	}
	return "value"
}

func scalar(v any) string {
	switch kind(v) {
	case "text", "value":
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		_ = e.Encode(v) // a decoded scalar
		s := masked(strings.TrimSpace(b.String()))
		if len(s) > 60 {
			s = strings.ToValidUTF8(s[:60], "") + "…"
		}
		return s
	}
	return kind(v)
}
