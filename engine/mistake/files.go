package mistake

// Values of the wrong JSON type. The rules apply to class files, deploy.json and all other files
// that people write.
var (
	NotText       = addRule(Files, "not-text", "Another value where text is expected", "it counts as absent")
	NotFlag       = addRule(Files, "not-flag", "Another value where true or false is expected", "it is converted as JavaScript does: an empty text, 0 and NaN are false, everything else is true")
	NotNumber     = addRule(Files, "not-number", "Another value where a whole number is expected, or a number out of range", "it counts as absent")
	NotArray      = addRule(Files, "not-array", "Another value where an array is expected", "it counts as absent")
	OrderFraction = addRule(Files, "order-fraction", "An orderNumber that is not a whole number", "it is rounded down")
	NotObject     = addRule(Files, "not-object", "Another value where an object is expected", "it counts as absent")
)
