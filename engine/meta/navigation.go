package meta

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
	"restsrv/engine/service"
)

// navigationDir is the folder of the navigation. For each section it contains a file <name>.section.json, and a folder
// <name> with a file for each node of the section.
const navigationDir = "navigation"

// navigation is the tree of sections and nodes of an application.
type navigation struct {
	sections []*service.NavigationSection
	nodes    map[string]*service.NavigationNode   // by namespace@code
	roots    map[string][]*service.NavigationNode // topmost nodes by section; the key "" has those of all sections
	lists    map[string]*service.NavigationNode   // by class, the node that lists the items of the class
}

// classNode is the type of nodes that list the items of a class.
const classNode = json.Number("1")

func readNavigation(r *presentationReader) *navigation {
	n := &navigation{nodes: map[string]*service.NavigationNode{}, roots: map[string][]*service.NavigationNode{}, lists: map[string]*service.NavigationNode{}}
	objects := map[*service.NavigationNode]jsonfile.Object{}
	var nodes []*service.NavigationNode
	r.walkDir(navigationDir, func(file string, folders []string) {
		if strings.HasSuffix(baseName(file), ".section") {
			n.addSection(r, file)
			return
		}
		o, ok := r.readObject(file, "a node of the navigation", mistake.PresentationFile)
		if !ok {
			return
		}
		node := readNode(r, o, strings.Join(folders, "/"))
		if node == nil {
			return
		}
		key := nodeKey(node.Namespace, node.Code)
		if other := n.nodes[key]; other != nil {
			objects[other].Warn("code", "the code "+engine.Quote(node.Code)+", which "+file+" has, too", "each code once: that one is shown")
			nodes = slices.DeleteFunc(nodes, func(n *service.NavigationNode) bool { return n == other })
		}
		n.nodes[key], objects[node] = node, o
		nodes = append(nodes, node)
	})
	slices.SortStableFunc(nodes, func(a, b *service.NavigationNode) int { return cmp.Compare(orderNumber(a.Said), orderNumber(b.Said)) })
	for _, node := range nodes {
		if node.Class != "" {
			n.lists[node.Class] = node
		}
		dot := strings.LastIndexByte(node.Code, '.')
		if dot < 0 {
			n.roots[""] = append(n.roots[""], node)
			n.roots[node.Section] = append(n.roots[node.Section], node)
			continue
		}
		if parent := n.nodes[nodeKey(node.Namespace, node.Code[:dot])]; parent != nil {
			parent.Children = append(parent.Children, node)
		} else {
			objects[node].Warn("code", "a node below "+engine.Quote(node.Code[:dot])+", which is not there", "a node of that code, without which this one is shown nowhere")
		}
	}
	slices.SortStableFunc(n.sections, func(a, b *service.NavigationSection) int { return cmp.Compare(a.Name, b.Name) })
	for _, s := range n.sections {
		s.Roots = n.roots[nodeKey(s.Namespace, s.Name)]
	}
	return n
}

// nodeKey returns the full name of a section or a node.
func nodeKey(namespace, name string) string { return namespace + "@" + name }

func (n *navigation) addSection(r *presentationReader, file string) {
	o, ok := r.readObject(file, "a section of the navigation", mistake.PresentationFile)
	if !ok {
		return
	}
	s := &service.NavigationSection{Name: r.readName(o, "name"), Namespace: textOr(o.Fields, "namespace", r.namespace)}
	if s.Name == "" {
		return
	}
	s.Said = o.Fields.With("itemType", "section").With("namespace", s.Namespace)
	for i, other := range n.sections {
		if other.Name == s.Name && other.Namespace == s.Namespace {
			o.Warn("name", "the section "+engine.Quote(s.Name)+" again", "each section once: this one is shown")
			n.sections[i] = s
			return
		}
	}
	n.sections = append(n.sections, s)
}

// readNode reads a node of the navigation. folder is the name of the section, which is the name of the file's folder,
// or "". readNode returns nil if the node has no code.
func readNode(r *presentationReader, o jsonfile.Object, folder string) *service.NavigationNode {
	node := &service.NavigationNode{Code: r.readName(o, "code"), Namespace: textOr(o.Fields, "namespace", r.namespace)}
	if node.Code == "" {
		return nil
	}
	section := folder
	if section == "" {
		if section = textOr(o.Fields, "section", ""); section == "" {
			o.Warn("", "a node in no section", "a file in the folder of a section, such as "+path.Join(navigationDir, "main", path.Base(o.File)))
		}
	}
	if section != "" {
		node.Section = fullNode(section, node.Namespace, r.namespace)
	}
	if o.Value("type") == classNode {
		node.Class = r.className(o, "classname", o.Text("classname"), node.Namespace)
	}
	for _, name := range []string{"sorting", "pathChains"} {
		o.List(name)
	}
	node.Said = o.Fields.With("itemType", "node").With("section", node.Section).With("namespace", node.Namespace)
	return node
}

// fullNode returns namespace@name for the name of a section or a node. A name without @ gets the given namespace. The
// parameter own is the namespace of the application. If a name has the form name@own, like the name of a class, the
// two parts are swapped.
func fullNode(name, namespace, own string) string {
	first, last, ok := strings.Cut(name, "@")
	switch {
	case !ok:
		return nodeKey(namespace, name)
	case last == own && first != own:
		return nodeKey(last, first)
	}
	return name
}

func (p *Presentation) loadNavigation() (*navigation, error) {
	return p.navigation.get(p, "the navigation of the application", readNavigation)
}

// Sections implements service.Presentation. The caller must not change the results of this and the other methods of
// the navigation.
func (p *Presentation) Sections() ([]*service.NavigationSection, error) {
	n, err := p.loadNavigation()
	if err != nil {
		return nil, err
	}
	return n.sections, nil
}

// Section implements service.Presentation.
func (p *Presentation) Section(code string) (*service.NavigationSection, error) {
	n, err := p.loadNavigation()
	if err != nil {
		return nil, err
	}
	code = fullNode(code, p.namespace, p.namespace)
	for _, s := range n.sections {
		if nodeKey(s.Namespace, s.Name) == code {
			return s, nil
		}
	}
	return nil, nil
}

// Nodes implements service.Presentation.
func (p *Presentation) Nodes(section, parent string) ([]*service.NavigationNode, error) {
	n, err := p.loadNavigation()
	if err != nil {
		return nil, err
	}
	if section != "" {
		section = fullNode(section, p.namespace, p.namespace)
	}
	if parent == "" {
		return n.roots[section], nil
	}
	node := n.nodes[fullNode(parent, p.namespace, p.namespace)]
	if node == nil || section != "" && section != node.Section {
		return nil, nil
	}
	return node.Children, nil
}

// Node implements service.Presentation.
func (p *Presentation) Node(code string) (*service.NavigationNode, error) {
	n, err := p.loadNavigation()
	if err != nil {
		return nil, err
	}
	return n.nodes[fullNode(code, p.namespace, p.namespace)], nil
}

// NodeOf implements service.Presentation. If several nodes list the items of the class, it returns the last of these
// nodes in the order of the navigation.
func (p *Presentation) NodeOf(c *engine.Class) (*service.NavigationNode, error) {
	n, err := p.loadNavigation()
	if err != nil {
		return nil, err
	}
	return n.lists[c.FullName], nil
}
