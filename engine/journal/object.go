package journal

import "restsrv/engine"

// object builds a JSON object: its members, each preceded by a comma.
type object []byte

func (o object) json() engine.JSONText {
	if len(o) == 0 {
		return "{}"
	}
	return engine.JSONText("{" + string(o[1:]) + "}")
}

func (o *object) name(name string) {
	*o = append(engine.AppendString(append(*o, ','), name), ':')
}

func (o *object) text(name, value string) {
	o.name(name)
	*o = engine.AppendString(*o, value)
}

// values adds the values of an item.
func (o *object) values(it *engine.Item) {
	for i, p := range it.Class.Properties {
		if told(p) && given(it.Values[i]) != nil {
			o.value(p, it.Values[i])
		}
	}
}

// value adds the value of a property.
func (o *object) value(p *engine.Property, v any) {
	o.name(p.Name)
	switch v = given(v); {
	case v == nil:
		*o = append(*o, "null"...)
	case p.Type == engine.Reference:
		*o = engine.AppendString(*o, engine.ValueText(v))
	case p.Type.IsFile():
		o.files(p, engine.FilesIn(v))
	default:
		*o = engine.AppendValue(*o, v)
	}
}

// files adds the id of a file, or the ids of a list of files.
func (o *object) files(p *engine.Property, files []engine.StoredFile) {
	ids := make([]string, len(files))
	for i, f := range files {
		ids[i] = f.ID
	}
	switch {
	case p.Type == engine.FileList:
		o.ids(ids)
	case len(ids) > 0:
		*o = engine.AppendString(*o, ids[0])
	default:
		*o = append(*o, "null"...)
	}
}

// members adds the ids of members of a collection, or of the targets of a
// virtual reference.
func (o *object) members(p *engine.Property, ids []string) {
	o.name(p.Name)
	o.ids(ids)
}

func (o *object) ids(ids []string) {
	*o = append(*o, '[')
	for i, id := range ids {
		if i > 0 {
			*o = append(*o, ',')
		}
		*o = engine.AppendString(*o, id)
	}
	*o = append(*o, ']')
}
