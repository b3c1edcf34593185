package mistake

import "restsrv/engine"

// Objects that deploy.json has itself.
var InlineObject = rule(Deploy, "inline-object", "An entry of `objects` that is no object or names no class, whose class does not exist or is abstract, with an unknown attribute, or with a value that does not fit, is missing or is taken", "the object is not created")

// Objects of the folder data, and of NDJSON. They never keep the server from starting:
// its first start takes the rest. The import of the same files fails.
var (
	ObjectUnreadable = data("object-unreadable", "A file that cannot be read or is no JSON object", "the object is not taken")
	ObjectClass      = data("object-class", "An object whose class does not exist, is abstract or was left out", "the object is not taken; a later import takes it when the class is there")
	ObjectUnnamed    = data("object-unnamed", "A file named without an id, such as `note.json`, whose object has no key", "the object is not taken")
	ObjectKey        = data("object-key", "A key value that cannot be cast", "the object is not taken")
	ObjectRefused    = data("object-refused", "An object that the database does not take, such as one with a unique value that another object has", "the object is not taken")
	ObjectNull       = data("object-null", "null where a value is required; reported by `import -strict` alone", "the object is not taken; without -strict it is taken with null")
	ValueMisfit      = data("value-misfit", "A value that cannot be cast to the type of its attribute", "the object is taken without this value; import -strict does not take it")
	ValueUnknown     = data("value-unknown", "Values of an attribute that does not exist", "passed over")
	ValueFile        = data("value-file", "A `$$FILE$$` object whose path leads out of the data folder, or to no regular file", "the object is taken without this file; import -strict does not take it")
	ValueStage       = data("value-stage", "`___workflowStatus` with a workflow or a stage that does not exist", "the object is taken without this stage; import -strict does not take it")
	DataArchive      = data("data-archive", "A zip file that is damaged or too large, or one with names that lead out of it", "what cannot be read of it is not taken")
	DataSequences    = data("data-sequences", "An entry of `sequences.data` that is no whole number", "the sequence is not raised")
	DataOther        = data("data-other", "Other files in the folder data", "the file is ignored: its name ends neither in .json nor in .zip, and no object names it")
)

func data(code, mistake, resolution string) *Rule {
	return leveled(engine.Warning, Data, code, mistake, resolution)
}
