package engine

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"sort"
	"strconv"
	"strings"
	"sync"
)

// PropertyType is the number of a property type in class metadata.
type PropertyType int

// The property types, numbered as in class files.
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

// String returns the type's name as it is written in class files.
func (t PropertyType) String() string {
	if n, ok := typeNames[t]; ok {
		return n
	}
	return "type " + strconv.Itoa(int(t))
}

// TypeByName returns the type with that name; letter case does not matter.
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

// Scalar reports whether a value of the type is a single plain JSON value.
func (t PropertyType) Scalar() bool {
	switch t {
	case String, Text, HTML, URL, Int, Real, DecimalNum, DateTime, Boolean, Password, GUID, User:
		return true
	}
	return false
}

// Textual reports whether values of the type are stored as strings.
func (t PropertyType) Textual() bool {
	switch t {
	case String, Text, HTML, URL, Password, GUID, User:
		return true
	}
	return false
}

// Storage returns the name of the form in which values of the type are stored. If two types have the same storage,
// the type of an attribute can be changed from one to the other, and attributes of both types can share a column.
// Passwords have their own storage. Otherwise a text could become a password hash by such a change, and a hash could
// become a readable text. Each type with JSON values has its own storage too, except that files and images share one.
func (t PropertyType) Storage() string {
	switch {
	case t != Password && t.Textual():
		return "text"
	case t == Image:
		return File.String()
	}
	return t.String()
}

// Property is a named, typed attribute of a class.
type Property struct {
	Name         string
	Caption      string
	Hint         string
	Type         PropertyType
	Size         int // datetime: 1 second, 2 minute, 3 hour, 4 day; text: maximum length, checked in strict handling only
	Decimals     int
	Mode         int // datetime: 0 instant, 1 with its offset, 2 wall clock; the JSON is the instant in all modes
	OrderNumber  int
	Nullable     bool
	Optional     bool // an object can be created without a value, although the property is not nullable
	Readonly     bool
	Indexed      bool
	Unique       bool
	Autoassigned bool
	Search       bool    // indexSearch: Query.Search finds words of the value
	Eager        bool    // eagerLoading: answers include it even if the request does not ask for it
	Default      any     // decoded JSON (see Fields); nil if there is no default
	Computed     Formula // computes the default of an insert; nil to use Default
	Definition   string  // full name of the class that declares the property

	// Calculated attributes.
	Formula Formula // computes the value; nil for an ordinary attribute
	Cached  bool    // the value is computed when the item is written, and stored

	// References and collections.
	Target     *Class    // class of the objects that it points at; nil for other types
	Subclasses []*Class  // allowed classes of these objects; empty for Target and all its descendants
	Back       *Property // reference of Target that points at this class; if it is set, this property is virtual
	Binding    *Property // property of this class that Back refers to, instead of the key
	Mirror     *Property // collection of Target that is the other side of this collection
	Display    *Semantic // display string of the target object, instead of the one of its class
	Conditions *Filter   // filter for the members of a collection; nil for all
	Nowhere    bool      // Target or Back is missing in the metadata: paths through this property are null
	Sorting    []Sort    // order of the members of a collection; ties are in insertion order

	Selection    *Selection // allowed values with their labels; nil for any value
	FileTypes    []string   // file extensions that forms accept
	MaxFileCount int
	Thumbnails   []ThumbnailKind // thumbnails that answers contain for an image; see ImageStorage.Kinds

	Source Fields // the property as written in the class file; nil if no file describes it

	Index   int    // position in Class.Properties and in Values; set by Class.Init
	jsonKey []byte // `,"name":`
}

// ValueType returns the type of the Go values that the property holds (see Values). For a
// reference it is the type of the target's key, or String if the key has several
// properties.
func (p *Property) ValueType() PropertyType {
	if p.Type != Reference || p.Target == nil {
		return p.Type
	}
	if key := p.Target.KeyProperties(); len(key) == 1 && key[0] != p {
		return key[0].ValueType()
	}
	return String
}

