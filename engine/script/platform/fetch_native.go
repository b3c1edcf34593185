package platform

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"sync"
	"syscall"

	"github.com/dop251/goja"
)

// fetcher implements the functions that fetchNative returns.
type fetcher struct{ *Platform }

// fetchNative returns the Go functions for the files modules/fetch.js and modules/body.js: send(request), which
// returns {promise, cancel}, and functions that read and create bodies.
func fetchNative(p *Platform) goja.Value {
	return p.newNatives(natives{
		"send": fetcher{p}.sendRequest,
		"join": fetcher{p}.joinBytes,
		"warn": func(call goja.FunctionCall) goja.Value {
			p.host.Warn(textArgument(call, 0), "option", textArgument(call, 1))
			return goja.Undefined()
		},
		"encode": func(call goja.FunctionCall) goja.Value {
			return p.arrayBuffer(p.encodeText(call.Argument(0), "utf8"))
		},
		"decode": func(call goja.FunctionCall) goja.Value {
			b := p.needBytes(call.Argument(0), "text")
			return p.decodeBytes(bytes.TrimPrefix(b, []byte("\ufeff")), "utf8")
		},
		"boundary":  func(goja.FunctionCall) goja.Value { return p.js.ToValue("----restsrv" + rand.Text()) },
		"multipart": fetcher{p}.readMultipart,
		"checkSize": func(call goja.FunctionCall) goja.Value {
			p.checkSize(call.Argument(0).ToInteger(), "body")
			return nil
		},
	})
}

// Answer returns the object {data, headers, status} for a Response, so that a handler can return a Response. It
// returns nil for any other object.
func (p *Platform) Answer(o *goja.Object) *goja.Object {
	if p.modules["#fetch"] == nil {
		return nil // no script of this VM has used Response
	}
	answer, _ := goja.AssertFunction(p.Module("#fetch").(*goja.Object).Get("answer"))
	v, err := answer(goja.Undefined(), o)
	must(err)
	made, _ := v.(*goja.Object)
	return made
}

// Events returns the object {source, headers, heartbeat} for a result of the function eventStream of the module
// restsrv. It returns nil for any other object.
func (p *Platform) Events(o *goja.Object) *goja.Object {
	if p.modules["#sse"] == nil {
		return nil // no script of this VM has used eventStream
	}
	describe, _ := goja.AssertFunction(p.Module("#sse").(*goja.Object).Get("describe"))
	v, err := describe(goja.Undefined(), o)
	must(err)
	described, _ := v.(*goja.Object)
	return described
}

// AsyncIterator returns the symbol asyncIterator, or nil if no script of this VM has needed it so far.
func (p *Platform) AsyncIterator() *goja.Symbol {
	if p.asyncIterator == nil && p.patched&symbolPatch != 0 {
		p.asyncIterator, _ = p.js.Get("Symbol").(*goja.Object).Get("asyncIterator").(*goja.Symbol)
	}
	return p.asyncIterator
}

// sendRequest implements send({url, method, headers, body, redirect}). The promise is resolved with the result of
// newReply. If the request failed, it is resolved with {error: message, timeout, code, reason}.
func (p fetcher) sendRequest(call goja.FunctionCall) goja.Value {
	in := call.Argument(0).ToObject(p.js)
	var headers []string
	p.js.ForOf(in.Get("headers"), func(v goja.Value) bool {
		headers = append(headers, v.String())
		return true
	})
	body, _ := p.bytesOf(in.Get("body"))
	if body == nil && !goja.IsNull(in.Get("body")) {
		body = []byte{}
	}
	m, err := newMessage(parseURL(in.Get("url").String(), nil), in.Get("method").String(), headers, body, in.Get("redirect").String())
	life, ok := p.host.Lifetime()
	if !ok {
		life = context.Background() // Promise throws
	}
	life, stop := context.WithCancel(life)
	settings := p.host.Settings()
	promise := p.host.Promise("fetch", func(ctx context.Context) func() goja.Value {
		defer context.AfterFunc(ctx, stop)()
		var r *reply
		if err == nil {
			lazy := p.transfers.Add(1) <= maxTransfers
			leave := sync.OnceFunc(func() { p.transfers.Add(-1) })
			if r, err = settings.Fetch.send(life, m, lazy); r != nil && r.transfer != nil {
				r.transfer.onClose(leave)
			} else {
				leave()
				stop()
			}
		}
		return func() goja.Value {
			if err != nil {
				return p.newFailure(err)
			}
			return p.newReply(r)
		}
	})
	out := p.newNatives(natives{"cancel": func(goja.FunctionCall) goja.Value {
		stop()
		return goja.Undefined()
	}})
	_ = out.Set("promise", promise)
	return out
}

