package mistake

// Values of the wrong JSON type, in all files that people write.
var (
	NotText       = rule(Files, "not-text", "Something else where text is expected", "it counts as absent")
	NotFlag       = rule(Files, "not-flag", "Something else where true or false is expected", "it is converted as JavaScript does: an empty text, 0 and NaN are false, everything else is true")
	NotNumber     = rule(Files, "not-number", "Something else where a whole number is expected, or one out of range", "it counts as absent")
	NotArray      = rule(Files, "not-array", "Something else where an array is expected", "it counts as absent")
	OrderFraction = rule(Files, "order-fraction", "An orderNumber that is no whole number", "it is rounded down")
	NotObject     = rule(Files, "not-object", "Something else where an object is expected", "it counts as absent")
)
