package meta

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
	"restsrv/engine/service"
)

// workflowsDir is the folder of the workflows, with files <name>.wf.json or <name>@<namespace>.wf.json.
const workflowsDir = "workflows"

func readWorkflows(r *presentationReader) map[string][]*service.Workflow {
	all := map[string][]*service.Workflow{}
	files := map[string]jsonfile.Object{}
	r.walkDir(workflowsDir, func(file string, _ []string) {
		o, ok := r.readObject(file, "a workflow", nil)
		if !ok {
			return
		}
		_, namespace, _ := strings.Cut(strings.TrimSuffix(baseName(file), ".wf"), "@")
		if namespace == "" {
			namespace = r.namespace
		}
		w := &service.Workflow{Name: textOr(o.Fields, "name", ""), Namespace: textOr(o.Fields, "namespace", namespace), File: file, Written: o.Fields}
		class := textOr(o.Fields, "wfClass", "")
		if class == "" {
			// This fault is fatal, because states may restrict the attributes that accounts can use.
			o.Fault(o.At("wfClass"), describeFound(o.Value("wfClass")), "the class of the workflow")
			return
		}
		if w.Name == "" {
			w.Name, _, _ = strings.Cut(strings.TrimSuffix(baseName(file), ".wf"), "@")
			o.Report(mistake.WorkflowName, o.At("name"), describeFound(o.Value("name")), "a name")
		}
		if w.Class = class; !strings.Contains(class, "@") {
			w.Class = engine.FullName(class, w.Namespace)
		}
		w.Said = slices.Clone(o.Fields).With("namespace", w.Namespace).With("name", w.Name)
		for _, field := range []string{"states", "transitions"} {
			if _, ok := w.Said.Get(field); ok {
				w.Said = w.Said.With(field, namedEntries(o.Value(field)))
			}
		}
		key := w.Class + " " + engine.FullName(w.Name, w.Namespace)
		if other, ok := files[key]; ok {
			other.Warn("name", "the workflow "+engine.Quote(w.Name)+", which "+file+" describes, too", "one file for a workflow: that one is shown")
			all[w.Class] = slices.DeleteFunc(all[w.Class], func(o *service.Workflow) bool { return o.Name == w.Name && o.Namespace == w.Namespace })
		}
		files[key] = o
		all[w.Class] = append(all[w.Class], w)
	})
	for _, list := range all {
		slices.SortStableFunc(list, func(a, b *service.Workflow) int { return cmp.Compare(a.Name, b.Name) })
	}
	return all
}

// namedEntries returns the elements of an array that are objects with a name.
func namedEntries(v any) []any {
	list, _ := v.([]any)
	return slices.DeleteFunc(slices.Clone(list), func(v any) bool {
		fields, _ := v.(engine.Fields)
		return textOr(fields, "name", "") == ""
	})
}

// AllWorkflows returns the workflows of all classes, ordered by class, and the faults of their files. It does not
// check whether the classes, attributes and states that are named in a workflow exist.
func (p *Presentation) AllWorkflows() (found []*service.Workflow, faults engine.Faults) {
	all, err := p.workflows.get(p, "the workflows of the application", readWorkflows)
	if err != nil && !errors.As(err, &faults) {
		return nil, engine.Faults{{File: workflowsDir, Found: "something that cannot be read", Expected: "a folder"}}
	}
	for _, class := range slices.Sorted(maps.Keys(all)) {
		found = append(found, all[class]...)
	}
	if err == nil {
		faults = p.workflows.faults
	}
	return found, faults
}

// Workflows implements service.Presentation.
func (p *Presentation) Workflows(c *engine.Class) (found []*service.Workflow, err error) {
	all, err := p.workflows.get(p, "the workflows of the application", readWorkflows)
	for ; c != nil && err == nil; c = c.Ancestor {
		found = append(found, all[c.FullName]...)
	}
	return found, err
}
