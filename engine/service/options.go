package service

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"restsrv/engine"
)

// Options are the decoded JSON options of a service in deploy.json. The values are components where deploy.json refers
// to components, such as "ion://dataRepo".
type Options map[string]any

// String returns a text option, or "" if it is absent.
func (o Options) String(name string) (string, error) {
	switch v := o[name].(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	default:
		return "", fmt.Errorf("option %q takes text, found %s", name, describeOption(v))
	}
}

// Int returns an integer option between min and max, or def if it is absent.
func (o Options) Int(name string, def, min, max int64) (int64, error) {
	v, ok := o[name]
	if !ok || v == nil {
		return def, nil
	}
	n, ok := v.(json.Number)
	i, err := n.Int64()
	if !ok || err != nil || i < min || i > max {
		return 0, fmt.Errorf("option %q takes a whole number from %d to %d, found %s", name, min, max, describeOption(v))
	}
	return i, nil
}

// OneOf returns a text option that must be one of the words. The first word is
// the default.
func (o Options) OneOf(name string, words ...string) (string, error) {
	s, err := o.String(name)
	if err != nil || s == "" {
		return words[0], err
	}
	for _, w := range words {
		if s == w {
			return s, nil
		}
	}
	return "", fmt.Errorf("option %q takes one of %s, found %q", name, strings.Join(words, ", "), s)
}

// Handling returns the option "handling", which is lenient or strict. The default is lenient.
func (o Options) Handling() (engine.Handling, error) {
	word, err := o.OneOf("handling", "lenient", "strict")
	return engine.Handling(word == "strict"), err
}

// Repository returns a repository option, or def if it is absent.
func (o Options) Repository(name string, def engine.Repository) (engine.Repository, error) {
	switch v := o[name].(type) {
	case nil:
		return def, nil
	case engine.Repository:
		return v, nil
	default:
		return nil, fmt.Errorf("option %q takes a repository such as ion://dataRepo, found %s", name, describeOption(v))
	}
}

// Meta returns a metadata option, or def if it is absent.
func (o Options) Meta(name string, def engine.MetaRepository) (engine.MetaRepository, error) {
	switch v := o[name].(type) {
	case nil:
		return def, nil
	case engine.MetaRepository:
		return v, nil
	default:
		return nil, fmt.Errorf("option %q takes ion://metaRepo, found %s", name, describeOption(v))
	}
}

// FileStorage returns a file storage option, or def if it is absent.
func (o Options) FileStorage(name string, def engine.FileStorage) (engine.FileStorage, error) {
	switch v := o[name].(type) {
	case nil:
		return def, nil
	case engine.FileStorage:
		return v, nil
	default:
		return nil, fmt.Errorf("option %q takes ion://fileStorage, found %s", name, describeOption(v))
	}
}

// Unknown returns the sorted names of the options that are not in known.
func (o Options) Unknown(known ...string) []string {
	var names []string
next:
	for name := range o {
		for _, k := range known {
			if name == k {
				continue next
			}
		}
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func describeOption(v any) string {
	switch v := v.(type) {
	case nil, bool, string, json.Number:
		return string(engine.AppendValue(nil, v))
	case []any:
		return "an array"
	case engine.Fields:
		return "an object"
	}
	return "a component"
}

// UnknownOption is the error of a module for an option that the module does not have.
type UnknownOption struct {
	Module string
	Name   string
	Known  []string // at least two
}

// Error implements error.
func (e *UnknownOption) Error() string {
	last := len(e.Known) - 1
	return fmt.Sprintf("unknown option %q: %s takes %s and %s", e.Name, e.Module, strings.Join(e.Known[:last], ", "), e.Known[last])
}
