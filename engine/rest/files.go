package rest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"restsrv/engine"
)

// inert contains the media types that a browser may display, because such files cannot contain scripts. Files of
// other types are sent as application/octet-stream, for download only.
var inert = map[string]bool{
	"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true, "image/avif": true, "image/bmp": true,
	"audio/mpeg": true, "audio/ogg": true, "audio/wav": true, "audio/webm": true, "audio/mp4": true, "audio/aac": true, "audio/flac": true,
	"video/mp4": true, "video/webm": true, "video/ogg": true, "video/mpeg": true,
	"text/plain": true, "application/pdf": true,
}

// stored is a stored file or thumbnail to send.
type stored struct {
	engine.StoredFile        // Name and MimeType are those for the response
	tag               string // for the header ETag, without quotes
	content           io.ReadSeekCloser
}

// serveFile handles GET /files/{id}. It sends the content of a file if the account may read the item that contains
// the file.
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	s.serveStored(w, r, "files", func(ctx context.Context, path string) (*stored, error) {
		held, err := s.findReadable(ctx, path)
		if err != nil {
			return nil, err
		}
		content, err := s.cfg.Files.Storage.Open(ctx, held.StoredFile)
		return &stored{held.StoredFile, held.Hash, content}, err
	})
}

// serveImage handles GET /images/{kind}/{id}. It sends a thumbnail of a file if the account may read the file.
func (s *Server) serveImage(w http.ResponseWriter, r *http.Request) {
	s.serveStored(w, r, "images", func(ctx context.Context, path string) (*stored, error) {
		escaped, file, _ := strings.Cut(path, "/")
		kind, err := url.PathUnescape(escaped)
		if err != nil || s.cfg.Images == nil || !slices.ContainsFunc(s.cfg.Images.Kinds(), func(k engine.ThumbnailKind) bool { return k.Name == kind }) {
			return nil, engine.UnknownThumbnail(escaped)
		}
		held, err := s.findReadable(ctx, file)
		if err != nil {
			return nil, err
		}
		t, err := s.cfg.Images.Thumbnail(ctx, held.StoredFile, kind)
		if err != nil {
			return nil, err
		}
		held.Name, held.MimeType = thumbnailName(held.Name, t.MimeType), t.MimeType
		return &stored{held.StoredFile, t.Tag, t.Content}, nil
	})
}

// thumbnailName replaces the extension of a file name by the extension of thumbnails with the
// given media type.
func thumbnailName(name, mimeType string) string {
	if name == "" {
		return ""
	}
	extension := ".png"
	if mimeType == "image/jpeg" {
		extension = ".jpg"
	}
	return strings.TrimSuffix(name, path.Ext(name)) + extension
}

// serveStored sends stored content. name is the first element of the URL path, such as files. open gets the rest of
// the path and returns the content.
func (s *Server) serveStored(w http.ResponseWriter, r *http.Request, name string, open func(ctx context.Context, path string) (*stored, error)) {
	x := s.newExchange(w, r)
	x.req.Service, x.req.Path = name, strings.TrimPrefix(r.URL.EscapedPath(), "/"+name)
	x.out.mode, x.out.vary = engine.AuthPwd, varyAny
	if err := s.sendStored(w, r, x, open); err != nil {
		x.out.fail(err)
	}
}

// sendStored is the part of serveStored that can fail. If it returns an error, it has not written a response.
func (s *Server) sendStored(w http.ResponseWriter, r *http.Request, x *exchange, open func(ctx context.Context, path string) (*stored, error)) error {
	req := &x.req
	if err := checkAmbiguous(r); err != nil {
		return err
	}
	account, err := s.authenticateAny(r, x)
	if err != nil {
		return err
	}
	if account, err = x.restrictToScope(account, "files"); err != nil {
		return err
	}
	req.Account = account
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		const allow = "GET, HEAD, OPTIONS"
		w.Header().Set("Allow", allow)
		if r.Method == http.MethodOptions {
			writePlain(w, http.StatusOK, allow)
			return nil
		}
		return engine.Errorf(engine.NotFound, "unknown-method", "files are read with %s, not %s", allow, engine.Quote(r.Method))
	}
	query, err := req.Query()
	if err != nil {
		return err
	}
	found, err := open(engine.WithRequest(r.Context(), account, &x.caller), strings.TrimPrefix(req.Path, "/"))
	if err != nil {
		return err
	}
	defer found.content.Close()
	download := query.Get("dwnld") != "" && query.Get("dwnld") != "0"
	fileHeaders(w.Header(), found, download)
	x.out.setCaching()
	// ServeContent handles ranges, If-Range and the other conditions of RFC 9110.
	http.ServeContent(w, r, "", time.Time{}, found.content)
	return nil
}

// findReadable finds the file with the escaped id, if the account may read it. It returns a panic as an error, so
// that only this request fails.
func (s *Server) findReadable(ctx context.Context, escaped string) (held engine.HeldFile, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = engine.Wrap(fmt.Errorf("panic: %v\n%s", p, debug.Stack()), "finding a file panicked")
		}
	}()
	id, err := url.PathUnescape(escaped)
	if err != nil || id == "" || strings.Contains(escaped, "/") {
		return held, engine.Errorf(engine.NotFound, "unknown-file", "there is no file %s", engine.Quote(escaped))
	}
	return s.cfg.Files.Readable(ctx, id)
}

func fileHeaders(h http.Header, f *stored, download bool) {
	kind, disposition := f.MimeType, "inline"
	if !inert[kind] {
		kind, download = "application/octet-stream", true
	}
	if kind == "text/plain" {
		kind = textPlain
	}
	if download {
		disposition = "attachment"
	}
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", disposition+fileName(f.Name))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Etag", `"`+f.tag+`"`)
}

// fileName returns the parameter filename of the header Content-Disposition (RFC 6266). If the name is not plain
// ASCII, it adds the parameter filename* with the name in UTF-8 (RFC 8187), which all but very old clients use.
func fileName(name string) string {
	if name == "" {
		return ""
	}
	simple := strings.Map(func(c rune) rune {
		if c < 0x20 || c > 0x7e || c == '"' || c == '\\' || c == '%' {
			return '_'
		}
		return c
	}, name)
	if simple == name {
		return `; filename="` + name + `"`
	}
	b := []byte(`; filename="` + simple + `"; filename*=UTF-8''`)
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("!#$&+-.^_`|~", c) >= 0 {
			b = append(b, c)
			continue
		}
		b = append(b, '%', "0123456789ABCDEF"[c>>4], "0123456789ABCDEF"[c&15])
	}
	return string(b)
}
