package meta

import (
	"context"
	"errors"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/service"
)

// shop is an application of two classes with a presentation. If err is set, its files cannot be
// read.
type shop struct {
	engine.Repository
	service.Presentation
	classes []*engine.Class
	views   *engine.Views // as the account sees the classes; nil if no attributes are hidden
	err     error
}

func newShop(t *testing.T) *shop {
	t.Helper()
	said := func(name string) engine.Fields {
		return engine.Fields{{Name: "name", Value: name}, {Name: "_hidden", Value: true}}
	}
	goods := &engine.Class{Name: "goods", FullName: "goods@s", Namespace: "s", Key: []string{"id"}, Source: said("goods"), Properties: []*engine.Property{
		{Name: "id", Type: engine.String, Definition: "goods@s"}, {Name: "cost", Type: engine.Int, Nullable: true, Definition: "goods@s"}}}
	book := &engine.Class{Name: "book", FullName: "book@s", Namespace: "s", Key: []string{"id"}, Ancestor: goods, Source: said("book"), Properties: goods.Properties}
	goods.Descendants = []*engine.Class{book}
	for _, c := range []*engine.Class{goods, book} {
		if err := c.Init(); err != nil {
			t.Fatal(err)
		}
	}
	return &shop{classes: []*engine.Class{book, goods}}
}

func (s *shop) Class(name string) (*engine.Class, error) {
	for _, c := range s.classes {
		if c.FullName == name {
			return c, nil
		}
	}
	return nil, engine.NoClass(name)
}

func (s *shop) Classes() []*engine.Class { return s.classes }

func (s *shop) View(_ context.Context, c *engine.Class) (*engine.Class, error) {
	return s.views.Of(c), nil
}

func (s *shop) Allow(context.Context, *engine.Class, engine.Permission) error { return nil }

func (s *shop) Sections() ([]*service.NavigationSection, error) {
	root := &service.NavigationNode{Code: "all", Class: "goods@s", Said: engine.Fields{{Name: "conditions", Value: "$cost > 5"}}}
	return []*service.NavigationSection{{Name: "main", Namespace: "s", Said: engine.Fields{{Name: "name", Value: "main"}}, Roots: []*service.NavigationNode{root}}}, s.err
}

func (s *shop) ViewModel(service.ViewKind, *engine.Class, string) (*service.ViewModel, error) {
	return nil, s.err
}

func (s *shop) Mask(string) (engine.Fields, error) { return engine.Fields{}, s.err }

// ask calls the handler of a path.
func ask(t *testing.T, svc service.Service, path, query string, params ...service.Param) (string, error) {
	t.Helper()
	for _, r := range svc.Routes() {
		if r.Path != path {
			continue
		}
		resp, err := r.Handler(t.Context(), &service.Request{RawQuery: query, Params: params})
		if err != nil {
			return "", err
		}
		if len(resp.Body) == 0 && resp.ContentType != "" {
			t.Errorf("%s: got an empty body with the type %s", path, resp.ContentType)
		}
		return string(resp.Body), nil
	}
	t.Fatalf("no route %s", path)
	return "", nil
}

func made(t *testing.T, s *shop) service.Service {
	t.Helper()
	svc, err := New(&service.Env{Meta: s, Data: s, Presentation: s}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return svc
}

// TestOptions checks that invalid options are refused when the service is created.
func TestOptions(t *testing.T) {
	s := newShop(t)
	for _, c := range []struct {
		shown   service.Presentation
		options service.Options
		want    string
	}{
		{nil, nil, "no application"},
		{s, service.Options{"metaRepo": 5}, "metaRepo"},
		{s, service.Options{"dataRepo": "x"}, "dataRepo"},
		{s, service.Options{"viewRepo": s}, `unknown option "viewRepo": meta takes metaRepo and dataRepo`},
		{s, service.Options{"metaRepo": s, "dataRepo": s, "auth": 1}, ""},
	} {
		_, err := New(&service.Env{Meta: s, Data: s, Presentation: c.shown}, c.options)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: %v, expected %q", c.options, err, c.want)
		}
	}
}

