package engine

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"sync"
)

// PropertyType is the type number of class metadata.
type PropertyType int

// The property types, with the numbers of class files.
const (
	String     PropertyType = 0
	Text       PropertyType = 1
	HTML       PropertyType = 2
	URL        PropertyType = 3
	Image      PropertyType = 4
	File       PropertyType = 5
	Int        PropertyType = 6
	Real       PropertyType = 7
	DecimalNum PropertyType = 8
	DateTime   PropertyType = 9
	Boolean    PropertyType = 10
	Password   PropertyType = 11
	GUID       PropertyType = 12
	Reference  PropertyType = 13
	Collection PropertyType = 14
	Set        PropertyType = 15
	Struct     PropertyType = 16
	Custom     PropertyType = 17
	User       PropertyType = 18
	Period     PropertyType = 60
	Geo        PropertyType = 100
	FileList   PropertyType = 110
	Schedule   PropertyType = 210
)

var typeNames = map[PropertyType]string{
	String: "string", Text: "text", HTML: "html", URL: "url", Image: "image", File: "file",
	Int: "int", Real: "real", DecimalNum: "decimal", DateTime: "datetime", Boolean: "boolean",
	Password: "password", GUID: "guid", Reference: "reference", Collection: "collection",
	Set: "set", Struct: "struct", Custom: "custom", User: "user", Period: "period",
	Geo: "geo", FileList: "filelist", Schedule: "schedule",
}

// String is the type's name as class files may write it.
func (t PropertyType) String() string {
	if n, ok := typeNames[t]; ok {
		return n
	}
	return "type " + strconv.Itoa(int(t))
}

// TypeByName returns the type that a class file names, in any case.
func TypeByName(name string) (PropertyType, bool) {
	for t, n := range typeNames {
		if strings.EqualFold(n, name) {
			return t, true
		}
	}
	return 0, false
}

// Known reports whether t is a type of class metadata.
func (t PropertyType) Known() bool { _, ok := typeNames[t]; return ok }

// Scalar reports whether a value of the type is one plain JSON value.
func (t PropertyType) Scalar() bool {
	switch t {
	case String, Text, HTML, URL, Int, Real, DecimalNum, DateTime, Boolean, Password, GUID, User:
		return true
	}
	return false
}

// Textual reports whether values of the type are kept as strings.
func (t PropertyType) Textual() bool {
	switch t {
	case String, Text, HTML, URL, Password, GUID, User:
		return true
	}
	return false
}

// Storage names the form in which values of the type are stored. Types of one storage
// can replace each other and share a column. Passwords have their own: a text would
// pass for a hash, and a hash would become readable. So has each type whose values are
// JSON, except that files and images are the same.
func (t PropertyType) Storage() string {
	switch {
	case t != Password && t.Textual():
		return "text"
	case t == Image:
		return File.String()
	}
	return t.String()
}

// Property is one named, typed value of a class.
type Property struct {
	Name         string
	Caption      string
	Hint         string
	Type         PropertyType
	Size         int // datetime: 1 second, 2 minute, 3 hour, 4 day; text: length checked in strict handling only
	Decimals     int
	Mode         int // datetime: 0 instant, 1 with its offset, 2 wall clock; the JSON is the instant in all modes
	OrderNumber  int
	Nullable     bool
	Optional     bool // an object may be created without a value, though it is not nullable
	Readonly     bool
	Indexed      bool
	Unique       bool
	Autoassigned bool
	Search       bool    // indexSearch: words of the value are found by Query.Search
	Eager        bool    // eagerLoading: loaded into answers without being asked for
	Default      any     // decoded JSON (see Fields), nil for none
	Computed     Formula // computes the default of an insert instead; nil for none
	Definition   string  // full name of the class that declares it

	// Calculated attributes.
	Formula Formula // computes the value; nil for an ordinary one
	Cached  bool    // the value is computed when the item is written, and stored

	// References and collections.
	Target     *Class    // class of what it points at; nil for other types
	Subclasses []*Class  // classes that may be pointed at; empty for Target and all below it
	Back       *Property // reference of Target that points here: this property is then virtual
	Binding    *Property // property of this class that Back holds, instead of the key
	Mirror     *Property // collection of Target that is the other side of this one
	Display    *Semantic // display string of what it points at, instead of the target's own
	Conditions *Filter   // on what a collection loads; nil for all
	Nowhere    bool      // the class that it should point at, or its back reference, does not exist: paths through it are null
	Sorting    []Sort    // order of what a collection loads; insertion order ends it

	Selection    *Selection // values offered, with their labels; nil for none
	FileTypes    []string   // extensions of files offered by forms
	MaxFileCount int
	Thumbnails   []ThumbnailKind // what answers show of an image; see ImageStorage.Kinds

	Source Fields // the property as it was written, nil when no file describes it

	Index   int    // position in Class.Properties and in Values; set by Class.Init
	jsonKey []byte // `,"name":`
}

