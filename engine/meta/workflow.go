package meta

import (
	"cmp"
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

// workflowsDir holds <name>.wf.json, or <name>@<namespace>.wf.json.
const workflowsDir = "workflows"

func readWorkflows(r *presentationReader) map[string][]*engine.Workflow {
	all := map[string][]*engine.Workflow{}
	files := map[string]jsonfile.Object{}
	r.walk(workflowsDir, func(file string, _ []string) {
		o, ok := r.object(file, "a workflow")
		if !ok {
			return
		}
		_, namespace, _ := strings.Cut(strings.TrimSuffix(base(file), ".wf"), "@")
		if namespace == "" {
			namespace = r.namespace
		}
		w := &engine.Workflow{Name: r.name(o, "name"), Namespace: textOr(o.Fields, "namespace", namespace)}
		class := r.name(o, "wfClass")
		if w.Name == "" || class == "" {
			return
		}
		checkStates(o)
		w.Class = r.className(o, "wfClass", class, w.Namespace)
		w.Said = with(o.Fields, "namespace", w.Namespace)
		key := w.Class + " " + engine.FullName(w.Name, w.Namespace)
		if other, ok := files[key]; ok {
			other.Warn("name", "the workflow "+engine.Quote(w.Name)+", which "+file+" describes, too", "one file for a workflow: that one is shown")
			all[w.Class] = slices.DeleteFunc(all[w.Class], func(o *engine.Workflow) bool { return o.Name == w.Name && o.Namespace == w.Namespace })
		}
		files[key] = o
		all[w.Class] = append(all[w.Class], w)
	})
	for _, list := range all {
		slices.SortStableFunc(list, func(a, b *engine.Workflow) int { return cmp.Compare(a.Name, b.Name) })
	}
	return all
}

// checkStates looks whether states and transitions have names, and lead to
// states that there are.
func checkStates(o jsonfile.Object) {
	states := namesOf(o, "states")
	named := func(o jsonfile.Object, field string) {
		if name := o.Text(field); name != "" && !slices.Contains(states, name) {
			o.Warn(o.At(field), engine.Quote(name)+", which is no state of the workflow", jsonfile.Choice(name, states))
		}
	}
	named(o, "startState")
	namesOf(o, "transitions")
	for i, v := range o.List("transitions") {
		fields, _ := v.(engine.Fields)
		transition := jsonfile.Object{File: o.File, Path: jsonfile.Element(o.At("transitions"), i), Fields: fields, Faults: o.Faults}
		named(transition, "startState")
		named(transition, "finishState")
	}
}

// namesOf reads the names of the objects in an array.
func namesOf(o jsonfile.Object, field string) (names []string) {
	for i, v := range o.List(field) {
		one := jsonfile.Object{File: o.File, Path: jsonfile.Element(o.At(field), i), Faults: o.Faults}
		var ok bool
		if one.Fields, ok = v.(engine.Fields); !ok {
			one.Fault(one.Path, jsonfile.Describe(v), "an object")
			continue
		}
		name := one.Text("name")
		if name == "" {
			one.Fault(one.At("name"), found(one.Value("name")), "a name")
			continue
		}
		names = append(names, name)
	}
	return names
}

// Workflows is engine.Presentation's.
func (p *Presentation) Workflows(c *engine.Class) (found []*engine.Workflow, err error) {
	all, err := p.workflows.get(p, "the workflows of the application", readWorkflows)
	for ; c != nil && err == nil; c = c.Ancestor {
		found = append(found, all[c.FullName]...)
	}
	return found, err
}