// Stored reports whether the row of an item has a value of the property. It has none for
// collections, for virtual references, and for calculated attributes that are computed on
// reading.
func (p *Property) Stored() bool {
	return p.Type != Collection && p.Back == nil && (p.Formula == nil || p.Cached)
}

// Linked reports whether the property is a collection whose members are stored as links,
// in contrast to objects that refer back to the item.
func (p *Property) Linked() bool {
	return p.Type == Collection && p.Back == nil && p.Formula == nil && p.Target != nil
}

// NoClassAllowed is the element of Property.Subclasses that allows no class.
var NoClassAllowed = &Class{}

// Selection is the list of values that are allowed for a property. Answers contain the
// label of a value as "<name>_str".
type Selection struct {
	Rows []SelectionRow
}

// SelectionRow is a part of a Selection that is valid for an item if its condition holds.
// A plain list is one row without a condition.
type SelectionRow struct {
	Condition Formula // nil if the row is always valid
	Values    []SelectionValue
}

// SelectionValue is an allowed value, as written in class files, and its label.
type SelectionValue struct {
	Key   any // decoded JSON
	Label string
}

// Class describes one kind of item. Fill the exported fields, then call Init. After that
// the class is read-only and safe for concurrent use.
type Class struct {
	Name       string
	Namespace  string
	Version    string
	Caption    string
	Key        []string // names of the key properties
	Semantic   string   // source of the display string; "" to display the id
	Label      Formula  // computes the display string; nil to use Semantic
	Abstract   bool     // the class has no items of its own
	Struct     bool     // the class describes a part of other classes
	Ancestor   *Class
	Properties []*Property // own and inherited; the parts of a struct attribute replace it as "attribute$name"
	Container  string      // reference that makes the items a tree; "" if there is none
	Journaling bool
	Staged     bool // its items have workflows; must be set before the class is used

	// Names of the properties that the server stamps; "" if there is none.
	CreationTracker, ChangeTracker, CreatorTracker, EditorTracker string

	Indexes      []CompositeIndex
	Dependencies [][]string // paths to items with cached values that depend on items of this class

	Source Fields // the class as written in its file; nil if no file describes it

	Descendants []*Class // descendants of all levels; set by the loader that links the classes
	FullName    string   // name@namespace, or the name alone

	byName   map[string]*Property
	key      []*Property
	semantic *Semantic
	needs    []*Load
	digest   []byte
	print    func() string // computes the fingerprint once; see Fingerprint
	jsonHead []byte        // `,"__class":"...","__classTitle":"..."`

	base   *Class // class of which this is a view; nil for the class itself
	views  *Views
	hidden []bool // by Property.Index: attributes that are hidden in the view; nil if none is
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

// InNamespace appends the namespace of c to the name of a class or workflow that has no
// namespace.
func (c *Class) InNamespace(name string) string {
	if strings.Contains(name, "@") {
		return name
	}
	return FullName(name, c.Namespace)
}

// Init orders the properties and finds the key. It must run once before the class is
// used. Link must follow when Init has run for all classes.
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

// Link compiles the parts that depend on other classes: the display string, and the list of
// references and collections for Needs. It must run once, after Init of all classes.
func (c *Class) Link() {
	c.semantic = CompileSemantic(c, c.Semantic)
	c.needs = collectNeeds(c)
	c.print = sync.OnceValue(c.fingerprint)
}

// Needs returns the references and collections that must be loaded with an item to
// compute its display string, its labels and its calculated attributes. Load.Shown is
// false in all of them. The result is shared: do not change it.
func (c *Class) Needs() []*Load { return c.needs }

// DisplayString returns the compiled Semantic, or nil if it is "".
func (c *Class) DisplayString() *Semantic { return c.semantic }

// Property returns the property of that name, own or inherited, or nil.
func (c *Class) Property(name string) *Property { return c.byName[name] }

// KeyProperties returns the properties of which the id consists.
func (c *Class) KeyProperties() []*Property { return c.key }

// Root returns the topmost ancestor. All classes below one root share a table.
func (c *Class) Root() *Class {
	c = c.Base()
	for c.Ancestor != nil {
		c = c.Ancestor
	}
	return c
}

// IDSeparator joins the parts of a composite key.
const IDSeparator = "_"

// ID returns the text form of the key in v, or "" if a part is missing.
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

// KeyValues returns the values with which a statement can find the item with that id. If the key has one property,
// this is its value. If the key has several, it is the whole id: an id cannot be split safely, because a part may
// contain the separator. ok is false if no item can have that id.
func (c *Class) KeyValues(id string) (values []any, ok bool) {
	if len(c.key) > 1 {
		return []any{id}, id != ""
	}
	return c.KeyParts(id)
}

// KeyParts splits id into the values of the key properties. ok is false if id does not
// stand for exactly one set of values.
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
	// Class returns the class with that full name, name@namespace. The error is NotFound
	// with reason unknown-class.
	Class(name string) (*Class, error)
	// Classes returns all classes, ordered by full name.
	Classes() []*Class
}

