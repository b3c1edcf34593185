package sqldb

// Function names a function of formulas and filters. Each dialect writes the call in its own SQL (Dialect.Function):
//   - All databases give the same results.
//   - The result is null if an argument is null, except where the comment of a function differs.
//   - An argument value never causes an error.
//   - Decimals have the form in which ColumnType stores them.
//   - A dialect writes the arguments in the given order, because placeholders may have no numbers.
type Function string

// The functions. A comment describes the arguments if the name does not.
const (
	TextValue    Function = "text value"    // declares that a placeholder is a text; not needed for a text that is compared with a column
	DecimalValue Function = "decimal value" // declares the type of a placeholder, like the next three functions
	IntValue     Function = "int value"
	RealValue    Function = "real value"
	BooleanValue Function = "boolean value"

	DecimalOfInt  Function = "decimal of int"
	DecimalOfReal Function = "decimal of real" // the number in its JSON form
	TextOfDecimal Function = "text of decimal" // the canonical form
	Ordered       Function = "ordered"         // a computed decimal, converted so that it compares as a number
	Bytewise      Function = "bytewise"        // a computed text, converted so that it compares by its bytes

	Add   Function = "add" // of two decimals, exact; like the next four functions
	Sub   Function = "sub"
	Mul   Function = "mul"
	Div   Function = "div" // like decimal.Div; null if the divisor is 0
	Mod   Function = "mod" // like decimal.Mod
	Abs   Function = "abs"
	Floor Function = "floor"
	Round Function = "round" // decimal, placeholder for the number of digits
	Sum   Function = "sum"   // the sum of decimals over many rows; null if there are no rows

	Concat      Function = "concat" // any number of texts; null counts as ""
	Substr      Function = "substr" // text, placeholder for the start (counted from 0; a negative one from the end), placeholder for the length (negative for all)
	Upper       Function = "upper"  // full Unicode mapping, independent of language
	Lower       Function = "lower"
	Length      Function = "length"       // in characters
	Includes    Function = "includes"     // two texts: the condition that the upper case of the first contains the upper case of the second
	IncludesAny Function = "includes any" // a text, then further texts: the condition that a further text includes the first one

	SetSize Function = "set size" // JSON array
	SetHas  Function = "set has"  // JSON array, placeholder for a JSON array: the condition that the two arrays have a common element

	DateAdd Function = "date add" // instant, decimal of milliseconds; the sum is truncated to whole milliseconds; it is null outside the years 0 to 9999
	Format  Function = "format"   // instant, name of one of its parts (engine.DatePart), minimum number of digits: the part as text
)
