package acl

import (
	"fmt"

	"restsrv/engine"
)

// Names of the system classes. They cannot collide with application classes,
// because a class name must not begin with #.
const (
	roleClass       = "#role"
	permissionClass = "#permission"
	resourceClass   = "#resource"
	policyClass     = "#policy"
)

// policyID is the id of the only item of #policy.
const policyID = "policy"

// Classes returns new system classes, in which this package stores roles, permissions and
// resources. Open the store with these classes and the classes of the application, and pass the
// same slice to New. No other package should use them.
func Classes() []*engine.Class {
	property, indexed := engine.SystemProperty, engine.SystemIndexed
	return []*engine.Class{
		engine.SystemClass(roleClass,
			property("id", engine.String),
			property("name", engine.String),
			property("removed", engine.Boolean), // the name stays stored, so that no acl file creates the role again
		),
		engine.SystemClass(permissionClass,
			property("id", engine.String), // see permissionID
			indexed("subject", engine.String),
			indexed("resource", engine.String),
			property("permission", engine.String), // null if revoked
		),
		engine.SystemClass(resourceClass,
			property("id", engine.String),
			property("name", engine.String),
			property("removed", engine.Boolean),
		),
		engine.SystemClass(policyClass, property("id", engine.String)), // only its revision is used
	}
}

// ItemClasses returns #permission and #policy from the result of Classes. Package engine/store
// changes items of these two classes when it deletes an item on which there are grants, or
// changes the key of such an item.
func ItemClasses(classes []*engine.Class) (permission, policy *engine.Class) {
	s, err := findClasses(classes)
	if err != nil {
		panic(err)
	}
	return s.permission, s.policy
}

// classSet holds the system classes, each in a field named after the items that the class stores.
type classSet struct{ role, permission, resource, policy *engine.Class }

func findClasses(classes []*engine.Class) (classSet, error) {
	var s classSet
	for _, c := range classes {
		switch c.FullName {
		case roleClass:
			s.role = c
		case permissionClass:
			s.permission = c
		case resourceClass:
			s.resource = c
		case policyClass:
			s.policy = c
		}
	}
	if s.role == nil || s.permission == nil || s.resource == nil || s.policy == nil {
		return s, fmt.Errorf("the system classes %s, %s, %s and %s are needed, as acl.Classes makes them",
			roleClass, permissionClass, resourceClass, policyClass)
	}
	return s, nil
}

// permissionID returns the key of a permission: its three parts, joined by tabs.
// The parts contain no control characters.
func permissionID(subject, resource, permission string) string {
	return subject + "\t" + resource + "\t" + permission
}

// systemRecord returns a record of a system item. Properties that are not given stay
// unchanged when it is saved.
func systemRecord(c *engine.Class, sets ...engine.Field) engine.Record {
	return engine.Record{Class: c, Values: engine.ValuesOf(c, sets...)}
}

func isRemoved(it *engine.Item) bool {
	gone, _ := it.Get("removed").(bool)
	return gone
}
