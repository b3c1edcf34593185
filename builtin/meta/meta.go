// Package meta is the service that describes the application to clients: its classes, navigation,
// views, workflows, masks and validators. The answers have the content of the application's
// files, as engine.Class.Describe and service.Presentation return them, without attributes that
// are hidden from the account.
package meta

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"restsrv/engine"
	"restsrv/engine/service"
)

// meta is a configured instance of the service.
type meta struct {
	meta      engine.MetaRepository
	data      engine.Repository // determines which attributes are hidden from an account
	shown     service.Presentation
	described sync.Map // descriptions of classes but not of views: engine.JSONText by *engine.Class
}

// known are the names of the options. The service accepts auth, log and workflow as IONDV does,
// but they have no effect.
var known = []string{"metaRepo", "dataRepo", "auth", "log", "workflow"}

// New returns the module "builtin/meta". It has the options metaRepo and dataRepo, which may be
// omitted. The repository in dataRepo determines which attributes are hidden from an account. The
// default repository hides those that the account may not read. The repository ion://dataRepo
// checks no permissions, so it hides no attributes.
func New(env *service.Env, o service.Options) (service.Service, error) {
	s := &meta{shown: env.Presentation}
	if s.shown == nil {
		return nil, errors.New("there is no application here with a presentation")
	}
	var err error
	if s.meta, err = o.Meta("metaRepo", env.Meta); err != nil {
		return nil, err
	}
	if s.data, err = o.Repository("dataRepo", env.Data); err != nil {
		return nil, err
	}
	if names := o.Unknown(known...); len(names) > 0 {
		return nil, &service.UnknownOption{Module: "meta", Name: names[0], Known: []string{"metaRepo", "dataRepo"}}
	}
	return s, nil
}

// Routes implements service.Service. If a name in the path has no namespace, the parameter
// namespace is used. Two parameters of IONDV are ignored: version, because a class has only one
// version, and collection, because views are not defined for single collections.
func (s *meta) Routes() []service.Route {
	get := func(path string, m method) service.Route {
		return service.Route{Method: http.MethodGet, Path: path, Handler: m.handle}
	}
	return []service.Route{
		get("/getMeta/:class", s.getMeta),
		get("/listMeta", s.listMeta),
		get("/ancestor/:class", s.getAncestor),
		get("/propertyMetas/:class", s.propertyMetas),
		get("/getNavigationSections", s.getSections),
		get("/getNavigationSection/:code", s.getSection),
		get("/getNode/:code", s.getNode),
		get("/getNodes/:section", s.getNodes),
		get("/getListViewModel/:class", s.viewModel(service.ListView)),
		get("/getCollectionViewModel/:class", s.viewModel(service.CollectionView)),
		get("/getItemViewModel/:class", s.viewModel(service.ItemView)),
		get("/getCreationViewModel/:class", s.viewModel(service.CreateView)),
		get("/getDetailViewModel/:class", s.viewModel(service.DetailView)),
		get("/getWorkflows/:class", s.getWorkflows),
		get("/getWorkflow/:class/:workflow", s.getWorkflow),
		get("/getWorkflowView/:class/:workflow/:state", s.stateViewModel),
		get("/getMask/:name", s.getMask),
		get("/getValidators", s.getValidators),
	}
}

// Errors implements service.Service.
func (s *meta) Errors() service.ErrorForm { return service.ProblemErrors }

// method answers a request. The result is encoded as JSON. If the result is nil, the body is
// empty, as IONDV answers if the requested object does not exist.
type method func(ctx context.Context, r *service.Request, q url.Values) (any, error)

func (m method) handle(ctx context.Context, r *service.Request) (*service.Response, error) {
	q, err := r.Query()
	if err != nil {
		return nil, err
	}
	answer, err := m(ctx, r, q)
	if err != nil {
		return nil, err
	}
	if answer == nil {
		return &service.Response{}, nil
	}
	return service.JSON(engine.AppendValue(nil, stripPrivate(answer))), nil
}

// stripPrivate returns decoded JSON without fields that begin with "_". IONDV does not send
// these fields either.
func stripPrivate(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = stripPrivate(e)
		}
		return list
	case engine.Fields:
		fields := make(engine.Fields, 0, len(v))
		for _, f := range v {
			if !strings.HasPrefix(f.Name, "_") {
				fields = append(fields, engine.Field{Name: f.Name, Value: stripPrivate(f.Value)})
			}
		}
		return fields
	}
	return v
}
