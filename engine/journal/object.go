package journal

import "restsrv/engine"

// object contains the members of a JSON object, each preceded by a comma.
type object []byte

func (o object) json() engine.JSONText {
	if len(o) == 0 {
		return "{}"
	}
	return engine.JSONText("{" + string(o[1:]) + "}")
}

func (o *object) addName(name string) {
	*o = append(engine.AppendString(append(*o, ','), name), ':')
}

func (o *object) addText(name, value string) {
	o.addName(name)
	*o = engine.AppendString(*o, value)
}

// addValues adds the values of an item.
func (o *object) addValues(it *engine.Item) {
	for i, p := range it.Class.Properties {
		if isRecorded(p) && givenValue(it.Values[i]) != nil {
			o.addValue(p, it.Values[i])
		}
	}
}

// addValue adds the value of a property.
func (o *object) addValue(p *engine.Property, v any) {
	o.addName(p.Name)
	switch v = givenValue(v); {
	case v == nil:
		*o = append(*o, "null"...)
	case p.Type == engine.Reference:
		*o = engine.AppendString(*o, engine.ValueText(v))
	case p.Type.IsFile():
		o.addFiles(p, engine.FilesIn(v))
	default:
		*o = engine.AppendValue(*o, v)
	}
}

// addFiles adds the id of a file, or the ids of a list of files.
func (o *object) addFiles(p *engine.Property, files []engine.StoredFile) {
	ids := make([]string, len(files))
	for i, f := range files {
		ids[i] = f.ID
	}
	switch {
	case p.Type == engine.FileList:
		o.addIDs(ids)
	case len(ids) > 0:
		*o = engine.AppendString(*o, ids[0])
	default:
		*o = append(*o, "null"...)
	}
}

// addMembers adds the ids of members of a collection, or of the targets of a
// virtual reference.
func (o *object) addMembers(p *engine.Property, ids []string) {
	o.addName(p.Name)
	o.addIDs(ids)
}

func (o *object) addIDs(ids []string) {
	*o = append(*o, '[')
	for i, id := range ids {
		if i > 0 {
			*o = append(*o, ',')
		}
		*o = engine.AppendString(*o, id)
	}
	*o = append(*o, ']')
}
