package meta

import (
	"sort"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
)

// userTypes maps names without namespace to the user types in folder meta/types. A user type is a name for a plain
// type with a size and decimals, which attributes of type custom can use. The value is nil for a type that is left
// out.
type userTypes map[string]*engine.Property

// typeFields are the known fields of a type file. The server does not use mask, maskName and validators, but forms do.
var typeFields = []string{"name", "namespace", "caption", "type", "mask", "maskName", "size", "decimals", "validators", "version", "metaVersion"}

// parseUserType adds the type in a file. It replaces an earlier type with the same name.
func (types userTypes) parseUserType(s Source, faults *engine.Faults) {
	fields, ok := s.Value.(engine.Fields)
	o := jsonfile.Object{File: s.File, Path: s.Path, Fields: fields, Faults: faults, Lenient: true}
	if !ok {
		o.Report(mistake.UserType, s.Path, jsonfile.Describe(s.Value), "an object that describes a type")
		return
	}
	name, named := validName(o, mistake.UserType)
	if !named {
		return
	}
	types[name] = nil // the type is left out as long as it is not known to be usable
	o.WarnRepeated()
	o.WarnUnknown(typeFields)
	t, typed := typeOf(o.Value("type"))
	switch {
	case o.Value("type") == nil:
		o.Report(mistake.UserType, o.Path, "no type", "a type: "+typeNames(allTypes))
	case !typed:
		o.Report(mistake.UserType, o.At("type"), jsonfile.Describe(o.Value("type")), expectedType(o.Value("type")))
	case t == engine.Struct || t == engine.Reference || t == engine.Collection:
		o.Report(mistake.UserType, o.At("type"), t.String(), "a type that stands by itself, such as string")
	default:
		a := attribute{Object: o, property: &engine.Property{Name: name, Type: t, Source: fields}}
		a.parseNumbers()
		types[name] = a.property
	}
}

// applyType replaces the type custom of an attribute by the user type that refClass names, as name or name@namespace.
// Without a user type, the attribute accepts any JSON.
func (types userTypes) applyType(a *attribute) {
	p := a.property
	refClass, _ := a.Value("refClass").(string)
	if p.Type != engine.Custom || refClass == "" || !a.typed {
		return
	}
	bare, _, _ := strings.Cut(refClass, "@")
	t, known := types[bare]
	if t == nil && known {
		return // the type is left out
	}
	if t == nil {
		var names []string
		for name, t := range types {
			if t != nil {
				names = append(names, name)
			}
		}
		sort.Strings(names)
		a.Warn(a.At("refClass"), "type "+engine.Quote(refClass)+", which no file of meta/types describes", jsonfile.Choice(bare, names)+": the attribute takes any JSON")
		return
	}
	p.Type, p.Size, p.Decimals, p.Mode = t.Type, t.Size, t.Decimals, t.Mode
}
