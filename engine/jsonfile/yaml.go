package jsonfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"go.yaml.in/yaml/v4"

	"restsrv/engine"
)

// Place is a position in a file. Both numbers count from 1.
type Place struct{ Line, Column int }

// Places maps JSON paths in a document to places. The place of a field is the place of its name.
// The place of an element of an array is the place of its first character.
type Places map[string]Place

// Of returns the place of a path. If the path has none, it returns the place of the nearest object
// or array around it.
func (p Places) Of(path string) Place {
	for {
		if at, ok := p[path]; ok || path == "" {
			return at
		}
		path = Around(path)
	}
}

// Limits of a YAML document. Without them, a short document with nested anchors could expand to a
// huge number of values.
const (
	maxYAMLDepth = 100
	maxYAMLNodes = 100_000
)

// DecodeYAML decodes a YAML document into the equivalent JSON (see engine.Fields) and returns the
// places of its values. Dates remain text as written. If the document is malformed, the error is
// Invalid with reason "yaml" and contains line and column.
func DecodeYAML(data []byte) (any, Places, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil {
		return nil, nil, describeMalformed(err)
	}
	d := yamlDecoder{places: make(Places)}
	if root.Kind == 0 || len(root.Content) == 0 {
		return nil, d.places, nil
	}
	v, err := d.decodeValue(root.Content[0], "", 0)
	return v, d.places, err
}

func describeMalformed(err error) error {
	line, column, message := 0, 0, "it cannot be read"
	var load *yaml.LoadError
	if errors.As(err, &load) {
		line, column, message = load.Mark.Line, load.Mark.Column, load.Message
	}
	return engine.Errorf(engine.Invalid, "yaml", "malformed YAML at line %d, column %d: %s", max(line, 1), max(column, 1), message)
}

type yamlDecoder struct {
	places Places
	nodes  int
}

func refuseNode(n *yaml.Node, format string, args ...any) error {
	return engine.Errorf(engine.Invalid, "yaml", "malformed YAML at line %d, column %d: %s", n.Line, n.Column, fmt.Sprintf(format, args...))
}

func (d *yamlDecoder) decodeValue(n *yaml.Node, path string, depth int) (any, error) {
	if d.nodes++; depth > maxYAMLDepth || d.nodes > maxYAMLNodes {
		return nil, refuseNode(n, "more than %d levels or %d values", maxYAMLDepth, maxYAMLNodes)
	}
	if _, ok := d.places[path]; !ok {
		d.places[path] = Place{n.Line, n.Column}
	}
	switch n.Kind {
	case yaml.AliasNode:
		return d.decodeValue(n.Alias, path, depth+1)
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for i, e := range n.Content {
			v, err := d.decodeValue(e, Element(path, i), depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case yaml.MappingNode:
		return d.decodeObject(n, path, depth)
	case yaml.ScalarNode:
		return decodeScalar(n)
	}
	return nil, refuseNode(n, "something that is no value")
}

// decodeObject decodes a mapping. Fields in the mapping take precedence over fields that a merge
// key (<<) adds.
func (d *yamlDecoder) decodeObject(n *yaml.Node, path string, depth int) (any, error) {
	fields := engine.Fields{}
	var merged engine.Fields
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.ShortTag() == "!!merge" {
			more, err := d.decodeMerge(value, path, depth)
			if err != nil {
				return nil, err
			}
			merged = append(merged, more...)
			continue
		}
		if key.Kind != yaml.ScalarNode {
			return nil, refuseNode(key, "a name that is no text")
		}
		inner := Member(path, key.Value)
		d.places[inner] = Place{key.Line, key.Column}
		v, err := d.decodeValue(value, inner, depth+1)
		if err != nil {
			return nil, err
		}
		fields = append(fields, engine.Field{Name: key.Value, Value: v})
	}
	for _, f := range merged {
		if _, ok := fields.Get(f.Name); !ok {
			fields = append(fields, f)
		}
	}
	return fields, nil
}

func (d *yamlDecoder) decodeMerge(n *yaml.Node, path string, depth int) (engine.Fields, error) {
	v, err := d.decodeValue(n, path, depth+1)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case engine.Fields:
		return v, nil
	case []any: // if several objects have a field, the first one counts
		var all engine.Fields
		for _, one := range v {
			fields, ok := one.(engine.Fields)
			if !ok {
				return nil, refuseNode(n, "<< takes an object or an array of objects")
			}
			all = append(all, fields...)
		}
		return all, nil
	}
	return nil, refuseNode(n, "<< takes an object or an array of objects")
}

// decodeScalar decodes a scalar to the equivalent JSON value.
func decodeScalar(n *yaml.Node) (any, error) {
	switch n.ShortTag() {
	case "!!null":
		return nil, nil
	case "!!bool":
		var b bool
		if err := n.Decode(&b); err != nil {
			return nil, refuseNode(n, "%s is neither true nor false", engine.Quote(n.Value))
		}
		return b, nil
	case "!!int":
		var i int64
		if err := n.Decode(&i); err == nil {
			return json.Number(strconv.FormatInt(i, 10)), nil
		}
		return nil, refuseNode(n, "%s is no whole number of 64 bits", engine.Quote(n.Value))
	case "!!float":
		return decodeFloat(n)
	case "!!str", "!!timestamp":
		return n.Value, nil
	}
	return nil, refuseNode(n, "%s, a value of type %s", engine.Quote(n.Value), engine.Quote(n.Tag))
}

// decodeFloat decodes a number without losing digits. It returns an error for infinity and NaN.
func decodeFloat(n *yaml.Node) (any, error) {
	if d, ok := engine.ParseDecimal(n.Value); ok {
		return json.Number(d), nil
	}
	var f float64
	if err := n.Decode(&f); err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, refuseNode(n, "%s is no finite number", engine.Quote(n.Value))
	}
	return json.Number(engine.AppendFloat(nil, f)), nil
}
