package acl

import (
	"fmt"

	"restsrv/engine"
)

// Names of the system classes. No application class can have them: a class
// name does not begin with #.
const (
	roleClass       = "#role"
	permissionClass = "#permission"
	resourceClass   = "#resource"
	policyClass     = "#policy"
)

// policyID is the id of the one item of #policy.
const policyID = "policy"

// Classes returns the system classes in which this package keeps roles,
// permissions and resources. Open the store with them beside the classes of the
// application, hand the same slice to New, and show them to nobody else. Each
// call builds new ones.
func Classes() []*engine.Class {
	property, indexed := engine.SystemProperty, engine.SystemIndexed
	return []*engine.Class{
		engine.SystemClass(roleClass,
			property("id", engine.String),
			property("name", engine.String),
			property("removed", engine.Boolean), // its name is remembered: no acl file brings it back
		),
		engine.SystemClass(permissionClass,
			property("id", engine.String), // see permissionID
			indexed("subject", engine.String),
			indexed("resource", engine.String),
			property("permission", engine.String), // null: taken away
		),
		engine.SystemClass(resourceClass,
			property("id", engine.String),
			property("name", engine.String),
			property("removed", engine.Boolean),
		),
		engine.SystemClass(policyClass, property("id", engine.String)), // its revision is what counts
	}
}

// ItemClasses returns #permission and #policy of the classes that Classes returned.
// The store changes their items when an item with grants is deleted or gets
// another key.
func ItemClasses(classes []*engine.Class) (permission, policy *engine.Class) {
	s, err := findClasses(classes)
	if err != nil {
		panic(err)
	}
	return s.permission, s.policy
}

// classSet are the system classes by what they keep.
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

// permissionID is the key of a permission: its three parts, which hold no
// control characters, joined by tabs.
func permissionID(subject, resource, permission string) string {
	return subject + "\t" + resource + "\t" + permission
}

// record makes a system item to save; what is not named stays as it is.
func record(c *engine.Class, sets ...engine.Field) engine.Record {
	return engine.Record{Class: c, Values: engine.ValuesOf(c, sets...)}
}

func removed(it *engine.Item) bool {
	gone, _ := it.Get("removed").(bool)
	return gone
}
