package engine

import "context"

// Workflows returns the states of items in the workflows of their classes, and
// moves items. Package engine/workflow implements it.
type Workflows interface {
	// Status returns the states of an item and the permissions of the account of
	// ctx in these states: stages, itemPermissions, propertyPermissions and
	// selectionProviders, in the form of IONDV, with each date an Instant. The
	// item is read with r, so errors are those of Repository.Get.
	Status(ctx context.Context, r Repository, c *Class, id string) (Fields, error)
	// Has reports whether a workflow, named name@namespace, has the state.
	Has(workflow, state string) bool
	// Move moves an item, which it reads and writes with r, in one transaction,
	// or in a part of the transaction of ctx if there is one. If the move itself
	// is not possible, the reason of the error is one of those below. Other
	// errors are those of Repository.Get, and failures of the server. now is the
	// id of the item after the move, because transitions may change keys.
	Move(ctx context.Context, r Repository, m Move) (now string, err error)
}

// Move is one step of an item in a workflow: by a transition, or into a state
// from any other state.
type Move struct {
	Class      *Class
	ID         string
	Workflow   string // name@namespace, or only the name if it is in the namespace of the class
	Transition string
	State      string // used if Transition is ""
}

// The reasons of refused moves, as in IONDV.
const (
	NoWorkflow     = "workflow.wnf" // the class has no such workflow
	NoTransition   = "workflow.tnf"
	NoState        = "workflow.snf"
	NotInWorkflow  = "workflow.nw" // the conditions of the item's current state do not hold
	NotPossible    = "workflow.ti" // the transition does not begin in the current state, or its conditions do not hold
	NotAllowed     = "workflow.iw" // the account does not have the permission
	WrongState     = "workflow.cv" // the conditions of the item's new state would not hold
	NotTransferred = "workflow.te" // the assignments failed
)