func itoa(n int) string { return strconv.Itoa(n) }

// UnknownAttribute returns the error for a name that no attribute of the class has.
func UnknownAttribute(c *Class, name string) *Error {
	e := Errorf(Invalid, "unknown-attribute", "class %s has no attribute %s", c.FullName, Quote(name))
	e.Class, e.Attribute = c.FullName, name
	return e
}

// Family returns the class and its descendants.
func Family(c *Class) []*Class {
	return append([]*Class{c}, c.Descendants...)
}

// Fingerprint returns 8 hex digits, a hash of the metadata that affect the JSON of an item. It depends on every class
// that can be reached from c, which may be all classes. Therefore it is computed only when it is first needed.
func (c *Class) Fingerprint() string { return c.print() }

// fingerprint returns a hash of the class, its relatives and all classes that can
// be reached from them through references and collections, because display
// strings, labels and calculated values of an item can depend on all of these.
func (c *Class) fingerprint() string {
	sum := fnv.New32a()
	c.visitReachable(func(at *Class) { _, _ = sum.Write(at.digest) })
	return hex.EncodeToString(binary.BigEndian.AppendUint32(nil, sum.Sum32()))
}

// visitReachable visits the class, its relatives and all classes that can be reached from
// them through references and collections, each once.
func (c *Class) visitReachable(visit func(*Class)) {
	met := map[*Class]bool{c: true}
	var next []*Class
	meet := func(r *Class) {
		if r != nil && !met[r] {
			met[r] = true
			next = append(next, r)
		}
	}
	for at := c; ; at, next = next[0], next[1:] {
		visit(at)
		meet(at.Ancestor)
		for _, d := range at.Descendants {
			meet(d)
		}
		for _, p := range at.Properties {
			meet(p.Target)
		}
		if len(next) == 0 {
			return
		}
	}
}

// hash returns a hash of the definitions in the class itself that affect the JSON
// of its items.
func (c *Class) hash() []byte {
	sum := fnv.New64a()
	fmt.Fprintf(sum, "%s|%s|%s|", c.FullName, c.Caption, c.Semantic)
	for _, p := range c.Properties {
		fmt.Fprintf(sum, "%s:%d:%d", p.Name, p.Type, p.Size)
		_, _ = sum.Write(AppendValue(nil, p.Source)) // formula, labels, display string
		for _, kind := range p.Thumbnails {
			_, _ = sum.Write([]byte(kind.Name))
		}
	}
	semantic, _ := c.Source.Get("semantic") // set if it is a formula
	_, _ = sum.Write(AppendValue(nil, semantic))
	return sum.Sum(nil)
}
