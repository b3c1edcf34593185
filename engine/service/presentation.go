package service

import (
	"strings"

	"restsrv/engine"
)

// Presentation holds the parts of an application that describe its user
// interface: navigation, forms and lists of classes, and workflows. The server
// only publishes them. A Presentation is immutable. If a file cannot be read,
// methods that need it return the error. They return nil for objects that do not
// exist.
//
// The code of a section or a node is namespace@name. A code without a namespace
// belongs to the application itself.
type Presentation interface {
	// Sections returns the sections of the navigation, ordered by name.
	Sections() ([]*NavigationSection, error)
	// Section returns the section with that code.
	Section(code string) (*NavigationSection, error)
	// Nodes returns nodes in their order. If parent is "", these are the top-level nodes of a
	// section. Otherwise they are the nodes below the node with the code parent, which must be in
	// the section. If section is "", nodes of all sections are returned. The result is empty if
	// the section or the parent does not exist.
	Nodes(section, parent string) ([]*NavigationNode, error)
	// Node returns the node with that code.
	Node(code string) (*NavigationNode, error)
	// NodeOf returns the node that lists the items of a class.
	NodeOf(c *engine.Class) (*NavigationNode, error)
	// ViewModel returns the view model of a class. It looks first at the class, and then at its
	// ancestors, nearest first. For each of them it looks for a view model at the given node,
	// and then for one without a node. If node is "", it looks only for the second. If no view
	// for collections exists, it returns the list view. If no view for creation or details
	// exists, it returns the item view.
	ViewModel(kind ViewKind, c *engine.Class, node string) (*ViewModel, error)
	// StateViewModel returns the form of a class in a state of a workflow. The
	// name of the workflow is name@namespace, or name if it is in the namespace
	// of the class.
	StateViewModel(c *engine.Class, workflow, state string) (*ViewModel, error)
	// Workflows returns the workflows of a class, ordered by name, and then the workflows of its
	// ancestors.
	Workflows(c *engine.Class) ([]*Workflow, error)
	// Mask returns the input mask with that name, or {} if it does not exist.
	Mask(name string) (engine.Fields, error)
	// Validators returns the validators of input, ordered by name. These are the built-in
	// validators and the validators of the application. A validator of the application replaces
	// a built-in one of the same name.
	Validators() ([]engine.Fields, error)
}

// NavigationSection is a part of the navigation.
type NavigationSection struct {
	Name      string
	Namespace string
	Said      engine.Fields // as written in the file; namespace and itemType are added
	Roots     []*NavigationNode
}

// NavigationNode is an entry of the navigation, which may have child nodes.
type NavigationNode struct {
	Code      string
	Namespace string
	Section   string        // namespace@name
	Class     string        // full name of the class of the listed items; "" if there is none
	Said      engine.Fields // as written in the file; itemType, section and namespace are added
	Children  []*NavigationNode
}

// ViewModel defines the attributes that a form or a list of a class shows, and
// their layout.
type ViewModel struct {
	Class string        // full name
	Said  engine.Fields // as written, with type, className, path and (except for items) caption added; its parts are ordered by orderNumber
}

// ViewKind is the purpose of a view model.
type ViewKind string

// The kinds of view models, named like their files.
const (
	ListView       ViewKind = "list"
	CollectionView ViewKind = "collection"
	ItemView       ViewKind = "item"
	CreateView     ViewKind = "create"
	DetailView     ViewKind = "detail"
)

// Workflow defines the states of the items of a class and the transitions
// between them.
type Workflow struct {
	Name      string
	Namespace string
	Class     string        // full name
	File      string        // file that defines it
	Written   engine.Fields // the content of the file
	Said      engine.Fields // the same for clients: namespace and name are added, entries without a name are left out
}

// NodeCode adds the namespace to the code of a section or a node if the code has
// none and namespace is not "".
func NodeCode(code, namespace string) string {
	if code == "" || namespace == "" || strings.Contains(code, "@") {
		return code
	}
	return namespace + "@" + code
}

// WorkflowOf returns a workflow of a class. name has the form name@namespace; without a
// namespace, that of the class is used. WorkflowOf returns nil if there is no such workflow.
func WorkflowOf(p Presentation, c *engine.Class, name string) (*Workflow, error) {
	all, err := p.Workflows(c)
	for _, w := range all {
		if engine.FullName(w.Name, w.Namespace) == c.InNamespace(name) {
			return w, err
		}
	}
	return nil, err
}