// TestDescribedForEach checks that the description of a class is cached and that views are
// described separately, so that neither is used for the other. A view leaves out hidden
// attributes.
func TestDescribedForEach(t *testing.T) {
	s := newShop(t)
	svc := made(t, s)
	goods := service.Param{Name: "class", Value: "goods@s"}
	get := func() (class, list, sections string) {
		var errs [3]error
		class, errs[0] = ask(t, svc, "/getMeta/:class", "", goods)
		list, errs[1] = ask(t, svc, "/listMeta", "ancestor=goods&namespace=s")
		sections, errs[2] = ask(t, svc, "/getNavigationSections", "")
		if err := errors.Join(errs[:]...); err != nil {
			t.Fatal(err)
		}
		return class, list, sections
	}
	hidden := engine.NewViews(func(p *engine.Property) bool { return p.Name == "cost" })
	for _, views := range []*engine.Views{nil, hidden, nil, hidden} {
		s.views = views
		class, list, sections := get()
		for _, told := range []string{class, sections} {
			if strings.Contains(told, "cost") != (views == nil) {
				t.Errorf("with hidden attributes %v: got %s, want the attribute cost only if it is not hidden", views != nil, told)
			}
		}
		if !strings.HasPrefix(list, `[{"name":"book",`) || strings.Contains(class+list, "_hidden") {
			t.Errorf("got %s and %s, want the list to begin with book and no _hidden", class, list)
		}
	}
	if n := len(described(svc)); n != 2 {
		t.Errorf("got %d cached classes, want 2, without views", n)
	}
}

func described(svc service.Service) (classes []*engine.Class) {
	svc.(*meta).described.Range(func(c, _ any) bool {
		classes = append(classes, c.(*engine.Class))
		return true
	})
	return classes
}

// TestMissing checks that missing objects have their own error codes, and that files that cannot
// be read are reported as failures of the server.
func TestMissing(t *testing.T) {
	s := newShop(t)
	svc := made(t, s)
	book := service.Param{Name: "class", Value: "book@s"}
	for _, c := range []struct {
		path, query string
		param       service.Param
		err         error
		want        engine.Code
	}{
		{"/getMeta/:class", "", service.Param{Name: "class", Value: "book"}, nil, engine.NotFound},
		{"/ancestor/:class", "namespace=s", service.Param{Name: "class", Value: "pen"}, nil, engine.NotFound},
		{"/listMeta", "ancestor=pen@s", service.Param{}, nil, engine.NotFound},
		{"/getItemViewModel/:class", "", book, nil, engine.NotFound},
		{"/getItemViewModel/:class", "", book, errors.New("broken"), engine.Internal},
		{"/getNavigationSections", "", service.Param{}, errors.New("broken"), engine.Internal},
		{"/getMask/:name", "", service.Param{Name: "name", Value: "m"}, errors.New("broken"), engine.Internal},
		{"/getMask/:name", "%zz", service.Param{Name: "name", Value: "m"}, nil, engine.Invalid},
	} {
		s.err = c.err
		if body, err := ask(t, svc, c.path, c.query, c.param); err == nil || engine.CodeOf(err) != c.want {
			t.Errorf("%s: got %q, %v, want code %v", c.path, body, err, c.want)
		}
	}
	s.err = nil
	if body, err := ask(t, svc, "/ancestor/:class", "", service.Param{Name: "class", Value: "goods@s"}); body != "" || err != nil {
		t.Errorf("a class without an ancestor: got %q, %v, want an empty body", body, err)
	}
	if body, err := ask(t, svc, "/getMask/:name", "", service.Param{Name: "name", Value: "m"}); body != "{}" || err != nil {
		t.Errorf("an unknown mask: got %q, %v, want {}", body, err)
	}
}
