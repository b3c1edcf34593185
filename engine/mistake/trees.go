package mistake

// Attributes with the same name in several classes of one tree. The classes share a table.
var (
	TreeType = addRule(Attributes, "tree-type", "Classes of one tree that use the same attribute name with types that are stored differently",
		"each class keeps its own type, in a column of its own; filters and sorting of a class find no value in objects of classes that declare it differently")
	TreeCase = addRule(Attributes, "tree-case", "Classes of one tree with attribute names that differ in letter case only",
		"both attributes are kept; the column of one of them gets another name")
	TreeKey = addRule(Attributes, "tree-key", "A class that declares a part of its key again, when the new type is stored differently",
		"the type that the ancestor declares counts")
)
