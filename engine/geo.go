package engine

import (
	"encoding/json"
	"fmt"
)

// checkGeo returns the reason why v is not a GeoJSON object (RFC 7946), or ""
// if it is one. Unknown members are allowed. Two deviations that map editors
// write are accepted: a Feature without "properties", and a closed ring with
// less than four positions, which is a shape that has only been started.
func checkGeo(v any) string {
	fields, ok := v.(Fields)
	if !ok {
		return DescribeValue(v) + " is no object"
	}
	if why := checkBox(fields); why != "" {
		return why
	}
	kind, _ := fields.Get("type")
	switch kind {
	case "Feature":
		return checkFeature(fields)
	case "FeatureCollection":
		return checkEach(fields, "features", func(v any) string {
			f, ok := v.(Fields)
			if kind, _ := f.Get("type"); !ok || kind != "Feature" {
				return "its features take objects of type Feature"
			}
			return checkGeo(v)
		})
	}
	return checkGeometry(fields)
}

func checkFeature(fields Fields) string {
	properties, _ := fields.Get("properties")
	if _, ok := properties.(Fields); !ok && properties != nil {
		return "the properties of a Feature are an object or null"
	}
	geometry, ok := fields.Get("geometry")
	if !ok {
		return "a Feature has a geometry, which may be null"
	}
	if geometry == nil {
		return ""
	}
	g, ok := geometry.(Fields)
	if !ok {
		return "the geometry of a Feature is an object or null"
	}
	if why := checkBox(g); why != "" {
		return why
	}
	return checkGeometry(g)
}

func checkGeometry(fields Fields) string {
	kind, _ := fields.Get("type")
	coordinates, _ := fields.Get("coordinates")
	switch kind {
	case "Point":
		return checkPosition(coordinates)
	case "MultiPoint":
		return checkPositions(coordinates, 0, kind)
	case "LineString":
		return checkPositions(coordinates, 2, kind)
	case "MultiLineString":
		return checkEach(fields, "coordinates", func(v any) string { return checkPositions(v, 2, "LineString") })
	case "Polygon":
		return checkEach(fields, "coordinates", checkRing)
	case "MultiPolygon":
		return checkEach(fields, "coordinates", func(v any) string {
			return checkEach(Fields{{"coordinates", v}}, "coordinates", checkRing)
		})
	case "GeometryCollection":
		return checkEach(fields, "geometries", func(v any) string {
			g, ok := v.(Fields)
			if !ok {
				return "its geometries are objects"
			}
			return checkGeometry(g)
		})
	}
	if s, ok := kind.(string); ok {
		return "GeoJSON has no type " + Quote(s)
	}
	return `its "type" is missing`
}

// checkEach checks the elements of a required array.
func checkEach(fields Fields, name string, check func(any) string) string {
	v, _ := fields.Get(name)
	list, ok := v.([]any)
	if !ok {
		return name + " is an array"
	}
	for _, e := range list {
		if why := check(e); why != "" {
			return why
		}
	}
	return ""
}

// checkPosition checks that v is a longitude, a latitude and optional further
// numbers.
func checkPosition(v any) string {
	list, ok := v.([]any)
	if !ok || len(list) < 2 {
		return "a position is an array of at least two numbers"
	}
	for _, e := range list {
		if !isNumber(e) {
			return "a position holds numbers, found " + DescribeValue(e)
		}
	}
	return ""
}

func checkPositions(v any, least int, kind any) string {
	list, ok := v.([]any)
	if !ok || len(list) < least {
		return fmt.Sprintf("the coordinates of a %s are an array of at least %d positions", kind, least)
	}
	for _, e := range list {
		if why := checkPosition(e); why != "" {
			return why
		}
	}
	return ""
}

func checkRing(v any) string {
	if why := checkPositions(v, 2, "ring"); why != "" {
		return why
	}
	ring := v.([]any)
	first, last := ring[0].([]any), ring[len(ring)-1].([]any)
	for i := range first {
		if len(first) != len(last) || !sameNumber(first[i], last[i]) {
			return "a ring ends at the position where it begins"
		}
	}
	return ""
}

func checkBox(fields Fields) string {
	box, ok := fields.Get("bbox")
	if !ok {
		return ""
	}
	list, ok := box.([]any)
	if !ok || len(list) < 4 || len(list)%2 != 0 {
		return "bbox is an array of four or six numbers"
	}
	for _, e := range list {
		if !isNumber(e) {
			return "bbox holds numbers, found " + DescribeValue(e)
		}
	}
	return ""
}

func isNumber(v any) bool {
	switch v.(type) {
	case json.Number, int64, float64, Decimal:
		_, ok := castReal(v)
		return ok
	}
	return false
}

func sameNumber(a, b any) bool {
	x, _ := castReal(a)
	y, _ := castReal(b)
	return x == y
}
