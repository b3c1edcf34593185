package mistake

import "restsrv/engine"

// InlineObject is a mistake in an object that is described in deploy.json.
var InlineObject = addRule(Deploy, "inline-object", "An entry of `objects` that is not an object or names no class, uses a class that does not exist or is abstract, uses an unknown attribute, or has a value that does not fit, is missing or is taken", "the object is not created")

// Mistakes in objects of the folder data and in NDJSON files. These mistakes never prevent a
// start: at its first start, the server skips the objects with mistakes. The command restsrv
// import exits with an error if there are such objects.
var (
	ObjectUnreadable = addData("object-unreadable", "A file that cannot be read or does not contain a JSON object", "the object is not taken")
	ObjectClass      = addData("object-class", "An object of a class that does not exist, is abstract or was left out", "the object is not taken; a later import takes it when the class is there")
	ObjectUnnamed    = addData("object-unnamed", "A file with a name such as `note.json`, without an id, if its object has no key", "the object is not taken")
	ObjectKey        = addData("object-key", "A key value that cannot be cast", "the object is not taken")
	ObjectRefused    = addData("object-refused", "An object that the database refuses, for example when another object has the same unique value", "the object is not taken")
	ObjectNull       = addData("object-null", "null where a value is required. Only `import -strict` reports it", "the object is not taken; without -strict it is taken with null")
	ValueMisfit      = addData("value-misfit", "A value that cannot be cast to the type of its attribute", "the object is taken without this value; import -strict does not take it")
	ValueUnknown     = addData("value-unknown", "Values of an attribute that does not exist", "passed over")
	ValueFile        = addData("value-file", "A `$$FILE$$` object with a path that leads out of the data folder, or that is not a regular file", "the object is taken without this file; import -strict does not take it")
	ValueStage       = addData("value-stage", "`___workflowStatus` with a workflow or a stage that does not exist", "the object is taken without this stage; import -strict does not take it")
	DataArchive      = addData("data-archive", "A zip file that is damaged or too large, or that has names which lead out of it", "files in it that cannot be read are not taken")
	DataSequences    = addData("data-sequences", "An entry of `sequences.data` that is not a whole number", "the sequence is not raised")
	DataOther        = addData("data-other", "Other files in the folder data", "the file is ignored: its name ends neither in .json nor in .zip, and no object names it")
)

func addData(code, mistake, resolution string) *Rule {
	return addLeveled(engine.Warning, Data, code, mistake, resolution)
}
