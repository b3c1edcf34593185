package data

import (
	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/describe"
	"restsrv/engine/script/js"
	"restsrv/engine/service"
)

// presentedKey is the key under which a VM keeps a presentation object, such as a navigation node or a view model.
// The field what is the definition of the object. The field view is the view of its class: the object leaves out
// attributes that are hidden in the view.
type presentedKey struct {
	what any
	view *engine.Class
}

// maxPresented is the maximum number of presentation objects that a VM keeps. Without a limit their number would
// grow, because views change with accounts and permissions.
const maxPresented = 5000

// presentationMethods are the methods of metaRepo that need the presentation of an application.
var presentationMethods = [...]string{
	"getNavigationSections", "getNavigationSection", "getNode", "getNodes", "getNodeForClassname",
	"getListViewModel", "getCollectionViewModel", "getItemViewModel", "getCreationViewModel", "getDetailViewModel",
	"getWorkflows", "getWorkflow", "getWorkflowView", "getMask", "getValidators",
}

// presenter implements the methods of metaRepo for the presentation of an application: navigation, views, workflows,
// masks and validators. Its results do not contain anything that is hidden from the account of the call.
type presenter struct {
	*Binding
	service.Presentation
	class func(name, namespace goja.Value) *engine.Class // finds a class; throws if there is no such class
}

// method is the Go code of a method of metaRepo.
type method = func(goja.FunctionCall) goja.Value

// addPresentation adds the methods for navigation, views, workflows, masks and validators to metaRepo. If the
// application has no presentation, these methods throw an error.
func (h *Binding) addPresentation(methods *js.Methods, add func(string, method), class func(name, namespace goja.Value) *engine.Class) {
	said := h.Service.Env.Presentation
	if said == nil {
		h.Refuse(methods, "metaRepo", "there is no application here whose presentation is known", presentationMethods[:]...)
		return
	}
	p := &presenter{h, said, class}
	p.addNavigation(add)
	add("getListViewModel", p.viewModel(1, service.ListView))
	add("getCollectionViewModel", p.viewModel(2, service.CollectionView))
	add("getItemViewModel", p.viewModel(1, service.ItemView))
	add("getCreationViewModel", p.viewModel(1, service.CreateView))
	add("getDetailViewModel", p.viewModel(1, service.DetailView))
	p.addWorkflows(add)
	add("getMask", func(call goja.FunctionCall) goja.Value {
		mask, err := p.Mask(textOf(call.Argument(0)))
		p.throwError(err)
		return p.FromDecoded(mask)
	})
	add("getValidators", func(goja.FunctionCall) goja.Value {
		validators, err := p.Validators()
		p.throwError(err)
		list := make([]any, len(validators))
		for i, v := range validators {
			list[i] = p.FromDecoded(v)
		}
		return p.JS.NewArray(list...)
	})
}

// textOf returns v if it is a string, otherwise "".
func textOf(v goja.Value) string {
	text, _ := v.Export().(string)
	return text
}

// codeOf returns the full code of a navigation section or node. Both arguments come from the script; namespace may be
// missing.
func codeOf(code, namespace goja.Value) string {
	return service.NodeCode(textOf(code), textOf(namespace))
}

func (p *presenter) throwError(err error) {
	if err != nil {
		panic(p.ErrorOf(err, p.CallStack()))
	}
}

// objectOnce returns the presentation object for a definition (what) in a view of a class. If the VM has not created
// the object yet, it calls build.
func (p *presenter) objectOnce(what any, view *engine.Class, build func(*goja.Object)) *goja.Object {
	key := presentedKey{what, view}
	if o := p.presented[key]; o != nil {
		return o
	}
	if p.presented == nil || len(p.presented) >= maxPresented {
		p.presented = map[presentedKey]*goja.Object{}
	}
	o := p.JS.NewObject()
	build(o)
	p.presented[key] = o
	return o
}

func (p *presenter) fillObject(o *goja.Object, said engine.Fields) {
	for _, f := range said {
		p.Put(o, f.Name, p.FromDecoded(f.Value))
	}
}

func (p *presenter) addNavigation(add func(string, method)) {
	add("getNavigationSections", func(call goja.FunctionCall) goja.Value {
		sections, err := p.Sections()
		p.throwError(err)
		namespace, o := textOf(call.Argument(0)), p.JS.NewObject()
		for _, s := range sections {
			if namespace == "" || namespace == s.Namespace {
				p.Put(o, s.Name, p.sectionObject(s))
			}
		}
		return o
	})
	add("getNavigationSection", func(call goja.FunctionCall) goja.Value {
		section, err := p.Section(codeOf(call.Argument(0), call.Argument(1)))
		p.throwError(err)
		if section == nil {
			return goja.Null()
		}
		return p.sectionObject(section)
	})
	add("getNode", func(call goja.FunctionCall) goja.Value {
		n, err := p.Node(codeOf(call.Argument(0), call.Argument(1)))
		p.throwError(err)
		if n == nil {
			return goja.Null()
		}
		return p.nodeObject(n, p.anyView())
	})
	add("getNodes", func(call goja.FunctionCall) goja.Value {
		nodes, err := p.Nodes(codeOf(call.Argument(0), call.Argument(2)), codeOf(call.Argument(1), call.Argument(2)))
		p.throwError(err)
		return p.JS.NewArray(p.nodeList(nodes, p.anyView())...)
	})
	add("getNodeForClassname", func(call goja.FunctionCall) goja.Value {
		n, err := p.NodeOf(p.class(call.Argument(0), call.Argument(1)))
		p.throwError(err)
		if n == nil {
			return goja.Null()
		}
		return p.JS.ToValue(n.Code)
	})
}

