package meta

import (
	"cmp"
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
	"restsrv/engine/service"
)

// viewsDir is the folder of the views, with files <class>/<kind>.json. A view for only one node of the navigation is
// in <node>/<class>/<kind>.json. stateViewsDir is the folder of the views for states of workflows, with files
// <workflow>/<state>/<class>.json. In older applications, these files are in the subfolder oldStateViews of viewsDir.
const (
	viewsDir      = "views"
	stateViewsDir = "wfviews"
	oldStateViews = "workflows"
)

// models holds the view models of an application. The names of the files show which models exist. A file is read when
// its model is first used.
type models struct {
	all   []*model // in the order of the files
	byKey map[modelKey]*model
}

// modelKey identifies a view model.
type modelKey struct {
	kind  service.ViewKind
	class string // full name
	path  string // namespace@code of a node, "workflows:name@namespace.state", or ""
}

type model struct {
	key  modelKey
	file string
	lazy lazy[*service.ViewModel]
}

var viewKinds = []string{string(service.ListView), string(service.CollectionView), string(service.ItemView), string(service.CreateView), string(service.DetailView)}

func indexModels(r *presentationReader) *models {
	m := &models{byKey: map[modelKey]*model{}}
	r.walkDir(viewsDir, func(file string, folders []string) {
		kind := baseName(file)
		switch known := slices.Contains(viewKinds, kind); {
		case !known && len(folders) == 3 && folders[0] == oldStateViews:
			m.addState(r, file, folders[1:])
		case !known:
			r.warn(file, engine.Quote(kind)+", which is no kind of view", jsonfile.Choice(kind, viewKinds))
		case len(folders) == 0:
			r.warn(file, "a view of no class", "a file in the folder of a class")
		default:
			last := len(folders) - 1
			key := modelKey{kind: service.ViewKind(kind), class: folders[last]}
			if last > 0 {
				key.path = fullNode(strings.Join(folders[:last], "."), r.namespace, r.namespace)
			}
			m.addModel(r, file, key)
		}
	})
	r.walkDir(stateViewsDir, func(file string, folders []string) {
		if len(folders) != 2 {
			r.warn(file, "a view of no state", "a file in the folders of a workflow and a state, such as "+stateViewsDir+"/order@shop/new/order@shop.json")
			return
		}
		m.addState(r, file, folders)
	})
	return m
}

func (r *presentationReader) warn(file, found, expected string) {
	jsonfile.Object{File: file, Faults: &r.faults}.Warn("", found, expected)
}

func (m *models) addState(r *presentationReader, file string, folders []string) {
	m.addModel(r, file, modelKey{kind: service.ItemView, class: baseName(file), path: statePath(folders[0], folders[1], r.namespace)})
}

// statePath returns the path of view models for a state of a workflow (see modelKey), such as
// workflows:order@shop.new.
func statePath(workflow, state, namespace string) string {
	if !strings.Contains(workflow, "@") {
		workflow = engine.FullName(workflow, namespace)
	}
	return statePrefix + workflow + "." + state
}

const statePrefix = "workflows:"

func isStatePath(path string) bool { return strings.HasPrefix(path, statePrefix) }

func (m *models) addModel(r *presentationReader, file string, key modelKey) {
	if !strings.Contains(key.class, "@") {
		key.class = engine.FullName(key.class, r.namespace)
	}
	one := &model{key: key, file: file}
	if other := m.byKey[key]; other != nil {
		r.warn(other.file, "a view that "+file+" describes, too", "one file for a view: that one is shown")
		m.all = slices.DeleteFunc(m.all, func(m *model) bool { return m == other })
	}
	m.byKey[key] = one
	m.all = append(m.all, one)
}

// readModel reads the file of a view model. It returns nil if the file does not contain an object.
func (m *model) readModel(r *presentationReader) *service.ViewModel {
	o, ok := r.readObject(m.file, "a view of a class", mistake.PresentationFile)
	if !ok {
		return nil
	}
	r.className(o, "", m.key.class, "")
	var class *engine.Class
	if r.classes != nil {
		class, _ = r.classes.Class(m.key.class) // ignore the error: className has already reported a missing class
	}
	said := arrangeParts(o, class)
	said = said.With("type", string(m.key.kind)).With("className", m.key.class).With("path", m.key.path)
	if _, captioned := said.Get("caption"); !captioned && (m.key.kind != service.ItemView || isStatePath(m.key.path)) {
		said = said.With("caption", "") // as in IONDV, which translates the captions of all views except item views
	}
	return &service.ViewModel{Class: m.key.class, Said: said}
}

