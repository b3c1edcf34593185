package mistake

// Attributes of one name in the classes of a tree: items of these share a table.
var (
	TreeType = rule(Attributes, "tree-type", "Classes of one tree declare an attribute of one name with types that are stored differently",
		"each class keeps its own type, in a column of its own; filters and sorting of a class find no value in objects of classes that declare it differently")
	TreeCase = rule(Attributes, "tree-case", "Classes of one tree declare attributes whose names differ in letter case only",
		"both attributes are kept; the column of one of them gets another name")
	TreeKey = rule(Attributes, "tree-key", "A class declares a part of its key again, with a type that is stored differently",
		"the type that the ancestor declares counts")
)
