// Package meta is the service that tells clients what the application is:
// its classes, navigation, views, workflows, masks and validators
// (iondv-data.md section 6.2, decisions.md section 2). It answers what class files
// and their like say, as engine.Class.Describe and engine.Presentation have it;
// what the account may not know of a class is missing everywhere.
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
)

// service is one configured meta.
type service struct {
	meta      engine.MetaRepository
	data      engine.Repository // whose items tell what an account may know of their class
	shown     engine.Presentation
	described sync.Map // by *engine.Class, which is no view: its description as engine.JSONText
}

// known are the options; those after dataRepo are the ancestor's, accepted and
// without effect here.
var known = []string{"metaRepo", "dataRepo", "auth", "log", "workflow"}

// New is the module "builtin/meta". Options, all optional: metaRepo, dataRepo.
// The latter says what an account may know of classes: everything with
// ion://dataRepo, what it is not denied with the default, the secured repository.
func New(env *engine.Env, o engine.Options) (engine.Service, error) {
	s := &service{shown: env.Presentation}
	if s.shown == nil {
		return nil, errors.New("there is no application here whose presentation is known")
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

// Routes is engine.Service's. ?namespace completes names that have none; of
// ?version there is one for each class, and ?collection has no view of its own.
func (s *service) Routes() []engine.Route {
	get := func(path string, m method) engine.Route {
		return engine.Route{Method: http.MethodGet, Path: path, Handler: m.handle}
	}
	return []engine.Route{
		get("/getMeta/:class", s.getMeta),
		get("/listMeta", s.listMeta),
		get("/ancestor/:class", s.ancestor),
		get("/propertyMetas/:class", s.propertyMetas),
		get("/getNavigationSections", s.sections),
		get("/getNavigationSection/:code", s.section),
		get("/getNode/:code", s.node),
		get("/getNodes/:section", s.nodes),
		get("/getListViewModel/:class", s.viewModel(engine.ListView)),
		get("/getCollectionViewModel/:class", s.viewModel(engine.CollectionView)),
		get("/getItemViewModel/:class", s.viewModel(engine.ItemView)),
		get("/getCreationViewModel/:class", s.viewModel(engine.CreateView)),
		get("/getDetailViewModel/:class", s.viewModel(engine.DetailView)),
		get("/getWorkflows/:class", s.workflows),
		get("/getWorkflow/:class/:workflow", s.workflow),
		get("/getWorkflowView/:class/:workflow/:state", s.stateViewModel),
		get("/getMask/:name", s.mask),
		get("/getValidators", s.validators),
	}
}

// Errors is engine.Service's.
func (s *service) Errors() engine.ErrorForm { return engine.ProblemErrors }

// method answers a question as decoded JSON. nil is an empty body, as the
// ancestor answers what is not there.
type method func(ctx context.Context, r *engine.Request, q url.Values) (any, error)

func (m method) handle(ctx context.Context, r *engine.Request) (*engine.Response, error) {
	q, err := r.Query()
	if err != nil {
		return nil, err
	}
	answer, err := m(ctx, r, q)
	if err != nil {
		return nil, err
	}
	if answer == nil {
		return &engine.Response{}, nil
	}
	return engine.JSON(engine.AppendValue(nil, public(answer))), nil
}

// public is decoded JSON without the members whose names begin with _, which the
// ancestor keeps to itself.
func public(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = public(e)
		}
		return list
	case engine.Fields:
		fields := make(engine.Fields, 0, len(v))
		for _, f := range v {
			if !strings.HasPrefix(f.Name, "_") {
				fields = append(fields, engine.Field{Name: f.Name, Value: public(f.Value)})
			}
		}
		return fields
	}
	return v
}
