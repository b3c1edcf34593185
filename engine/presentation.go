package engine

import "strings"

// Presentation is what an application says of how it is shown to people: its
// navigation, the forms and lists of its classes, and their workflows. The
// server keeps it for those who show it and does nothing of it by itself. It
// never changes; a file that cannot be read is the error of what it is asked
// for. What is not there is nil.
//
// Codes of sections and nodes are namespace@name; those without a namespace are
// of the application's own.
type Presentation interface {
	// Sections returns the sections of the navigation, ordered by name.
	Sections() ([]*NavigationSection, error)
	// Section returns the section of that code.
	Section(code string) (*NavigationSection, error)
	// Nodes returns the nodes of a section that are below no other, or those
	// below the parent of that code, in their order; of all sections when it is
	// "". There are none of a section or below a parent that is not there.
	Nodes(section, parent string) ([]*NavigationNode, error)
	// Node returns the node of that code.
	Node(code string) (*NavigationNode, error)
	// NodeOf returns the node that lists the items of a class.
	NodeOf(c *Class) (*NavigationNode, error)
	// ViewModel returns the first there is of: that of a class at a node, that
	// of the class, those of its ancestors. At no node when that is "". A class
	// without a view for collections has that of lists instead, without one for
	// creation or details that of items.
	ViewModel(kind ViewKind, c *Class, node string) (*ViewModel, error)
	// StateViewModel returns the form of a class in a state of a workflow, which
	// is named name@namespace, or name when it has the namespace of the class.
	StateViewModel(c *Class, workflow, state string) (*ViewModel, error)
	// Workflows returns those of a class, ordered by name, then those of its
	// ancestors.
	Workflows(c *Class) ([]*Workflow, error)
	// Mask returns the input mask of that name, {} when there is none.
	Mask(name string) (Fields, error)
	// Validators returns the validators of input, ordered by name: built-in
	// ones, and those of the application, which may replace them.
	Validators() ([]Fields, error)
}

// NavigationSection is a part of the navigation.
type NavigationSection struct {
	Name      string
	Namespace string
	Said      Fields // as written, completed by namespace and itemType
	Roots     []*NavigationNode
}

// NavigationNode is an entry of the navigation, which may have others below it.
type NavigationNode struct {
	Code      string
	Namespace string
	Section   string // namespace@name
	Class     string // full name of the class whose items it lists, "" for none
	Said      Fields // as written, completed by itemType, section and namespace
	Children  []*NavigationNode
}

// ViewModel says which attributes a form or a list of a class shows, and how.
type ViewModel struct {
	Class string // full name
	Said  Fields // as written, completed by type, className, path and, but for items, caption; its parts ordered by orderNumber
}

// ViewKind is what a view model is for.
type ViewKind string

// The kinds; files have their names.
const (
	ListView       ViewKind = "list"
	CollectionView ViewKind = "collection"
	ItemView       ViewKind = "item"
	CreateView     ViewKind = "create"
	DetailView     ViewKind = "detail"
)

// Workflow is the states of the items of a class, and the ways between them.
type Workflow struct {
	Name      string
	Namespace string
	Class     string // full name
	File      string // that describes it
	Written   Fields // the content of the file
	Said      Fields // the same for clients: with namespace and name, without entries that have no name
}

// NodeCode completes the code of a section or a node by a namespace, if it has
// none itself and one is given.
func NodeCode(code, namespace string) string {
	if code == "" || namespace == "" || strings.Contains(code, "@") {
		return code
	}
	return namespace + "@" + code
}

// WorkflowOf returns the workflow of a class that is named name@namespace, or
// name when it has the namespace of the class; nil when there is none.
func WorkflowOf(p Presentation, c *Class, name string) (*Workflow, error) {
	all, err := p.Workflows(c)
	for _, w := range all {
		if FullName(w.Name, w.Namespace) == c.InNamespace(name) {
			return w, err
		}
	}
	return nil, err
}
