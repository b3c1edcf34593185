package meta

import (
	"cmp"
	"maps"
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
		w := &engine.Workflow{Name: r.name(o, "name"), Namespace: textOr(o.Fields, "namespace", namespace), File: file}
		class := r.name(o, "wfClass")
		if w.Name == "" || class == "" {
			return
		}
		namesOf(o, "states")
		namesOf(o, "transitions")
		if w.Class = class; !strings.Contains(class, "@") {
			w.Class = engine.FullName(class, w.Namespace)
		}
		w.Said = o.Fields.With("namespace", w.Namespace)
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

// namesOf refuses elements of an array that are no objects with names.
func namesOf(o jsonfile.Object, field string) {
	for i := range o.List(field) {
		if one, ok := o.Element(field, i); ok && one.Text("name") == "" {
			one.Fault(one.At("name"), found(one.Value("name")), "a name")
		}
	}
}

// AllWorkflows returns those of all classes, ordered by these. What they name, in
// the classes and in themselves, has not been looked at.
func (p *Presentation) AllWorkflows() (found []*engine.Workflow, err error) {
	all, err := p.workflows.get(p, "the workflows of the application", readWorkflows)
	for _, class := range slices.Sorted(maps.Keys(all)) {
		found = append(found, all[class]...)
	}
	return found, err
}

// Workflows is engine.Presentation's.
func (p *Presentation) Workflows(c *engine.Class) (found []*engine.Workflow, err error) {
	all, err := p.workflows.get(p, "the workflows of the application", readWorkflows)
	for ; c != nil && err == nil; c = c.Ancestor {
		found = append(found, all[c.FullName]...)
	}
	return found, err
}
