package mistake

// References and collections.
var (
	ReferenceClass  = rule(Relations, "reference-class", "A reference to a class that does not exist, or that has no objects", "the attribute holds the id as text, and paths through it are as through null")
	CollectionClass = rule(Relations, "collection-class", "A collection of a class that does not exist, or that has no objects", "the attribute holds the array as it is")
	CollectionBack  = rule(Relations, "collection-class-backref", "A collection with backRef of a class that does not exist", "the attribute is left out")
	BackUnknown     = rule(Relations, "backref-unknown", "A backRef that names no attribute", "the attribute is always null or empty and cannot be written")
	BackType        = rule(Relations, "backref-type", "A backRef that names an attribute with other values", "the attribute is always null or empty and cannot be written")
	BindingUnknown  = rule(Relations, "binding-unknown", "A binding that names no attribute, or one without values to compare", "the attribute is always null or empty and cannot be written")
	OtherSide       = rule(Relations, "other-side-unknown", "A backColl that names no attribute", "the collection has no other side")
	OtherSideType   = rule(Relations, "other-side-type", "A backColl that names something that cannot be the other side", "the collection has no other side")
	SubclassUnknown = rule(Relations, "subclass-unknown", "A name in allowedSubclasses that is no class below that of the attribute", "the name is left out; if none remains, the attribute takes no object")
)