// ValueType is the type whose Go values the property holds (see Values): that
// of the target's key for a reference to a class whose key is one property,
// String for one whose key is several.
func (p *Property) ValueType() PropertyType {
	if p.Type != Reference || p.Target == nil {
		return p.Type
	}
	if key := p.Target.KeyProperties(); len(key) == 1 && key[0] != p {
		return key[0].ValueType()
	}
	return String
}

// Stored reports whether items keep a value of the property in their own row:
// not for collections, references through another class's attribute and
// calculated attributes that are computed when read.
func (p *Property) Stored() bool {
	return p.Type != Collection && p.Back == nil && (p.Formula == nil || p.Cached)
}

// Linked reports whether the property is a collection whose members are kept as
// links, and are not those that refer to the item.
func (p *Property) Linked() bool {
	return p.Type == Collection && p.Back == nil && p.Formula == nil && p.Target != nil
}

// NoClassAllowed stands in Property.Subclasses for no class at all.
var NoClassAllowed = &Class{}

// Selection is the list of values offered for a property; "<name>_str" on the
// wire is the label of the value.
type Selection struct {
	Rows []SelectionRow
}

// SelectionRow is a part of a Selection that is offered when its condition
// holds for the item. A plain list is one row without condition.
type SelectionRow struct {
	Condition Formula // nil for always
	Values    []SelectionValue
}

// SelectionValue is one value offered: as class files write it, and its label.
type SelectionValue struct {
	Key   any // decoded JSON
	Label string
}

// Class is the description of one kind of item. Fill the exported fields, then
// call Init; after that it is read-only and safe for concurrent use.
type Class struct {
	Name       string
	Namespace  string
	Version    string
	Caption    string
	Key        []string // names of the key properties
	Semantic   string   // source of the display string, "" for the id
	Label      Formula  // computes the display string instead of Semantic; nil for none
	Abstract   bool     // has no items of its own
	Struct     bool     // describes a part of other classes
	Ancestor   *Class
	Properties []*Property // own and inherited; those of a struct attribute stand in its place as "attribute$name"
	Container  string      // reference that makes a tree of the items, "" for none
	Journaling bool
	Staged     bool // its items move in workflows: set by who reads these, before the class is used

	// Names of the properties that the server stamps, "" for none.
	CreationTracker, ChangeTracker, CreatorTracker, EditorTracker string

	Indexes      []CompositeIndex
	Dependencies [][]string // paths of references to items whose cached values change with this one's

	Source Fields // the class as it was written, nil when no file describes it

	Descendants []*Class // all levels below, set by whoever links classes
	FullName    string   // name@namespace, or name alone

	byName   map[string]*Property
	key      []*Property
	semantic *Semantic
	needs    []*Load
	digest   []byte
	print    func() string // computes the fingerprint once; see Fingerprint
	jsonHead []byte        // `,"__class":"...","__classTitle":"..."`

	base   *Class // what this is a view of; nil for a class itself
	views  *Views
	hidden []bool // by Property.Index, what the view lacks; nil for nothing
}

// CompositeIndex is an index over several properties of a class.
type CompositeIndex struct {
	Properties []string
	Unique     bool
}

// FullName joins a class name and its namespace.
func FullName(name, namespace string) string {
	if namespace == "" {
		return name
	}
	return name + "@" + namespace
}

// InNamespace completes the name of a workflow, or of another class, by the
// namespace of c if it has none itself.
func (c *Class) InNamespace(name string) string {
	if strings.Contains(name, "@") {
		return name
	}
	return FullName(name, c.Namespace)
}

