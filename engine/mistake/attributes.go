package mistake

import "restsrv/engine"

// Attributes of classes.
var (
	AttributeShape   = addRule(Attributes, "attribute-shape", "An entry of properties that is not an object", "the entry is left out")
	AttributeName    = addRule(Attributes, "attribute-name", "An attribute without a name, or with a name that cannot be used", "the attribute is left out")
	AttributeTwice   = addRule(Attributes, "attribute-twice", "Several attributes with the same name in a class", "the one with the highest orderNumber counts, or else the last one: this one has no effect")
	AttributeCase    = addRule(Attributes, "attribute-case", "Attributes with names that differ in letter case only", "both attributes are kept; the column of the later one gets another name")
	PartTwice        = addRule(Attributes, "part-twice", "An attribute with the name that a part of a structure uses", "the part counts: this attribute is left out")
	TypeMissing      = addRule(Attributes, "type-missing", "An attribute without a type", "it takes any JSON")
	TypeUnknown      = addRule(Attributes, "type-unknown", "An attribute that uses a type that does not exist", "the attribute takes any JSON")
	StructureClass   = addRule(Attributes, "structure-class", "A structure that uses a class that does not exist", "the attribute is left out")
	StructureCircle  = addRule(Attributes, "structure-circle", "Structures that contain themselves", "the attribute that closes the circle is left out")
	AutoassignedType = addLeveled(engine.Warning, Attributes, "autoassigned-type", "`autoassigned` on a type for which the server cannot assign values, such as a user or a reference", "nothing is assigned, and an object may be created without a value")
)
