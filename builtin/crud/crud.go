// Package crud is the service that makes each class a REST resource: clients can read, list,
// create, change and delete objects. It converts requests to calls of engine.Repository, and items
// to JSON. Permissions, storage and status codes are handled by other packages.
package crud

import (
	"context"
	"log/slog"
	"net/http"
	"sync"

	"restsrv/engine"
	"restsrv/engine/attachment"
	"restsrv/engine/service"
)

// Defaults of the options.
const (
	defaultCount    = 5
	defaultMaxCount = 1000
)

// crud is a configured instance of the service.
type crud struct {
	meta     engine.MetaRepository
	data     engine.Repository
	log      *slog.Logger
	files    attachment.Files
	cursors  service.Cursors
	handling engine.Handling
	maxCount int
	maxBody  int64
	buffers  sync.Pool // buffers (*[]byte) for lists
	sizes    *sizes    // lengths of earlier lists
}

// maxBuffer is the maximum size in bytes of a buffer that is reused for another list.
const maxBuffer = 1 << 20

// known are the names of the options. The names after maxBody are options of IONDV that have no
// effect.
var known = []string{"metaRepo", "dataRepo", "fileStorage", "handling", "maxCount", "maxBody",
	"auth", "keyProvider", "storageSettings", "ignoreRefUpdateErrors", "log", "workflow"}

// New returns the module "builtin/crud". All options may be omitted: metaRepo, dataRepo (default:
// the repository that checks permissions), fileStorage (default: the server's), handling ("lenient"
// or "strict"), maxCount (maximum of _count, default 1000), maxBody (bytes, default 10 MiB).
func New(env *service.Env, o service.Options) (service.Service, error) {
	s := &crud{log: env.Log, cursors: env.Cursors, buffers: sync.Pool{New: func() any { return new([]byte) }}, sizes: newSizes()}
	var err error
	if s.meta, err = o.Meta("metaRepo", env.Meta); err != nil {
		return nil, err
	}
	if s.data, err = o.Repository("dataRepo", env.Data); err != nil {
		return nil, err
	}
	storage, err := o.FileStorage("fileStorage", env.Files)
	if err != nil {
		return nil, err
	}
	s.files = attachment.Files{Storage: storage, Data: s.data, Meta: s.meta}
	if s.handling, err = o.Handling(); err != nil {
		return nil, err
	}
	maxCount, err := o.Int("maxCount", defaultMaxCount, 1, 1_000_000)
	if err != nil {
		return nil, err
	}
	s.maxCount = int(maxCount)
	if s.maxBody, err = o.Int("maxBody", service.DefaultMaxBody, 1, 1<<30); err != nil {
		return nil, err
	}
	if names := o.Unknown(known...); len(names) > 0 {
		return nil, &service.UnknownOption{Module: "crud", Name: names[0], Known: known[:6]}
	}
	return s, nil
}

// Routes implements service.Service.
func (s *crud) Routes() []service.Route {
	return []service.Route{
		{Method: http.MethodGet, Path: "/:class/:id", Handler: s.fetch},
		{Method: http.MethodGet, Path: "/:class", Handler: s.list},
		{Method: "SEARCH", Path: "/:class", MaxBody: s.maxBody, Handler: s.search},
		{Method: http.MethodPost, Path: "/:class/_search", MaxBody: s.maxBody, Handler: s.search},
		{Method: http.MethodPost, Path: "/:class", MaxBody: s.maxBody, Handler: s.create},
		{Method: http.MethodPatch, Path: "/:class/:id", MaxBody: s.maxBody, Handler: s.update},
		{Method: http.MethodPut, Path: "/:class/:id", MaxBody: s.maxBody, Handler: s.update},
		{Method: http.MethodDelete, Path: "/:class/:id", Handler: s.remove},
	}
}

// Errors implements service.Service.
func (s *crud) Errors() service.ErrorForm { return service.ProblemErrors }

// pathClass returns the class in the path, as the account sees it. If p is not 0 and the account
// has permission p on no object of the class, it returns an error. Call pathClass before reading
// the input, so that such an account gets no errors about the input.
func (s *crud) pathClass(ctx context.Context, r *service.Request, p engine.Permission) (*engine.Class, error) {
	c, err := s.meta.Class(r.Param("class"))
	if err != nil {
		return nil, err
	}
	if p != 0 {
		if err := engine.Allow(ctx, s.data, c, p); err != nil {
			return nil, err
		}
	}
	return engine.ViewOf(ctx, s.data, c)
}

// warnIgnored adds a warning about ignored names to the response, and logs it. what is the text
// before the names.
func (s *crud) warnIgnored(r *service.Request, resp *service.Response, what string, names []string) {
	if len(names) > 0 {
		s.log.Warn("input ignored", "request", r.ID, "service", r.Service, "warning", resp.Warn(what, names))
	}
}