// anyView returns the view of an arbitrary class. It serves as a key for objects that do not belong to one class.
// When the permissions of an account change, all its views change, so this key changes too.
func (p *presenter) anyView() *engine.Class {
	if all := p.Service.Env.Meta.Classes(); len(all) > 0 {
		return p.viewFor(all[0])
	}
	return nil
}

func (p *presenter) sectionObject(s *service.NavigationSection) goja.Value {
	view := p.anyView()
	return p.objectOnce(s, view, func(o *goja.Object) {
		p.fillObject(o, s.Said)
		nodes := p.JS.NewObject()
		for _, n := range s.Roots {
			p.Put(nodes, n.Code, p.nodeObject(n, view))
		}
		p.Put(o, "nodes", nodes)
	})
}

func (p *presenter) nodeList(nodes []*service.NavigationNode, view *engine.Class) []any {
	list := make([]any, len(nodes))
	for i, n := range nodes {
		list[i] = p.nodeObject(n, view)
	}
	return list
}

func (p *presenter) nodeObject(n *service.NavigationNode, view *engine.Class) goja.Value {
	return p.objectOnce(n, view, func(o *goja.Object) {
		said := n.Said
		if c, err := p.Service.Env.Meta.Class(n.Class); err == nil {
			said = describe.Redact(p.viewFor(c), said)
		}
		p.fillObject(o, said)
		p.Put(o, "children", p.JS.NewArray(p.nodeList(n.Children, view)...))
	})
}

// viewModel returns the method of metaRepo for one kind of view. The argument 0 of the method is a class, the
// argument at is a navigation node. The method for collections has the name of a collection as argument 1; it is
// ignored, because views are not defined for single collections.
func (p *presenter) viewModel(at int, kind service.ViewKind) method {
	return func(call goja.FunctionCall) goja.Value {
		c := p.class(call.Argument(0), call.Argument(at+1))
		m, err := p.ViewModel(kind, c, textOf(call.Argument(at)))
		p.throwError(err)
		if m == nil {
			return goja.Null()
		}
		return p.modelObject(m, c)
	}
}

func (p *presenter) modelObject(m *service.ViewModel, c *engine.Class) goja.Value {
	return p.objectOnce(m, c, func(o *goja.Object) { p.fillObject(o, describe.Redact(c, m.Said)) })
}

func (p *presenter) addWorkflows(add func(string, method)) {
	add("getWorkflows", func(call goja.FunctionCall) goja.Value {
		c := p.class(call.Argument(0), call.Argument(1))
		found, err := p.Workflows(c)
		p.throwError(err)
		list := make([]any, len(found))
		for i, w := range found {
			list[i] = p.workflowObject(w, c)
		}
		return p.JS.NewArray(list...)
	})
	add("getWorkflow", func(call goja.FunctionCall) goja.Value {
		c := p.class(call.Argument(0), call.Argument(2))
		w, err := service.WorkflowOf(p, c, textOf(call.Argument(1)))
		p.throwError(err)
		if w == nil {
			return goja.Null()
		}
		return p.workflowObject(w, c)
	})
	add("getWorkflowView", func(call goja.FunctionCall) goja.Value {
		c := p.class(call.Argument(0), call.Argument(3))
		m, err := p.StateViewModel(c, textOf(call.Argument(1)), textOf(call.Argument(2)))
		p.throwError(err)
		if m == nil {
			return goja.Null()
		}
		return p.modelObject(m, c)
	})
}

// workflowObject returns the object for a workflow: its definition, and indexes with which a script finds states and
// transitions by name.
func (p *presenter) workflowObject(w *service.Workflow, c *engine.Class) goja.Value {
	return p.objectOnce(w, c, func(o *goja.Object) {
		p.fillObject(o, describe.Redact(c, w.Said))
		p.addIndex(o, "statesByName", "states", "name", false)
		p.addIndex(o, "transitionsByName", "transitions", "name", false)
		p.addIndex(o, "transitionsBySrc", "transitions", "startState", true)
		p.addIndex(o, "transitionsByDest", "transitions", "finishState", true)
	})
}

// addIndex adds a property to o that is not enumerable. The property contains the elements of the array o[list],
// keyed by their member o[list][i][by]. For example, statesByName maps the name of a state to the state. If many is
// true, each value is an array of the elements with the same key.
func (p *presenter) addIndex(o *goja.Object, name, list, by string, many bool) {
	index := p.JS.NewObject()
	_ = o.DefineDataProperty(name, index, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	elements, ok := o.Get(list).(*goja.Object)
	if !ok {
		return
	}
	keys := map[string]bool{}
	grouped := map[string][]any{}
	var order []string
	for i := range int(elements.Get("length").ToInteger()) {
		e := elements.Get(p.IndexText(i)).(*goja.Object)
		key := ""
		if v := e.Get(by); v != nil {
			key = textOf(v)
		}
		if !many {
			p.Put(index, key, e)
			continue
		}
		if !keys[key] {
			keys[key], order = true, append(order, key)
		}
		grouped[key] = append(grouped[key], e)
	}
	for _, key := range order {
		p.Put(index, key, p.JS.NewArray(grouped[key]...))
	}
}
