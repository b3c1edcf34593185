package store

// A save consists of steps. Each step is a type of its own, and all of them share the state of the save.
type (
	// permits checks the permissions of the account.
	permits struct{ *save }
	// relations writes the collections of items: links and back references.
	relations struct{ *save }
	// references checks that references lead to items.
	references struct{ *save }
	// ordering handles effects of the order of records: changed keys, and members that later records create.
	ordering struct{ *save }
	// nesting writes the records within records.
	nesting struct{ *save }
	// rows writes the rows of single items.
	rows struct{ *save }
	// renaming makes the changes that follow a changed key.
	renaming struct{ *save }
	// journaling writes the journal of changes.
	journaling struct{ *save }
	// answering loads the members of the items of a response.
	answering struct{ *save }
	// filtered writes all items that a filter finds.
	filtered struct{ *save }
)

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

func (sv *save) makeSteps() {
	sv.steps = steps{permits{sv}, relations{sv}, references{sv}, ordering{sv}, nesting{sv}, rows{sv}, renaming{sv}, journaling{sv}, filtered{sv}}
}
