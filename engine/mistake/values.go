package mistake

const (
	noDefault  = "it has no default, and objects may be created without a value"
	nullOrKept = "the attribute is null; if it is cached, its stored and imported values stay"
)

// Mistakes in defaults, formulas, display strings, labels and the loading of collections.
var (
	DefaultValue        = addRule(Values, "default-value", "A default that is not a value of the attribute's type", noDefault)
	DefaultVariable     = addRule(Values, "default-variable", "A default such as `$name`, if there is no such variable", noDefault)
	DefaultVariableType = addRule(Values, "default-variable-type", "A default `$$now`, `$$uid` or `$$name`, if the type cannot hold it", noDefault)
	DefaultFormula      = addRule(Values, "default-formula", "A default that is a formula, if it cannot be compiled", noDefault)

	FormulaAttribute = addRule(Values, "formula-attribute", "A formula that uses an attribute that does not exist, or a path that cannot be followed", "it is null there; the rest of the formula is calculated")
	FormulaInvalid   = addRule(Values, "formula-invalid", "A formula that cannot be compiled, such as one with an unknown function, a missing bracket or wrong arguments", nullOrKept)
	FormulaSkipped   = addRule(Values, "formula-skipped", "A formula in text form with surplus closing brackets, or with text after its end", "it is skipped")
	SemanticFormula  = addRule(Values, "semantic-formula", "A display string that is a formula, if it cannot be compiled", "the id is shown")

	SelectionType      = addRule(Values, "selection-type", "`selectionProvider` that is not an object, or that uses a type that does not exist", "the attribute has no labels")
	SelectionElement   = addRule(Values, "selection-element", "A value or a row of `selectionProvider` that is not an object, or a label that is not text", "it is left out")
	SelectionMatrix    = addRule(Values, "selection-matrix", "`selectionProvider` of type MATRIX without rows", "no values are offered")
	SelectionCondition = addRule(Values, "selection-condition", "A condition on a row of `selectionProvider` that cannot be evaluated", "the row is left out")

	SortingAttribute = addRule(Values, "sorting-attribute", "`selSorting` that uses an attribute that does not exist", "it is left out")
	SortingShape     = addRule(Values, "sorting-shape", "`selSorting`, or an element of it, of another form", "it is left out")
	SortingMode      = addRule(Values, "sorting-mode", "`mode` of `selSorting` that is neither 0 nor 1", "a number or text that begins with 1 is descending, anything else ascending")

	ConditionsAttribute = addRule(Values, "conditions-attribute", "`selConditions` that use an attribute that does not exist, or that has no value to compare", "it counts as null")
	ConditionsInvalid   = addRule(Values, "conditions-invalid", "`selConditions` that cannot be evaluated", "no objects are loaded")
	ConditionsNoList    = addRule(Values, "conditions-no-list", "`selConditions` that is one condition without a list", "it is ignored; write it in a list to filter")
)
