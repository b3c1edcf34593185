package transfer

import (
	"encoding/json"

	"restsrv/engine"
	"restsrv/engine/wire"
)

// An export consists of lines with one JSON object each. The first line is the header. Then come
// items in the order of insertion, links, counters and, if requested, the contents of files. The
// last line is an ending.
//
//	{"_class":"note@sample","_classVer":"1","_id":"n1","_creator":"ann@local","_editor":"bob@local","id":"n1","title":"Tea"}
//	{"_links":"shelf@sample.books","_id":"s1","members":["b1","b2"]}
//	{"_counter":"note@sample#no","value":12}
//	{"_content":"<SHA-256, hex>","size":5,"data":"<base64>"}
//
// An item has all values that are not null. A reference is written as the key of its target, and a
// password as its hash. Links are in the order of insertion, so an owner may have several lines.
// The content of a file may be split into several lines; the last one has the total size.
const header = headerStart + `,"_version":1}`

const headerStart = `{"_restsrv":"export"`

// ending is the last line. An export is incomplete if this line is missing, or if it contains
// another number of items than the export.
type ending struct {
	Kind  string `json:"_restsrv"`
	Items int    `json:"items"`
}

const endingKind = "end"

// linksLine contains links of one owner, an item with a collection.
type linksLine struct {
	Collection string   `json:"_links"` // class@namespace.collection
	Owner      string   `json:"_id"`
	Members    []string `json:"members"`
}

type counterLine struct {
	Counter string `json:"_counter"`
	Value   int64  `json:"value"`
}

// contentLine is a piece of a file's content.
type contentLine struct {
	Hash string `json:"_content"`
	Size *int64 `json:"size,omitempty"` // size of the whole content, set only in the last piece
	Data []byte `json:"data"`
}

// appendItem appends the line of an item, without the line break.
func appendItem(b []byte, it *engine.Item) []byte {
	text := func(name, value string) {
		if value != "" {
			b = engine.AppendString(append(b, name...), value)
		}
	}
	text(`{"_class":`, it.Class.FullName)
	text(`,"_classVer":`, it.Version)
	text(`,"_id":`, it.ID)
	text(`,"_creator":`, it.Creator)
	text(`,"_editor":`, it.Editor)
	for i, p := range it.Class.Properties {
		if v := it.Values[i]; v != nil && p.Stored() {
			b = append(engine.AppendString(append(b, ','), p.Name), ':')
			b = engine.AppendValue(b, v)
		}
	}
	return append(b, '}')
}

// line is a decoded line of an export with fields that are still JSON text.
type line map[string]json.RawMessage

func (l line) textField(name string) string {
	var s string
	_ = json.Unmarshal(l[name], &s) // other types count as no text
	return s
}

// readItem returns the item in a line. unknown lists the attributes that class c does not have.
func readItem(l line, c *engine.Class) (it *engine.Item, unknown []string, err error) {
	it = &engine.Item{Class: c, Version: l.textField("_classVer"), Creator: l.textField("_creator"), Editor: l.textField("_editor"), Values: make(engine.Values, len(c.Properties))}
	for name, raw := range l {
		p := c.Property(name)
		if p == nil || !p.Stored() {
			if !engine.IsSystemName(name) {
				unknown = append(unknown, name)
			}
			continue
		}
		if p.ValueType().JSON() {
			it.Values[p.Index] = engine.JSONText(raw)
			continue
		}
		v, err := wire.Decode(raw)
		if err != nil {
			return nil, nil, err
		}
		if it.Values[p.Index], err = p.Cast(v); err != nil {
			return nil, nil, err
		}
	}
	for _, p := range c.Properties {
		if p.Type == engine.Collection && p.Back == nil && p.Target != nil {
			it.Values[p.Index] = &engine.Links{Replace: true} // members have their own lines
		}
	}
	return it, unknown, nil
}
