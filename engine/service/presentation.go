package service

import (
	"strings"

	"restsrv/engine"
)

// Presentation holds the parts of an application that describe its user interface: navigation, forms and lists of
// classes, and workflows. The server only publishes them. A Presentation is immutable. If a file cannot be read,
// methods that need the file return the error. For an object that does not exist, methods return nil.
//
// The code of a section or a node is namespace@name. If a code has no namespace, the section or node belongs to the
// application itself.
type Presentation interface {
	// Sections returns the sections of the navigation, ordered by name.
	Sections() ([]*NavigationSection, error)
	// Section returns the section with that code.
	Section(code string) (*NavigationSection, error)
	// Nodes returns nodes of a section in their order, or nodes of all sections if section is "". If parent is "",
	// these are the top-level nodes. Otherwise they are the nodes below the node with the code parent, which must be
	// in the section. The result is empty if the section or the parent does not exist.
	Nodes(section, parent string) ([]*NavigationNode, error)
	// Node returns the node with that code.
	Node(code string) (*NavigationNode, error)
	// NodeOf returns the node that lists the items of a class.
	NodeOf(c *engine.Class) (*NavigationNode, error)
	// ViewModel returns the view model of a class. It looks at the class and then at its ancestors, nearest first. For
	// each of these classes it first looks for a view model for the given node, and then for a view model without a
	// node. If node is "", it looks only for view models without a node. If a view for collections does not exist, it
	// returns the list view. If a view for creation or details does not exist, it returns the item view.
	ViewModel(kind ViewKind, c *engine.Class, node string) (*ViewModel, error)
	// StateViewModel returns the form of a class in a state of a workflow. workflow is name@namespace. The namespace
	// can be omitted if it is that of the class.
	StateViewModel(c *engine.Class, workflow, state string) (*ViewModel, error)
	// Workflows returns the workflows of a class, ordered by name, followed by the workflows of its ancestors.
	Workflows(c *engine.Class) ([]*Workflow, error)
	// Mask returns the input mask with that name, or {} if it does not exist.
	Mask(name string) (engine.Fields, error)
	// Validators returns the validators of input, ordered by name. These are the validators of the application, and
	// the built-in validators that the application does not replace by a validator of the same name.
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
	Said  engine.Fields // as written in the file; type, className, path and (except for items) caption are added, and its parts are ordered by orderNumber
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
	File      string        // the file that defines the workflow
	Written   engine.Fields // the content of the file
	Said      engine.Fields // the content for clients: namespace and name are added, entries without a name are left out
}

// NodeCode adds namespace to the code of a section or a node if the code has no namespace. It returns the code
// unchanged if namespace is "".
func NodeCode(code, namespace string) string {
	if code == "" || namespace == "" || strings.Contains(code, "@") {
		return code
	}
	return namespace + "@" + code
}

// WorkflowOf returns the workflow of a class with a name, or nil if there is no such workflow. name has the form
// name@namespace. If it has no namespace, the namespace of the class is used.
func WorkflowOf(p Presentation, c *engine.Class, name string) (*Workflow, error) {
	all, err := p.Workflows(c)
	for _, w := range all {
		if engine.FullName(w.Name, w.Namespace) == c.InNamespace(name) {
			return w, err
		}
	}
	return nil, err
}
