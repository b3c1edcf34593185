// Package workflow keeps the stages that objects have reached in workflows, as
// items of a system class. It is not yet for moving objects between stages.
package workflow

import (
	"fmt"

	"restsrv/engine"
)

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
	v := engine.ValuesOf(stages, engine.Named("id", fmt.Sprintf("%s\t%s\t%s", c.Root().FullName, item, workflow)),
		engine.Named("class", c.FullName), engine.Named("item", item), engine.Named("workflow", workflow), engine.Named("stage", stage))
	return &engine.Item{Class: stages, Values: v}
}
