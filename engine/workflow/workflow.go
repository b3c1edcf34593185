// Package workflow moves items through the states of workflows.
//
// Load compiles the workflow files of an application. Set stores the state that each item has reached as an item of a
// system class, lists the transitions that are possible next, and performs them. If no state is stored for an item, the
// item is in the start state of the workflow. This package computes the permissions that the states give to accounts;
// engine/access enforces them. The HTTP service is builtin/workflows.
package workflow

import "restsrv/engine"

// Class returns the system class of stages. It has one item for each object and workflow. The caller should open the
// store with it, in addition to the classes of the application. Each call builds a new class.
func Class() *engine.Class {
	property, indexed := engine.SystemProperty, engine.SystemIndexed
	return engine.SystemClass("#stage",
		property("id", engine.String),
		property("class", engine.String),
		indexed("item", engine.String),
		property("workflow", engine.String),
		property("stage", engine.String),
		property("since", engine.DateTime),
	)
}

// Stage returns the stage item which records that item, an object of class c, has reached a state of a workflow.
func Stage(stages, c *engine.Class, item, workflow, stage string) *engine.Item {
	v := engine.ValuesOf(stages, engine.Named("id", stageID(c, item, workflow)),
		engine.Named("class", c.FullName), engine.Named("item", item), engine.Named("workflow", workflow), engine.Named("stage", stage))
	return &engine.Item{Class: stages, Values: v}
}

// stageID returns the id of the stage item of an item in a workflow.
func stageID(c *engine.Class, item, workflow string) string {
	return c.Root().FullName + "\t" + item + "\t" + workflow
}

// FullName returns the full name of a workflow of class c. The name of the workflow may be given without its namespace.
// ok is false if the class has no such workflow, or if the workflow has no such state.
func (d *Definitions) FullName(c *engine.Class, workflow, stage string) (name string, ok bool) {
	f := d.findFlow(c, workflow)
	if f == nil || f.findState(stage) == nil {
		return "", false
	}
	return f.name, true
}
