package engine

import "net/url"

// Projection selects the attributes of an answer. The members that begin with _
// are always included. nil selects all attributes.
type Projection struct{ names map[string]*Projection }

// NewProjection reads names of attributes of c or its descendants. A dotted name
// such as "town.name" selects an attribute of a loaded object. The error is
// Invalid.
func NewProjection(c *Class, names []string) (*Projection, error) {
	p := &Projection{names: map[string]*Projection{}}
	for _, name := range names {
		if err := p.add(c, name); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *Projection) add(c *Class, name string) error {
	first, rest := name, ""
	for i := range len(name) {
		if name[i] == '.' && c.anyProperty(name) == nil {
			first, rest = name[:i], name[i+1:]
			break
		}
	}
	property := c.anyProperty(first)
	switch {
	case property == nil && rest == "" && IsSystemName(first):
		return nil
	case property == nil || rest != "" && property.Target == nil:
		return UnknownAttribute(c, name)
	case rest == "":
		p.names[first] = nil // all of it, even if other names select a part
		return nil
	}
	next, named := p.names[first]
	if named && next == nil {
		return nil
	}
	if next == nil {
		next = &Projection{names: map[string]*Projection{}}
		p.names[first] = next
	}
	return next.add(c.TargetOf(property), rest)
}

// anyProperty returns the property with that name that the class or a descendant has.
func (c *Class) anyProperty(name string) *Property {
	if p := c.byName[name]; p != nil {
		return p
	}
	for _, d := range c.Descendants {
		if p := d.byName[name]; p != nil {
			return p
		}
	}
	return nil
}

// has reports whether the answer includes the attribute. It returns the
// projection of the objects to which the attribute leads.
func (p *Projection) has(name string) (*Projection, bool) {
	if p == nil {
		return nil, true
	}
	next, ok := p.names[name]
	return next, ok
}

// trail is the path from an item that is being written to the root of the
// answer.
type trail struct {
	item *Item
	up   *trail
}

func (t *trail) holds(it *Item) bool {
	for ; t != nil; t = t.up {
		if t.item.ID == it.ID && t.item.Class.Root() == it.Class.Root() {
			return true
		}
	}
	return false
}

// MaxAnswer is the maximum size in bytes of an answer with items. Even a few
// objects that are loaded into each other could produce any number of bytes,
// because each is written in full wherever it occurs.
const MaxAnswer = 64 << 20

// AppendJSON appends the item with the members and in the order of the service crud: _creator and _editor if they are
// known, _id, __string, __class, __classTitle, then the properties, without passwords and hidden attributes. A
// reference is written as an id, unless its item is loaded with Shown: then the item is written in full. An item is
// never written inside itself. When b has more than MaxAnswer bytes, items are no longer written in full, so the
// caller must not send the result.
func (it *Item) AppendJSON(b []byte) []byte { return it.appendJSON(b, nil, nil, MaxAnswer) }

// AppendFields appends the item like AppendJSON, with only the attributes of a projection.
func (it *Item) AppendFields(b []byte, only *Projection) []byte {
	return it.appendJSON(b, only, nil, MaxAnswer)
}

// AppendWithin appends the item like AppendFields, with the limit most instead of
// MaxAnswer. If the result is longer than most, the item is incomplete.
func (it *Item) AppendWithin(b []byte, only *Projection, most int) []byte {
	return it.appendJSON(b, only, nil, most)
}

func (it *Item) appendJSON(b []byte, only *Projection, up *trail, most int) []byte {
	c := it.Class
	b = append(b, '{')
	if it.Creator != "" && c.Base().CreatorTracker == "" {
		b = append(AppendString(append(b, `"_creator":`...), it.Creator), ',')
	}
	if it.Editor != "" && c.Base().EditorTracker == "" {
		b = append(AppendString(append(b, `"_editor":`...), it.Editor), ',')
	}
	b = AppendString(append(b, `"_id":`...), it.ID)
	b = AppendString(append(b, `,"__string":`...), it.String())
	b = append(b, c.jsonHead...)
	for i, p := range c.Properties {
		if p.Type == Password || c.Hides(p) {
			continue
		}
		var next *Projection
		if only != nil {
			var ok bool
			if next, ok = only.has(p.Name); !ok {
				continue
			}
		}
		b = append(b, p.jsonKey...)
		switch p.Type {
		case Reference, Collection:
			b = it.appendLink(b, p, next, up, most)
		case Image:
			b = appendImage(b, it.Values[i], p.Thumbnails)
		case File, FileList:
			b = appendFiles(b, it.Values[i])
		default:
			b = AppendValue(b, it.Values[i])
		}
		if p.Selection != nil {
			b = it.appendLabel(b, p)
		}
	}
	return append(b, '}')
}

// appendLabel appends the label of a value, unless the class has an attribute
// with the name of the label.
func (it *Item) appendLabel(b []byte, p *Property) []byte {
	if it.Class.byName[p.Name+"_str"] != nil {
		return b
	}
	b = append(b, p.jsonKey[:len(p.jsonKey)-2]...)
	return AppendString(append(b, `_str":`...), it.label(p))
}

func (it *Item) appendLink(b []byte, p *Property, only *Projection, up *trail, most int) []byte {
	link := it.Link(p)
	if p.Type == Reference {
		if !link.Shown || link.Item == nil {
			return appendID(b, it.Values[p.Index])
		}
		return link.Item.appendNested(b, only, &trail{it, up}, most)
	}
	if !link.Loaded || !link.Shown {
		return append(b, "null"...)
	}
	here := &trail{it, up}
	b = append(b, '[')
	for i, member := range link.Items {
		if len(b) > most {
			break
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = member.appendNested(b, only, here, most)
	}
	return append(b, ']')
}

// appendNested appends an item inside the items of up. If it is one of them, or if b is
// longer than most, only its id and class are written.
func (it *Item) appendNested(b []byte, only *Projection, up *trail, most int) []byte {
	if len(b) <= most && !up.holds(it) {
		return it.appendJSON(b, only, up, most)
	}
	b = AppendString(append(b, `{"_id":`...), it.ID)
	return append(AppendString(append(b, `,"__class":`...), it.Class.FullName), '}')
}

// appendID appends the value of a reference as an id.
func appendID(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil, absent:
		return append(b, "null"...)
	case string:
		return AppendString(b, v)
	case int64, float64, bool, Decimal:
		return append(AppendValue(append(b, '"'), v), '"')
	}
	return AppendString(b, ValueText(v))
}

// filePath is the path of the content of files.
const filePath = "/files/"

// appendFiles appends the value of a file attribute or of a list of files, with
// the members that clients need to fetch the content.
func appendFiles(b []byte, v any) []byte {
	text, _ := v.(JSONText)
	files := FilesIn(v)
	if len(files) == 0 {
		return AppendValue(b, v)
	}
	if text[0] != '[' {
		return files[0].appendJSON(b)
	}
	b = append(b, '[')
	for i, f := range files {
		if i > 0 {
			b = append(b, ',')
		}
		b = f.appendJSON(b)
	}
	return append(b, ']')
}

// FileAnswer returns the value of a file attribute or of a list of files as answers
// contain it, with the members that clients need to fetch the content.
func FileAnswer(v any) JSONText { return JSONText(appendFiles(nil, v)) }

// FileAnswer returns the value v of the property as answers contain it. The property is a
// file, an image or a list of files.
func (p *Property) FileAnswer(v any) JSONText {
	if p.Type == Image {
		return ImageAnswer(v, p.Thumbnails)
	}
	return FileAnswer(v)
}

// title returns the name of the file, or its id if it has no name.
func (f StoredFile) title() string {
	if f.Name == "" {
		return f.ID
	}
	return f.Name
}

func (f StoredFile) appendJSON(b []byte) []byte {
	b = AppendString(append(b, `{"id":`...), f.ID)
	b = AppendString(append(b, `,"name":`...), f.title())
	b = AppendString(append(b, `,"link":`...), filePath+url.PathEscape(f.ID))
	b = append(f.appendOptions(append(b, `,"options":{`...)), '}')
	return append(AppendValue(append(b, `,"size":`...), f.Size), '}')
}

// appendOptions appends the members of the options of a file.
func (f StoredFile) appendOptions(b []byte) []byte {
	if f.Name != "" {
		b = AppendString(append(b, `"name":`...), f.Name)
	}
	if f.Name != "" && f.MimeType != "" {
		b = append(b, ',')
	}
	if f.MimeType != "" {
		b = AppendString(append(b, `"mimeType":`...), f.MimeType)
	}
	return b
}

// AppendRecord appends the item in the form of the acceptor's answers: _id, _class, _classVer, then the stored
// properties that have a value. References are written as ids. Collections that are stored as links are written as
// arrays of ids if they are loaded; other collections are omitted.
func (it *Item) AppendRecord(b []byte) []byte {
	b = AppendString(append(b, `{"_id":`...), it.ID)
	b = AppendString(append(b, `,"_class":`...), it.Class.FullName)
	b = AppendString(append(b, `,"_classVer":`...), it.Version)
	for i, p := range it.Class.Properties {
		v := it.Values[i]
		switch {
		case it.Class.Hides(p):
			continue
		case p.Type == Collection && p.Back == nil && it.Link(p).Loaded && p.Formula == nil:
			b = append(append(b, p.jsonKey...), '[')
			for i, member := range it.Link(p).Items {
				if i > 0 {
					b = append(b, ',')
				}
				b = AppendString(b, member.ID)
			}
			b = append(b, ']')
			continue
		case p.Type == Password || v == nil || !p.Stored():
			continue
		}
		b = append(b, p.jsonKey...)
		switch p.Type {
		case Reference:
			b = appendID(b, v)
		case Image:
			b = appendImage(b, v, p.Thumbnails)
		case File, FileList:
			b = appendFiles(b, v)
		default:
			b = AppendValue(b, v)
		}
	}
	return append(b, '}')
}
