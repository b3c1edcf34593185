package mistake

const (
	noDefault  = "it has no default, and objects may be created without a value"
	nullOrKept = "the attribute is null; if it is cached, its stored and imported values stay"
)

// Mistakes in defaults, formulas, display strings, labels and the loading of collections.
var (
	DefaultValue        = rule(Values, "default-value", "A default that is no value of the attribute's type", noDefault)
	DefaultVariable     = rule(Values, "default-variable", "A default such as `$name`, which stands for nothing", noDefault)
	DefaultVariableType = rule(Values, "default-variable-type", "A default `$$now`, `$$uid` or `$$name` for a type that cannot hold it", noDefault)
	DefaultFormula      = rule(Values, "default-formula", "A default that is a formula which cannot be compiled", noDefault)

	FormulaAttribute = rule(Values, "formula-attribute", "A formula that reads an attribute that does not exist, or a path that leads nowhere", "it is null there; the rest of the formula is calculated")
	FormulaInvalid   = rule(Values, "formula-invalid", "A formula that cannot be compiled, such as one with an unknown function, a missing bracket or wrong arguments", nullOrKept)
	FormulaSkipped   = rule(Values, "formula-skipped", "A formula as text with a bracket too many, or with more behind its end", "it is skipped")
	SemanticFormula  = rule(Values, "semantic-formula", "A display string that is a formula which cannot be compiled", "the id is shown")

	SelectionType      = rule(Values, "selection-type", "`selectionProvider` that is no object, or of a type that does not exist", "the attribute has no labels")
	SelectionElement   = rule(Values, "selection-element", "A value or a row of `selectionProvider` that is no object, or a label that is no text", "it is left out")
	SelectionMatrix    = rule(Values, "selection-matrix", "`selectionProvider` of type MATRIX without rows", "no values are offered")
	SelectionCondition = rule(Values, "selection-condition", "A condition on a row of `selectionProvider` that cannot be evaluated", "the row is left out")

	SortingAttribute = rule(Values, "sorting-attribute", "`selSorting` by an attribute that does not exist", "it is left out")
	SortingShape     = rule(Values, "sorting-shape", "`selSorting`, or an element of it, of another shape", "it is left out")
	SortingMode      = rule(Values, "sorting-mode", "`mode` of `selSorting` that is neither 0 nor 1", "a number or text that begins with 1 is descending, anything else ascending")

	ConditionsAttribute = rule(Values, "conditions-attribute", "`selConditions` with an attribute that does not exist, or has no value to compare", "it counts as null")
	ConditionsInvalid   = rule(Values, "conditions-invalid", "`selConditions` that cannot be evaluated", "no objects are loaded")
	ConditionsNoList    = rule(Values, "conditions-no-list", "`selConditions` that is one condition without a list", "it is ignored; write it in a list to filter")
)
