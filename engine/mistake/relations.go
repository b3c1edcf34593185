package mistake

// References and collections.
var (
	ReferenceClass  = addRule(Relations, "reference-class", "A reference to a class that does not exist, or that cannot have objects", "the attribute holds the id as text, and paths through it are as through null")
	CollectionClass = addRule(Relations, "collection-class", "A collection of a class that does not exist, or that cannot have objects", "the attribute holds the array as it is")
	CollectionBack  = addRule(Relations, "collection-class-backref", "A collection with backRef of a class that does not exist", "the attribute is left out")
	BackUnknown     = addRule(Relations, "backref-unknown", "A backRef that is not the name of an attribute", "the attribute is always null or empty and cannot be written")
	BackType        = addRule(Relations, "backref-type", "A backRef that names an attribute with values of another kind", "the attribute is always null or empty and cannot be written")
	BindingUnknown  = addRule(Relations, "binding-unknown", "A binding that is not the name of an attribute, or names one without values to compare", "the attribute is always null or empty and cannot be written")
	OtherSide       = addRule(Relations, "other-side-unknown", "A backColl that is not the name of an attribute", "the collection has no other side")
	OtherSideType   = addRule(Relations, "other-side-type", "A backColl that names an attribute which cannot be the other side", "the collection has no other side")
	SubclassUnknown = addRule(Relations, "subclass-unknown", "A name in allowedSubclasses that is not a descendant of the attribute's class", "the name is left out; if none remains, the attribute takes no object")
)
