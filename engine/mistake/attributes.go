package mistake

import "restsrv/engine"

// Attributes.
var (
	AttributeShape   = rule(Attributes, "attribute-shape", "An entry of properties that is no object", "the entry is left out")
	AttributeName    = rule(Attributes, "attribute-name", "An attribute without a name, or with one that cannot be used", "the attribute is left out")
	AttributeTwice   = rule(Attributes, "attribute-twice", "Attributes of one name in a class", "the one with the highest orderNumber counts, or else the last one: this one has no effect")
	AttributeCase    = rule(Attributes, "attribute-case", "Attributes whose names differ in letter case only", "both attributes are kept; the column of the later one gets another name")
	PartTwice        = rule(Attributes, "part-twice", "An attribute with the name of a part of a structure", "the part counts: this attribute is left out")
	TypeMissing      = rule(Attributes, "type-missing", "An attribute without a type", "it takes any JSON")
	TypeUnknown      = rule(Attributes, "type-unknown", "A type that does not exist", "the attribute takes any JSON")
	StructureClass   = rule(Attributes, "structure-class", "A structure whose class does not exist", "the attribute is left out")
	StructureCircle  = rule(Attributes, "structure-circle", "Structures that contain themselves", "the attribute that closes the circle is left out")
	AutoassignedType = leveled(engine.Warning, Attributes, "autoassigned-type", "`autoassigned` on a type that the server assigns no values to, such as a user or a reference", "nothing is assigned, and an object may be created without a value")
)
