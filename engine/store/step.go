package store

// A save consists of steps. Each step is a type of its own and shares the state of the save.
type (
	// permits is the checks of the permissions of the account.
	permits struct{ *save }
	// relations is the collections of the items: links and back references.
	relations struct{ *save }
	// references is the checks that references lead to items.
	references struct{ *save }
	// ordering is the effects of the order of records: changed keys, and members that later records create.
	ordering struct{ *save }
	// nesting is the records within records.
	nesting struct{ *save }
	// rows is the rows of single items.
	rows struct{ *save }
	// renaming is the changes that follow a changed key.
	renaming struct{ *save }
	// journaling is the journal of changes.
	journaling struct{ *save }
	// filtered is the writes of all items that a filter finds.
	filtered struct{ *save }
)

// steps are the steps of a save.
type steps struct {
	permits    permits
	relations  relations
	references references
	ordering   ordering
	nesting    nesting
	rows       rows
	renaming   renaming
	journaling journaling
	filtered   filtered
}

// makeSteps connects the steps with their save.
func (sv *save) makeSteps() {
	sv.steps = steps{permits{sv}, relations{sv}, references{sv}, ordering{sv}, nesting{sv}, rows{sv}, renaming{sv}, journaling{sv}, filtered{sv}}
}