// Init orders the properties and finds the key. It must run once, before the
// class is used; Link follows when all classes have been through it.
func (c *Class) Init() error {
	c.FullName = FullName(c.Name, c.Namespace)
	sort.SliceStable(c.Properties, func(i, j int) bool {
		return c.Properties[i].OrderNumber < c.Properties[j].OrderNumber
	})
	c.byName = make(map[string]*Property, len(c.Properties))
	for i, p := range c.Properties {
		p.Index = i
		p.jsonKey = append(AppendString([]byte{','}, p.Name), ':')
		if c.byName[p.Name] != nil {
			return fmt.Errorf("class %s has two properties named %q", c.FullName, p.Name)
		}
		c.byName[p.Name] = p
	}
	c.key = nil
	for _, name := range c.Key {
		p := c.byName[name]
		if p == nil {
			return fmt.Errorf("class %s has no property %q, which its key names", c.FullName, name)
		}
		c.key = append(c.key, p)
	}
	if len(c.key) == 0 {
		return fmt.Errorf("class %s has no key", c.FullName)
	}
	c.semantic = CompileSemantic(c, c.Semantic)
	c.jsonHead = AppendString([]byte(`,"__class":`), c.FullName)
	c.jsonHead = AppendString(append(c.jsonHead, `,"__classTitle":`...), c.Caption)
	c.digest = c.hash()
	c.print = sync.OnceValue(c.fingerprint)
	return nil
}

// Link compiles what looks at other classes: the display string and what must
// be loaded for it and for calculated attributes. It must run once, after Init
// of all classes.
func (c *Class) Link() {
	c.semantic = CompileSemantic(c, c.Semantic)
	c.needs = needs(c)
	c.print = sync.OnceValue(c.fingerprint)
}

// Needs are the references and collections that must be loaded with an item to
// compute its display string, its labels and its calculated attributes, none
// of them Shown. The result is shared: do not change it.
func (c *Class) Needs() []*Load { return c.needs }

// Property returns the property of that name, own or inherited, or nil.
func (c *Class) Property(name string) *Property { return c.byName[name] }

// KeyProperties returns the properties that make the id.
func (c *Class) KeyProperties() []*Property { return c.key }

// Root is the topmost ancestor; all classes below one root share a table.
func (c *Class) Root() *Class {
	c = c.Base()
	for c.Ancestor != nil {
		c = c.Ancestor
	}
	return c
}

// IDSeparator joins the parts of a composite key.
const IDSeparator = "_"

// ID returns the text form of the key in v, or "" when a part is missing.
func (c *Class) ID(v Values) string {
	if len(c.key) == 1 {
		return idPart(v[c.key[0].Index])
	}
	parts := make([]string, len(c.key))
	for i, p := range c.key {
		if parts[i] = idPart(v[p.Index]); parts[i] == "" {
			return ""
		}
	}
	return strings.Join(parts, IDSeparator)
}

func idPart(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case nil, absent:
		return ""
	}
	return ValueText(v)
}

// KeyValues returns what an item with that id is found by: the value of the
// key property, or the id itself when the key is several properties, since a
// part may hold the separator. ok is false when no item can have that id.
func (c *Class) KeyValues(id string) (values []any, ok bool) {
	if len(c.key) > 1 {
		return []any{id}, id != ""
	}
	return c.KeyParts(id)
}

// KeyParts returns the values of the key properties that id stands for; ok is
// false when it is not the id of exactly one set of them.
func (c *Class) KeyParts(id string) (values []any, ok bool) {
	var one [1]string
	parts := append(one[:0], id)
	if n := len(c.key); n > 1 {
		if parts = strings.Split(id, IDSeparator); len(parts) != n {
			return nil, false
		}
	}
	values = make([]any, len(parts))
	for i, part := range parts {
		v, err := c.key[i].Cast(part)
		if err != nil || idPart(v) != part {
			return nil, false
		}
		values[i] = v
	}
	return values, id != ""
}

// MetaRepository finds classes by name.
type MetaRepository interface {
	// Class returns the class of that full name, name@namespace. The error is
	// NotFound with reason unknown-class.
	Class(name string) (*Class, error)
	// Classes returns all classes, ordered by full name.
	Classes() []*Class
}

func itoa(n int) string { return strconv.Itoa(n) }