// arrangeParts sorts the parts of a view, such as columns and fields, by orderNumber, and checks them. It does the
// same with parts that are nested in parts. class has the attributes that the parts show; if it is nil, arrangeParts
// does not check the names of attributes.
func arrangeParts(o jsonfile.Object, class *engine.Class) engine.Fields {
	for i, f := range o.Fields {
		ordered := f.Name == "columns" || f.Name == "fields" || f.Name == "fullFields" || f.Name == "shortFields"
		if !ordered && f.Name != "tabs" {
			continue
		}
		list := o.List(f.Name)
		parts := make([]any, 0, len(list))
		for j, v := range list {
			part := o.Within(jsonfile.Element(o.At(f.Name), j), nil)
			fields, ok := v.(engine.Fields)
			if !ok {
				part.Report(mistake.ViewPart, part.Path, jsonfile.Describe(v), "an object")
				continue
			}
			part.Fields = fields
			parts = append(parts, arrangeParts(part, shownBy(part, class)))
		}
		if ordered {
			slices.SortStableFunc(parts, func(a, b any) int {
				return cmp.Compare(orderNumber(a.(engine.Fields)), orderNumber(b.(engine.Fields)))
			})
		}
		if f.Value != nil {
			o.Fields[i].Value = parts
		}
	}
	return o.Fields
}

// shownBy returns the class that has the attributes shown by the nested parts of a part. If the part shows a reference
// or a collection, this is the target class; otherwise it is the parameter class. If class does not have the attribute
// that the part shows, shownBy adds a warning and returns nil.
func shownBy(part jsonfile.Object, class *engine.Class) *engine.Class {
	name := part.Text("property")
	if name == "" || class == nil {
		return class
	}
	way := class.Path(name)
	if way == nil && isStructure(class, name) {
		return class
	}
	if way == nil {
		part.Warn(part.At("property"), engine.Quote(name)+", which is no attribute of class "+class.FullName, jsonfile.Choice(name, attributeNames(class)))
		return nil
	}
	if target := way[len(way)-1].Target; target != nil {
		return target
	}
	return class
}

// isStructure reports whether the class file declares a struct attribute with this name. Views show such an attribute
// as a whole, but the linked class has only its parts.
func isStructure(c *engine.Class, name string) bool {
	return slices.ContainsFunc(c.Properties, func(p *engine.Property) bool { return strings.HasPrefix(p.Name, name+partSeparator) })
}

func (p *Presentation) viewModel(key modelKey) (*service.ViewModel, error) {
	all, err := p.models.get(p, "the views of the application", indexModels)
	if err != nil {
		return nil, err
	}
	m := all.byKey[key]
	if m == nil {
		return nil, nil
	}
	return m.lazy.get(p, "a view of class "+key.class, m.readModel)
}

// instead maps a kind of view to the kind that is used if a class has no view of the first kind.
var instead = map[service.ViewKind]service.ViewKind{
	service.CollectionView: service.ListView, service.CreateView: service.ItemView, service.DetailView: service.ItemView,
}

// ViewModel implements service.Presentation.
func (p *Presentation) ViewModel(kind service.ViewKind, c *engine.Class, node string) (*service.ViewModel, error) {
	if node != "" {
		node = fullNode(node, p.namespace, p.namespace)
	}
	for at := c; at != nil; at = at.Ancestor {
		for _, path := range []string{node, ""} {
			if v, err := p.viewModel(modelKey{kind, at.FullName, path}); v != nil || err != nil {
				return v, err
			}
		}
	}
	if other, ok := instead[kind]; ok {
		return p.ViewModel(other, c, node)
	}
	return nil, nil
}

// StateViewModel implements service.Presentation.
func (p *Presentation) StateViewModel(c *engine.Class, workflow, state string) (*service.ViewModel, error) {
	return p.viewModel(modelKey{service.ItemView, c.FullName, statePath(c.InNamespace(workflow), state, p.namespace)})
}
