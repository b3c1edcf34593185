package types

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"restsrv/engine"
)

// itemMember reports whether items have a built-in member with this name, which takes precedence over an attribute
// with the same name.
func itemMember(name string) bool {
	return slices.Contains([]string{
		"id", "base", "classMeta", "properties", "references", "collections", "files", "calculateProperties",
		"getItemId", "getClassName", "getCreator", "getEditor", "toString", "getMetaClass", "get", "set",
		"getAggregate", "getAggregates", "getProperties", "property", "toJSON",
		"constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "valueOf", "__proto__",
	}, name)
}

// valueType returns the TypeScript type of the value that item.get returns for a property.
func (w *writer) valueType(p *engine.Property) string {
	t := w.bareType(p)
	if p.Nullable || p.Type == engine.Collection || p.Formula != nil || p.Back != nil {
		return t + " | null"
	}
	return t
}

func (w *writer) bareType(p *engine.Property) string {
	if keys := selectionType(p); keys != "" {
		return keys
	}
	switch p.Type {
	case engine.Reference:
		return scalarType(p.ValueType())
	case engine.Collection:
		if w.names[p.Target] != "" {
			return "ItemOf<" + quoteString(p.Target.FullName) + ">[]"
		}
		return "AnyItem[]"
	case engine.Image:
		return "ImageInfo"
	case engine.File:
		return "FileInfo"
	case engine.FileList:
		return "FileInfo[]"
	}
	return scalarType(p.Type)
}

func scalarType(t engine.PropertyType) string {
	switch t {
	case engine.Int:
		return "Int"
	case engine.Real:
		return "number"
	case engine.DecimalNum:
		return "Decimal"
	case engine.DateTime:
		return "Date"
	case engine.Boolean:
		return "boolean"
	}
	if t.Textual() {
		return "string"
	}
	return "any"
}

// inputType returns the TypeScript type of the values that a write accepts for a property.
func (w *writer) inputType(p *engine.Property) string {
	t := writtenType(p)
	switch {
	case p.Type == engine.Reference && p.Nullable, p.Type == engine.Collection:
		return t // the type contains null already, or a write does not accept null
	case p.Nullable || optionalMark(p) != "":
		return t + " | null"
	}
	return t
}

func writtenType(p *engine.Property) string {
	if keys := selectionType(p); keys != "" {
		return keys
	}
	switch p.Type {
	case engine.Reference:
		return "ReferenceInput"
	case engine.Collection:
		return "CollectionInput"
	case engine.Image, engine.File:
		return "FileInput"
	case engine.FileList:
		return "readonly FileInput[]"
	case engine.Int, engine.Real, engine.DecimalNum:
		return "number | bigint | NumericText"
	case engine.DateTime:
		return "Date | string | number"
	case engine.Boolean:
		return `boolean | "true" | "false"`
	}
	if p.Type.Textual() {
		return "string | number"
	}
	return "any"
}

// selectionType returns the union of the keys in the selection list of a property, such as "a" | "b". It returns ""
// if the property has no list, or if a key cannot be written as a literal type.
func selectionType(p *engine.Property) string {
	if p.Selection == nil || p.Type == engine.Reference {
		return ""
	}
	var keys []string
	for _, row := range p.Selection.Rows {
		for _, v := range row.Values {
			key := literalType(p.Type, v.Key)
			if key == "" {
				return ""
			}
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return strings.Join(keys, " | ")
}

func literalType(t engine.PropertyType, key any) string {
	text := ""
	switch key := key.(type) {
	case string:
		text = key
	case json.Number:
		text = key.String()
	case int64:
		text = strconv.FormatInt(key, 10)
	case bool:
		text = strconv.FormatBool(key)
	default:
		return ""
	}
	switch {
	case t.Textual():
		return quoteString(text)
	case t == engine.Int:
		if _, err := strconv.ParseInt(text, 10, 53); err == nil {
			return text
		}
	}
	return ""
}
