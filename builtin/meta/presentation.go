package meta

import (
	"context"
	"net/url"

	"restsrv/engine"
	"restsrv/engine/describe"
	"restsrv/engine/service"
)

// getSections answers GET /getNavigationSections with the sections of the navigation, by name. The
// parameter namespace restricts them to a namespace.
func (s *meta) getSections(ctx context.Context, _ *service.Request, q url.Values) (any, error) {
	sections, err := s.shown.Sections()
	if err != nil {
		return nil, err
	}
	namespace, byName := q.Get("namespace"), engine.Fields{}
	for _, one := range sections {
		if namespace != "" && namespace != one.Namespace {
			continue
		}
		said, err := s.describeSection(ctx, one)
		if err != nil {
			return nil, err
		}
		byName = byName.With(one.Name, said)
	}
	return byName, nil
}

// getSection answers GET /getNavigationSection/:code. The body is empty if the section does not
// exist.
func (s *meta) getSection(ctx context.Context, r *service.Request, q url.Values) (any, error) {
	section, err := s.shown.Section(service.NodeCode(r.Param("code"), q.Get("namespace")))
	if err != nil || section == nil {
		return nil, err
	}
	return s.describeSection(ctx, section)
}

func (s *meta) describeSection(ctx context.Context, section *service.NavigationSection) (any, error) {
	nodes := make(engine.Fields, len(section.Roots))
	for i, n := range section.Roots {
		said, err := s.describeNode(ctx, n)
		if err != nil {
			return nil, err
		}
		nodes[i] = engine.Field{Name: n.Code, Value: said}
	}
	return append(section.Said[:len(section.Said):len(section.Said)], engine.Field{Name: "nodes", Value: nodes}), nil
}

// getNode answers GET /getNode/:code. The body is empty if the node does not exist.
func (s *meta) getNode(ctx context.Context, r *service.Request, q url.Values) (any, error) {
	n, err := s.shown.Node(service.NodeCode(r.Param("code"), q.Get("namespace")))
	if err != nil || n == nil {
		return nil, err
	}
	return s.describeNode(ctx, n)
}

// getNodes answers GET /getNodes/:section with the top-level nodes of a section. If the parameter
// parent is set, it answers with the nodes below that node.
func (s *meta) getNodes(ctx context.Context, r *service.Request, q url.Values) (any, error) {
	namespace := q.Get("namespace")
	nodes, err := s.shown.Nodes(service.NodeCode(r.Param("section"), namespace), service.NodeCode(q.Get("parent"), namespace))
	if err != nil {
		return nil, err
	}
	return s.describeNodes(ctx, nodes)
}

func (s *meta) describeNodes(ctx context.Context, nodes []*service.NavigationNode) ([]any, error) {
	list := make([]any, len(nodes))
	for i, n := range nodes {
		var err error
		if list[i], err = s.describeNode(ctx, n); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (s *meta) describeNode(ctx context.Context, n *service.NavigationNode) (any, error) {
	said := n.Said
	if c, err := s.meta.Class(n.Class); err == nil {
		view, err := engine.ViewOf(ctx, s.data, c)
		if err != nil {
			return nil, err
		}
		said = describe.Redact(view, said)
	}
	children, err := s.describeNodes(ctx, n.Children)
	if err != nil {
		return nil, err
	}
	return append(said[:len(said):len(said)], engine.Field{Name: "children", Value: children}), nil
}

// viewModel returns the method for GET /get...ViewModel/:class. The parameter node selects the view
// for a node of the navigation.
func (s *meta) viewModel(kind service.ViewKind) method {
	return func(ctx context.Context, r *service.Request, q url.Values) (any, error) {
		c, err := s.pathClass(ctx, r, q)
		if err != nil {
			return nil, err
		}
		m, err := s.shown.ViewModel(kind, c, service.NodeCode(q.Get("node"), q.Get("namespace")))
		if err == nil && m == nil {
			err = noView(c, string(kind))
		}
		if err != nil {
			return nil, err
		}
		return describe.Redact(c, m.Said), nil
	}
}

// noView returns the error for a view that does not exist.
func noView(c *engine.Class, what string) *engine.Error {
	e := engine.Errorf(engine.NotFound, "unknown-view", "class %s has no view %s", c.FullName, engine.Quote(what))
	e.Class = c.FullName
	return e
}

// getWorkflows answers GET /getWorkflows/:class.
func (s *meta) getWorkflows(ctx context.Context, r *service.Request, q url.Values) (any, error) {
	c, err := s.pathClass(ctx, r, q)
	if err != nil {
		return nil, err
	}
	found, err := s.shown.Workflows(c)
	if err != nil {
		return nil, err
	}
	list := make([]any, len(found))
	for i, w := range found {
		list[i] = describe.Redact(c, w.Said)
	}
	return list, nil
}

// getWorkflow answers GET /getWorkflow/:class/:workflow. The body is empty if the workflow does not
// exist.
func (s *meta) getWorkflow(ctx context.Context, r *service.Request, q url.Values) (any, error) {
	c, err := s.pathClass(ctx, r, q)
	if err != nil {
		return nil, err
	}
	w, err := service.WorkflowOf(s.shown, c, r.Param("workflow"))
	if err != nil || w == nil {
		return nil, err
	}
	return describe.Redact(c, w.Said), nil
}

// stateViewModel answers GET /getWorkflowView/:class/:workflow/:state.
func (s *meta) stateViewModel(ctx context.Context, r *service.Request, q url.Values) (any, error) {
	c, err := s.pathClass(ctx, r, q)
	if err != nil {
		return nil, err
	}
	m, err := s.shown.StateViewModel(c, r.Param("workflow"), r.Param("state"))
	if err == nil && m == nil {
		err = noView(c, r.Param("workflow")+"."+r.Param("state"))
	}
	if err != nil {
		return nil, err
	}
	return describe.Redact(c, m.Said), nil
}

// getMask answers GET /getMask/:name. The body is {} if the mask does not exist.
func (s *meta) getMask(_ context.Context, r *service.Request, _ url.Values) (any, error) {
	return s.shown.Mask(r.Param("name"))
}

// getValidators answers GET /getValidators.
func (s *meta) getValidators(context.Context, *service.Request, url.Values) (any, error) {
	all, err := s.shown.Validators()
	list := make([]any, len(all))
	for i, v := range all {
		list[i] = v
	}
	return list, err
}