func (p fetcher) newReply(r *reply) goja.Value {
	o := p.js.NewObject()
	list := make([]any, len(r.headers))
	for i, s := range r.headers {
		list[i] = s
	}
	_ = o.Set("status", r.status)
	_ = o.Set("statusText", r.statusText)
	_ = o.Set("headers", p.js.NewArray(list...))
	_ = o.Set("url", r.url)
	_ = o.Set("redirected", r.redirected)
	if r.transfer != nil {
		_ = o.Set("reader", p.newReader(r.transfer))
		return o
	}
	_ = o.Set("body", p.arrayBuffer(r.body))
	if r.broken != nil {
		_ = o.Set("broken", p.newFailure(r.broken))
	}
	return o
}

// maxTransfers is the maximum number of responses of a VM whose bodies are still arriving. Beyond it, fetch reads the
// body together with the head. The number of connections that scripts leave open is limited in this way.
const maxTransfers = 64

// newReader returns the reader of a body that is still arriving: read() returns a promise of an ArrayBuffer, or of null
// at the end, and all() of the rest. If reading fails, the promise is resolved with the result of newFailure.
func (p fetcher) newReader(t *transfer) goja.Value {
	promise := func(work func() ([]byte, error)) func(goja.FunctionCall) goja.Value {
		return func(goja.FunctionCall) goja.Value {
			return p.host.Promise("response.body", func(context.Context) func() goja.Value {
				b, err := work()
				return func() goja.Value {
					switch {
					case err == io.EOF:
						return goja.Null()
					case err != nil:
						return p.newFailure(err)
					}
					return p.arrayBuffer(b)
				}
			})
		}
	}
	return p.newNatives(natives{"read": promise(t.readPiece), "all": promise(func() ([]byte, error) {
		t.timer.Reset(t.limit)
		return t.readAll()
	})})
}

func (p fetcher) newFailure(err error) goja.Value {
	o := p.js.NewObject()
	_ = o.Set("error", err.Error())
	var late errTimeout
	_ = o.Set("timeout", errors.As(err, &late))
	var network *errNetwork
	if errors.As(err, &network) {
		_ = o.Set("code", network.code())
		_ = o.Set("reason", network.reason())
	}
	return o
}

// reason returns a text for the failure that contains no addresses.
func (e *errNetwork) reason() string {
	var dns *net.DNSError
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(e.err, &dns):
		return "the name is not known"
	case errors.Is(e.err, syscall.ECONNREFUSED):
		return "the connection was refused"
	case errors.Is(e.err, syscall.ECONNRESET), errors.Is(e.err, io.EOF), errors.Is(e.err, io.ErrUnexpectedEOF):
		return "the connection was closed"
	case errors.As(e.err, &unknown), errors.As(e.err, &host), errors.As(e.err, &invalid):
		return "its certificate is not trusted"
	}
	return "the network failed"
}

func (e *errNetwork) code() string {
	switch e.reason() {
	case "the name is not known":
		return "ENOTFOUND"
	case "the connection was refused":
		return "ECONNREFUSED"
	case "the connection was closed":
		return "ECONNRESET"
	case "its certificate is not trusted":
		return "CERT_NOT_TRUSTED"
	}
	return "ENETWORK"
}

// joinBytes implements join(parts). It returns the bytes of all parts, which are texts and bytes.
func (p fetcher) joinBytes(call goja.FunctionCall) goja.Value {
	var parts [][]byte
	total := int64(0)
	p.js.ForOf(call.Argument(0), func(v goja.Value) bool {
		b, ok := p.bytesOf(v)
		if !ok {
			b = p.encodeText(v, "utf8")
		}
		parts = append(parts, b)
		total += int64(len(b))
		p.checkSize(total, "body")
		return true
	})
	return p.arrayBuffer(bytes.Join(parts, nil))
}

// maxFormParts is the maximum number of parts of one form.
const maxFormParts = 10_000

// readMultipart implements multipart(bytes, contentType). It returns an array with [name, file name or null, type,
// bytes] for each part of the form. If the bytes are not a valid form, it returns undefined.
func (p fetcher) readMultipart(call goja.FunctionCall) goja.Value {
	_, parameters, err := mime.ParseMediaType(textArgument(call, 1))
	if err != nil || parameters["boundary"] == "" {
		return goja.Undefined()
	}
	r := multipart.NewReader(bytes.NewReader(p.needBytes(call.Argument(0), "formData")), parameters["boundary"])
	var list []any
	for len(list) < maxFormParts {
		part, err := r.NextRawPart()
		if err == io.EOF {
			return p.js.NewArray(list...)
		}
		if err != nil || part.FormName() == "" {
			return goja.Undefined()
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return goja.Undefined()
		}
		var file any
		if name := part.FileName(); name != "" {
			file = name
		}
		list = append(list, p.js.NewArray(part.FormName(), file, part.Header.Get("Content-Type"), p.arrayBuffer(content)))
	}
	return goja.Undefined()
}
