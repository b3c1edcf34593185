// Package meta is the service that describes the application to clients: its
// classes, navigation, views, workflows, masks and validators. The answers have
// the content of class files and other files of the application, as
// engine.Class.Describe and engine.Presentation return it, without attributes that
// are hidden from the account.
package meta

import (
	"context"
	"errors"
	"fmt"
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
	data      engine.Repository // defines the attributes that are hidden from an account
	shown     service.Presentation
	described sync.Map // by *engine.Class (not views): the description as engine.JSONText
}

// known are the options. Those after dataRepo are options of IONDV, which have no
// effect here.
var known = []string{"metaRepo", "dataRepo", "auth", "log", "workflow"}

// New returns the module "builtin/meta". All options are optional: metaRepo,
// dataRepo. The latter decides which attributes are hidden from an account: none
// with ion://dataRepo, those that it may not read with the default, the secured
// repository.
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
		return nil, fmt.Errorf("unknown option %q: meta takes metaRepo and dataRepo", names[0])
	}
	return s, nil
}

// Routes implements engine.Service. ?namespace is the namespace of names without
// one. ?version is ignored, because each class has only one, and so is
// ?collection, because there are no views for it.
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

// Errors implements engine.Service.
func (s *meta) Errors() service.ErrorForm { return service.ProblemErrors }

// method returns the answer to a request as decoded JSON. nil is an empty body,
// which IONDV returns for objects that do not exist.
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

// stripPrivate returns decoded JSON without members that begin with _, because IONDV
// does not publish them.
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
