package consistency

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"restsrv/cmd/restsrv/command"
	"restsrv/cmd/restsrv/oracle"
	"restsrv/engine"
)

// These match values of journal records that differ between the databases: times, and ids of
// files that the same request has replaced. Generated ids, which also differ, are handled
// elsewhere if answers have shown them.
var (
	journalTime = regexp.MustCompile(`"timestamp":"[^"]*"`)
	journalFile = regexp.MustCompile(`"scan":"[a-z0-9]{26}"`)
)

// readJournal compares the journals of the servers, and compares the objects of the
// model with the result of applying the journal to an empty database.
func (run *oracleRun) readJournal() string {
	var lines []string
	for i, s := range run.sides {
		text, err := s.changes()
		if err != nil {
			return fmt.Sprintf("%s: restsrv changes: %v", s.name, err)
		}
		text = journalTime.ReplaceAllString(s.forget(text), `"timestamp":""`)
		told := strings.Split(journalFile.ReplaceAllString(text, `"scan":"replaced"`), "\n")
		if i == 0 {
			lines = told
		}
		first, second := slices.Sorted(slices.Values(lines)), slices.Sorted(slices.Values(told)) // records of one request may have any order
		for k := range min(len(first), len(second)) {
			if first[k] != second[k] {
				return fmt.Sprintf("The journals differ. SQLite has\n%s\nPostgreSQL has\n%s", first[k], second[k])
			}
		}
		if len(first) != len(second) {
			return fmt.Sprintf("The journals have %d and %d records.", len(first), len(second))
		}
	}
	replay := journalReplay{world: run.world}
	for i, line := range lines {
		if line == "" {
			continue
		}
		if fault := replay.apply(line); fault != "" {
			return fmt.Sprintf("Record %d of the journal, %s: %s", i, line, fault)
		}
	}
	return replay.compare(run.classes)
}

// changes returns the output of restsrv changes.
func (s *oracleSide) changes() (string, error) {
	var out, errs bytes.Buffer
	env := func(name string) string { return map[string]string{"RESTSRV_DB": s.db}[name] }
	err := command.Run(context.Background(), []string{"changes", "-config", filepath.Join(s.dir, "deploy.json"), "-json"}, command.Stdio{In: strings.NewReader(""), Out: &out, Err: &errs, Env: env})
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, errs.String())
	}
	return out.String(), nil
}

// journalReplay creates objects from the records of a journal.
type journalReplay struct {
	world   *oracle.World
	objects []*journalObject
}

type journalObject struct {
	class  *engine.Class
	values map[string]string // as JSON, without null values
}

func (o *journalObject) id() string {
	var parts []string
	for _, name := range o.class.Key {
		parts = append(parts, strings.Trim(o.values[name], `"`))
	}
	return strings.Join(parts, engine.IDSeparator)
}

// with returns the values after the changes in data. fits reports whether the values before the
// changes were equal to base.
func (o *journalObject) with(base, data map[string]json.RawMessage) (values map[string]string, fits bool) {
	values, fits = maps.Clone(o.values), true
	delete(base, "_class") // the former class, if the object has changed its class
	delete(data, "_class")
	for name, v := range base {
		had, ok := o.values[name]
		fits = fits && (ok && had == string(v) || !ok && string(v) == "null")
	}
	for name, v := range data {
		values[name] = string(v)
	}
	maps.DeleteFunc(values, func(_, v string) bool { return v == "null" })
	return values, fits
}

// apply applies a record and returns the contradictions.
func (j *journalReplay) apply(line string) string {
	var r struct {
		Type, ClassName, ID string
		Base, Data          map[string]json.RawMessage
	}
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		return err.Error()
	}
	class := j.world.Class(r.ClassName)
	at := slices.IndexFunc(j.objects, func(o *journalObject) bool {
		if o.class.Root() != class.Root() {
			return false
		}
		values, fits := o.with(r.Base, r.Data)
		return fits && (&journalObject{class, values}).id() == r.ID
	})
	switch r.Type {
	case "CREATE":
		if slices.ContainsFunc(j.objects, func(o *journalObject) bool { return o.class.Root() == class.Root() && o.id() == r.ID }) {
			return "there is such an object"
		}
		o := &journalObject{class, map[string]string{}}
		o.values, _ = o.with(nil, r.Data)
		j.objects = append(j.objects, o)
	case "UPDATE", "DELETE":
		if at < 0 {
			return "no object has these values before it"
		}
		o := j.objects[at]
		if o.values, _ = o.with(r.Base, r.Data); r.Type == "DELETE" {
			j.objects = slices.Delete(j.objects, at, at+1)
		}
		o.class = class
	}
	return ""
}

// compare compares the objects from the journal with the objects of the model.
func (j *journalReplay) compare(classes []*engine.Class) string {
	left := slices.Clone(j.objects)
	for _, c := range classes {
		if !c.Journaling || c.Ancestor != nil {
			continue
		}
		for _, o := range j.world.Objects(c) {
			at := slices.IndexFunc(left, func(other *journalObject) bool { return other.class.Root() == c && other.id() == o.ID() })
			if at < 0 {
				return fmt.Sprintf("The journal has no object %s of class %s.", o.ID(), c.FullName)
			}
			told := left[at]
			left = slices.Delete(left, at, at+1)
			for _, p := range o.Class.Properties {
				if !p.Stored() || p.Formula != nil {
					continue
				}
				want := oracle.Encode(o.Values[p.Name])
				if f, ok := o.Values[p.Name].(*oracle.File); ok {
					want = oracle.Encode(f.ID)
				}
				if got, ok := told.values[p.Name]; ok && strings.Trim(got, `"`) != strings.Trim(want, `"`) || !ok && want != "null" {
					return fmt.Sprintf("By the journal, attribute %s of object %s of class %s is %s, expected %s.", p.Name, o.ID(), c.FullName, got, want)
				}
			}
		}
	}
	for _, o := range left {
		return fmt.Sprintf("By the journal there is an object %s of class %s.", o.id(), o.class.FullName)
	}
	return ""
}
