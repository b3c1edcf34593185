// Package workflow moves items through the states of workflows.
//
// Load compiles the workflow files of an application. A Set lists the transitions that are possible for an item, and
// performs transitions. The state of an item in a workflow is stored in an item of a system class, the stage. An item
// without a stage is in the start state. In a state, accounts can have permissions on items; this package computes
// them, and engine/access enforces them. The HTTP service is in builtin/workflows.
package workflow

import "restsrv/engine"

// Class returns the system class of stages. It has one item for each object and workflow. The store must be opened
// with this class in addition to the classes of the application. Each call returns a new class.
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

// Stage returns a stage: an item which records that an object is in a state of a workflow. stages is the result of
// Class. The object has the class c and the id item. workflow is name@namespace, and stage is the name of the state.
func Stage(stages, c *engine.Class, item, workflow, stage string) *engine.Item {
	v := engine.ValuesOf(stages, engine.Named("id", stageID(c, item, workflow)),
		engine.Named("class", c.FullName), engine.Named("item", item), engine.Named("workflow", workflow), engine.Named("stage", stage))
	return &engine.Item{Class: stages, Values: v}
}

// stageID returns the id of the stage item for an object and a workflow.
func stageID(c *engine.Class, item, workflow string) string {
	return c.Root().FullName + "\t" + item + "\t" + workflow
}

// FullName adds the namespace of class c to the name of a workflow if the name has no namespace. ok is false if the
// class has no such workflow, or if the workflow has no state with the name stage.
func (d *Definitions) FullName(c *engine.Class, workflow, stage string) (name string, ok bool) {
	f := d.findFlow(c, workflow)
	if f == nil || f.findState(stage) == nil {
		return "", false
	}
	return f.name, true
}
