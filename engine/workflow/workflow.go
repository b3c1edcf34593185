// Package workflow moves items between the states of workflows (iondv-data.md
// section 6.3): it compiles the files of workflows (Load), keeps the stages that
// items have reached as items of a system class, says what can be done next, and
// does it (Set). An item that has no stage is in the first state. What the stages
// let accounts do with items is said here, and enforced by engine/access. It is
// not for HTTP, which is builtin/workflows.
package workflow

import "restsrv/engine"

// Class returns the system class of stages: one item for each object and
// workflow. Open the store with it beside the classes of the application. Each
// call builds a new one.
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

// Stage is the item that says that another has reached a stage of a workflow.
func Stage(stages, c *engine.Class, item, workflow, stage string) *engine.Item {
	v := engine.ValuesOf(stages, engine.Named("id", stageID(c, item, workflow)),
		engine.Named("class", c.FullName), engine.Named("item", item), engine.Named("workflow", workflow), engine.Named("stage", stage))
	return &engine.Item{Class: stages, Values: v}
}

// stageID is the id of the stage of an item in a workflow.
func stageID(c *engine.Class, item, workflow string) string {
	return c.Root().FullName + "\t" + item + "\t" + workflow
}

// FullName returns the full name of a workflow of the class, which may be given without
// its namespace. ok is false if the class has no such workflow, or the workflow no such
// stage.
func (d *Definitions) FullName(c *engine.Class, workflow, stage string) (name string, ok bool) {
	f := d.named(c, workflow)
	if f == nil || f.state(stage) == nil {
		return "", false
	}
	return f.name, true
}
