package deploy

import (
	"slices"
	"sort"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
	"restsrv/engine/service"
)

// parseReference returns the name of the component that the text v refers to, such as dataRepo for
// ion://dataRepo.
func parseReference(v any) (name string, ok bool) {
	s, _ := v.(string)
	for _, scheme := range []string{"ion://", "lazy://"} {
		if name, ok = strings.CutPrefix(s, scheme); ok {
			return name, true
		}
	}
	return "", false
}

// checkReferences reports references in v to components that do not exist, and returns false if
// it has found any. path is the JSON path of v.
func (l *loader) checkReferences(o jsonfile.Object, path string, v any) bool {
	known := true
	eachReference(path, v, func(path, text, name string) {
		if !slices.Contains(l.componentNames(), name) {
			o.Report(mistake.ServiceComponent, path, engine.Quote(text)+", a component that does not exist", jsonfile.Choice(name, l.componentNames()))
			known = false
		}
	})
	return known
}

// eachReference calls visit for each reference to a component in v or below, with its JSON path,
// its text and the name of the component. path is the JSON path of v.
func eachReference(path string, v any, visit func(path, text, name string)) {
	switch v := v.(type) {
	case string:
		if name, ok := parseReference(v); ok {
			visit(path, v, name)
		}
	case []any:
		for i, e := range v {
			eachReference(jsonfile.Element(path, i), e, visit)
		}
	case engine.Fields:
		for _, f := range v {
			eachReference(jsonfile.Member(path, f.Name), f.Value, visit)
		}
	}
}

// Resolve returns the options with all references, ion://name and lazy://name, replaced by the
// components with that name, also in nested values. If a component does not exist, the error is
// Invalid and contains the name.
func Resolve(options engine.Fields, components map[string]any) (service.Options, error) {
	resolved := make(service.Options, len(options))
	for _, f := range options {
		v, err := resolveReferences(f.Value, components)
		if err != nil {
			return nil, engine.Errorf(engine.Invalid, "unknown-component", "option %s: %v", engine.Quote(f.Name), err)
		}
		resolved[f.Name] = v
	}
	return resolved, nil
}

func resolveReferences(v any, components map[string]any) (any, error) {
	switch v := v.(type) {
	case string:
		name, ok := parseReference(v)
		if !ok {
			return v, nil
		}
		if component, ok := components[name]; ok {
			return component, nil
		}
		known := make([]string, 0, len(components))
		for k := range components {
			known = append(known, k)
		}
		sort.Strings(known)
		return nil, engine.Errorf(engine.Invalid, "unknown-component", "found %s, expected %s", engine.Quote(v), jsonfile.Choice(name, known))
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			r, err := resolveReferences(e, components)
			if err != nil {
				return nil, err
			}
			list[i] = r
		}
		return list, nil
	case engine.Fields:
		fields := make(engine.Fields, len(v))
		for i, f := range v {
			r, err := resolveReferences(f.Value, components)
			if err != nil {
				return nil, err
			}
			fields[i] = engine.Field{Name: f.Name, Value: r}
		}
		return fields, nil
	}
	return v, nil
}
