package engine

import "context"

// Workflows knows where items are in the workflows of their classes, and moves
// them (iondv-data.md section 6.3). Package engine/workflow has the one there is.
type Workflows interface {
	// Status says in which states an item is and what the account of ctx may do
	// there: stages, itemPermissions, propertyPermissions and selectionProviders,
	// as the ancestor has them, with each date an Instant. The item is read by r:
	// errors are those of Repository.Get.
	Status(ctx context.Context, r Repository, c *Class, id string) (Fields, error)
	// Has reports whether a workflow, named name@namespace, has the state.
	Has(workflow, state string) bool
	// Move moves an item, which r reads and writes, in one transaction: a part of
	// the one of ctx, if there is one. What is wrong with the move itself is an
	// error whose reason is one of those below; other errors are those of
	// Repository.Get, and failures of the server. now is the id of the item after
	// it: transitions may give keys other values.
	Move(ctx context.Context, r Repository, m Move) (now string, err error)
}

// Move is one step of an item in a workflow: by a transition, or into a state
// wherever the item is now.
type Move struct {
	Class      *Class
	ID         string
	Workflow   string // name@namespace; the name alone stands for one in the namespace of the class
	Transition string
	State      string // when Transition is ""
}

// The reasons of moves that are refused, as the ancestor has them.
const (
	NoWorkflow     = "workflow.wnf" // the class has no such workflow
	NoTransition   = "workflow.tnf"
	NoState        = "workflow.snf"
	NotInWorkflow  = "workflow.nw" // the conditions of the state that the item is in do not hold
	NotPossible    = "workflow.ti" // the transition does not begin there, or its conditions do not hold
	NotAllowed     = "workflow.iw" // the account may not do it
	WrongState     = "workflow.cv" // the conditions of the state that the item would be in do not hold
	NotTransferred = "workflow.te" // the assignments failed
)
