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
	names := []string{"id", "class", "item", "workflow", "stage"}
	c := &engine.Class{Name: "#stage", Caption: "#stage", Key: []string{"id"}}
	for i, name := range append(names, "since") {
		p := &engine.Property{Name: name, Caption: name, Type: engine.String, OrderNumber: i, Nullable: i > 0, Indexed: name == "item", Definition: "#stage"}
		if name == "since" {
			p.Type = engine.DateTime
		}
		c.Properties = append(c.Properties, p)
	}
	if err := c.Init(); err != nil {
		panic(err) // the class above is a constant of the program
	}
	c.Link()
	return c
}

// Stage is the item that says that another has reached a stage of a workflow.
func Stage(stages, c *engine.Class, item, workflow, stage string) *engine.Item {
	v := engine.NewValues(stages)
	for name, value := range map[string]string{
		"id":    fmt.Sprintf("%s\t%s\t%s", c.Root().FullName, item, workflow),
		"class": c.FullName, "item": item, "workflow": workflow, "stage": stage,
	} {
		v[stages.Property(name).Index] = value
	}
	return &engine.Item{Class: stages, Values: v}
}
