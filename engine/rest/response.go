package rest

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"net/http"
	"strconv"
	"strings"

	"restsrv/engine"
	"restsrv/engine/service"
)

const (
	textPlain = "text/plain; charset=utf-8"
	textHTML  = "text/html; charset=utf-8"
)

// responder writes the response to a request.
type responder struct {
	w      http.ResponseWriter
	req    *service.Request
	server *Server
	form   service.ErrorForm
	mode   engine.AuthMode
	vary   []string // names of the headers with credentials that the response depends on; nil if it depends on none
	caller *engine.Caller
	token  bool // the request had a token for the mode oauth
	stage  stage
	path   string // escaped path of the request; set only if no route matches it
}

// stage is the point that the processing of a request has reached.
type stage int

const (
	atHandler stage = iota // the handler has been called
	atAccount              // before the account is authenticated
	atRoute                // no route matches the request
)

// prepareHead sets the headers of a response, except those that depend on its body, and returns its status.
func (o *responder) prepareHead(r *service.Response) (h http.Header, status int) {
	h = o.w.Header()
	for name, values := range r.Header {
		h[name] = values
	}
	status = r.Status
	if status == 0 {
		status = http.StatusOK
	}
	o.auditStatus(status, "")
	if r.ContentType != "" && h["Content-Type"] == nil {
		h["Content-Type"] = []string{r.ContentType}
	}
	return h, status
}

// send writes the response of a handler. If the client already has the content (If-None-Match), it writes the status
// 304.
func (o *responder) send(r *service.Response) {
	h, status := o.prepareHead(r)
	reading := o.req.Method == http.MethodGet || o.req.Method == http.MethodHead
	tag := r.ETag
	if tag == "" && status == http.StatusOK && len(r.Body) > 0 && h["Etag"] == nil && h["Cache-Control"] == nil {
		tag = weakTag(r.Body)
	}
	o.setCaching()
	if tag != "" {
		h["Etag"] = []string{tag}
		if reading && status == http.StatusOK && noneMatch(o.req.Header["If-None-Match"], tag) {
			delete(h, "Content-Type")
			o.w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	if status == http.StatusNoContent || status == http.StatusNotModified {
		o.w.WriteHeader(status)
		return
	}
	if h["Content-Type"] == nil {
		h["Content-Type"] = nil // prevents net/http from guessing the type
	}
	h["Content-Length"] = []string{strconv.Itoa(len(r.Body))}
	o.w.WriteHeader(status)
	_, _ = o.w.Write(r.Body) // the error is ignored: the client may have disconnected
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// weakTag returns a weak entity tag (ETag) for a body. It consists of two checksums that processors compute in
// hardware. Equal bodies have the same tag in every process.
func weakTag(body []byte) string {
	var sum [8]byte
	binary.BigEndian.PutUint32(sum[:4], crc32.ChecksumIEEE(body))
	binary.BigEndian.PutUint32(sum[4:], crc32.Checksum(body, castagnoli))
	b := append(make([]byte, 0, 32), `W/"`...)
	b = append(strconv.AppendInt(b, int64(len(body)), 36), '-')
	b = base64.RawURLEncoding.AppendEncode(b, sum[:])
	return string(append(b, '"'))
}

// noneMatch reports whether the header If-None-Match contains the tag. It uses the weak comparison (RFC 9110 section
// 13.1.2).
func noneMatch(lines []string, tag string) bool {
	tag = strings.TrimPrefix(tag, "W/")
	for _, line := range lines {
		for _, t := range strings.Split(line, ",") {
			t = strings.TrimSpace(t)
			if t == "*" || strings.TrimPrefix(t, "W/") == tag {
				return true
			}
		}
	}
	return false
}
