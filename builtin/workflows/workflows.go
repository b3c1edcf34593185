// Package workflows is the service under /rest/workflows. It returns the states of an object in
// its workflows, and moves the object by transitions or into states. It converts requests to
// calls of the interface engine.Workflows, which package engine/workflow implements.
package workflows

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"restsrv/engine"
	"restsrv/engine/service"
	"restsrv/engine/wire"
)

// Limits of a request. Each move is a transaction.
const (
	maxBody  = 1 << 20
	maxMoves = 100
)

type workflows struct {
	meta      engine.MetaRepository
	data      engine.Repository
	workflows engine.Workflows
}

// known are the names of the options. auth and log are options of IONDV without effect.
var known = []string{"metaRepo", "dataRepo", "workflow", "auth", "log"}

// New returns the module "builtin/workflows". All options may be omitted: metaRepo, dataRepo
// (default: the repository that checks permissions), workflow (ion://workflows).
func New(env *service.Env, o service.Options) (service.Service, error) {
	s := &workflows{workflows: env.Workflows}
	var err error
	if s.meta, err = o.Meta("metaRepo", env.Meta); err != nil {
		return nil, err
	}
	if s.data, err = o.Repository("dataRepo", env.Data); err != nil {
		return nil, err
	}
	if given := o["workflow"]; given != nil {
		var ok bool
		if s.workflows, ok = given.(engine.Workflows); !ok {
			return nil, errors.New(`option "workflow" takes ion://workflows`)
		}
	}
	if names := o.Unknown(known...); len(names) > 0 {
		return nil, &service.UnknownOption{Module: "workflows", Name: names[0], Known: []string{"metaRepo", "dataRepo", "workflow"}}
	}
	return s, nil
}

// Routes implements service.Service.
func (s *workflows) Routes() []service.Route {
	return []service.Route{
		{Method: http.MethodGet, Path: "/:class/:id", Handler: s.answerStatus},
		{Method: http.MethodPut, Path: "/:class/:id", MaxBody: maxBody, Handler: s.performTransitions},
		{Method: http.MethodPatch, Path: "/:class/:id", MaxBody: maxBody, Handler: s.enterStates},
	}
}

// Errors implements service.Service. It is not used for refused moves, which are answered with
// status 200.
func (s *workflows) Errors() service.ErrorForm { return service.ProblemErrors }

// answerStatus answers GET /:class/:id.
func (s *workflows) answerStatus(ctx context.Context, r *service.Request) (*service.Response, error) {
	c, err := s.meta.Class(r.Param("class"))
	if err != nil {
		return nil, err
	}
	status, err := s.workflows.Status(ctx, s.data, c, r.Param("id"))
	if err != nil {
		return nil, err
	}
	return service.JSON(engine.AppendValue(nil, status)), nil
}

// performTransitions answers PUT /:class/:id. The body is ["workflow.transition", ...] or
// {"workflow": ["transition", ...]}. In the second form, a single transition may be written without
// an array.
func (s *workflows) performTransitions(ctx context.Context, r *service.Request) (*service.Response, error) {
	it, err := s.readItem(ctx, r)
	if err != nil {
		return nil, err
	}
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	var moves []engine.Move
	if fields, ok := body.(engine.Fields); ok {
		moves, err = byWorkflow(fields)
	} else {
		moves, err = readListed(body, "transition", func(m *engine.Move, name string) { m.Transition = name })
	}
	if err != nil {
		return nil, err
	}
	return s.performMoves(ctx, it, moves)
}

// enterStates answers PATCH /:class/:id. The body is ["workflow.state", ...].
func (s *workflows) enterStates(ctx context.Context, r *service.Request) (*service.Response, error) {
	it, err := s.readItem(ctx, r)
	if err != nil {
		return nil, err
	}
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	moves, err := readListed(body, "state", func(m *engine.Move, name string) { m.State = name })
	if err != nil {
		return nil, err
	}
	return s.performMoves(ctx, it, moves)
}

// readItem returns the item to move. Call it before you read the body, so that an account that may
// not read the item gets no errors about the input.
func (s *workflows) readItem(ctx context.Context, r *service.Request) (*engine.Item, error) {
	c, err := s.meta.Class(r.Param("class"))
	if err != nil {
		return nil, err
	}
	return s.data.Get(ctx, c, r.Param("id"))
}

func badBody(format string, args ...any) error {
	return engine.Errorf(engine.Invalid, "body", format, args...)
}

func readBody(r *service.Request) (any, error) {
	body, err := r.ReadBody()
	if err != nil {
		return nil, err
	}
	if t := r.MediaType(); t != "application/json" && !strings.HasSuffix(t, "+json") {
		return nil, engine.Errorf(engine.Invalid, "media-type", "the body is sent as application/json, found Content-Type %s", engine.Quote(r.Header.Get("Content-Type")))
	}
	return wire.Decode(body)
}

// readListed reads an array of moves in the form workflow.name. what is "transition" or "state",
// and set stores the name in the move.
func readListed(body any, what string, set func(*engine.Move, string)) ([]engine.Move, error) {
	list, ok := body.([]any)
	if !ok {
		return nil, badBody("the body is an array of texts such as %s", engine.Quote("workflow@namespace."+what))
	}
	moves := make([]engine.Move, len(list))
	for i, v := range list {
		text, _ := v.(string)
		at := strings.LastIndexByte(text, '.')
		if at < 1 || at == len(text)-1 {
			return nil, badBody("element %d of the body is no text such as %s: found %s", i, engine.Quote("workflow@namespace."+what), engine.Cut(string(engine.AppendValue(nil, v)), 80))
		}
		moves[i].Workflow = text[:at]
		set(&moves[i], text[at+1:])
	}
	return moves, nil
}

// byWorkflow reads moves from an object with arrays of transitions, by workflow.
func byWorkflow(fields engine.Fields) (moves []engine.Move, err error) {
	for _, f := range fields {
		list, ok := f.Value.([]any)
		if !ok {
			list = []any{f.Value}
		}
		for _, v := range list {
			name, _ := v.(string)
			if name == "" {
				return nil, badBody("under %s the body has the name of a transition, or an array of such: found %s", engine.Quote(f.Name), engine.Cut(string(engine.AppendValue(nil, v)), 80))
			}
			moves = append(moves, engine.Move{Workflow: f.Name, Transition: name})
		}
	}
	return moves, nil
}

// performMoves performs moves of an item one after the other. Each move is atomic. If a move is
// refused, the earlier moves stay, and the later moves are still performed. The answer is an
// array with the reasons of the refused moves.
func (s *workflows) performMoves(ctx context.Context, it *engine.Item, moves []engine.Move) (*service.Response, error) {
	if len(moves) > maxMoves {
		return nil, badBody("a request makes at most %d moves, found %d", maxMoves, len(moves))
	}
	refused := []any{}
	id := it.ID
	for _, m := range moves {
		m.Class, m.ID = it.Class.Base(), id
		now, err := s.workflows.Move(ctx, s.data, m)
		var e *engine.Error
		switch {
		case err == nil:
			id = now
		case errors.As(err, &e) && strings.HasPrefix(e.Reason, "workflow."):
			refused = append(refused, engine.Fields{engine.Named("code", e.Reason), engine.Named("params", e.Params)})
		default:
			return nil, err
		}
	}
	return service.JSON(engine.AppendValue(nil, refused)), nil
}
