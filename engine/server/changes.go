package server

import (
	"fmt"

	"restsrv/engine"
)

// maxChanges is the maximum number of database changes that the report of a reload lists.
const maxChanges = 6

// databaseChanges describes how the tables of a database change if the classes of the application
// change. The data of removed classes and attributes stay stored.
func databaseChanges(before, after []*engine.Class) (changes []string) {
	old := map[string]*engine.Class{}
	for _, c := range before {
		old[c.FullName] = c
	}
	for _, c := range after {
		was := old[c.FullName]
		delete(old, c.FullName)
		if was == nil {
			changes = append(changes, "class "+c.FullName+" added")
			continue
		}
		changes = append(changes, attributeChanges(was, c)...)
	}
	for _, c := range before {
		if old[c.FullName] != nil {
			changes = append(changes, "class "+c.FullName+" is not used any more, its objects stay stored")
		}
	}
	if n := len(changes) - maxChanges; n > 1 {
		changes = append(changes[:maxChanges], fmt.Sprintf("%d more", n))
	}
	return changes
}

// attributeChanges lists the changes between two definitions of a class.
func attributeChanges(before, after *engine.Class) (changes []string) {
	for _, p := range after.Properties {
		name := after.FullName + "." + p.Name
		was := before.Property(p.Name)
		switch {
		case was == nil:
			changes = append(changes, "attribute "+name+" added")
		case was.Type != p.Type:
			changes = append(changes, "attribute "+name+" has another type")
		case (p.Indexed || p.Unique) && !was.Indexed && !was.Unique:
			changes = append(changes, "index on "+name+" added")
		}
	}
	for _, p := range before.Properties {
		if after.Property(p.Name) == nil {
			changes = append(changes, "attribute "+before.FullName+"."+p.Name+" is not used any more, its values stay stored")
		}
	}
	return changes
}
