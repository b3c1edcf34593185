package sqldb

// Function names a function of formulas and filters. Each dialect writes the call in its own SQL (Dialect.Function),
// and all databases give the same results. Unless the comment of a function says otherwise, its result is null if an
// argument is null. No argument value causes an error. Decimals have the form in which ColumnType stores them. A
// dialect writes the arguments in the given order, because placeholders may have no numbers.
type Function string

// The functions. A comment gives the arguments, unless the name does.
const (
	TextValue    Function = "text value"    // declares that a placeholder is a text; not used for a text that is compared with a column
	DecimalValue Function = "decimal value" // declares the type of a placeholder, as the next three do
	IntValue     Function = "int value"
	RealValue    Function = "real value"
	BooleanValue Function = "boolean value"

	DecimalOfInt  Function = "decimal of int"
	DecimalOfReal Function = "decimal of real" // the number in its JSON form
	TextOfDecimal Function = "text of decimal" // the canonical form
	Ordered       Function = "ordered"         // a computed decimal, converted so that it compares as a number
	Bytewise      Function = "bytewise"        // a computed text, converted so that it compares by its bytes

	Add   Function = "add" // two decimals, as are the next four; exact
	Sub   Function = "sub"
	Mul   Function = "mul"
	Div   Function = "div" // like engine.Decimal.Div; null if the divisor is 0
	Mod   Function = "mod" // like engine.Decimal.Mod
	Abs   Function = "abs"
	Floor Function = "floor"
	Round Function = "round" // decimal, placeholder for the number of digits
	Sum   Function = "sum"   // the sum of decimals over many rows; null if there are no rows

	Concat      Function = "concat" // any number of texts; null counts as ""
	Substr      Function = "substr" // text, placeholder for the start (from 0; from the end if negative) and for the length (all if negative)
	Upper       Function = "upper"  // full Unicode mapping, independent of language
	Lower       Function = "lower"
	Length      Function = "length"       // in characters
	Includes    Function = "includes"     // two texts: the condition that the upper case of the first contains the upper case of the second
	IncludesAny Function = "includes any" // a text, then further texts: the condition that one of the further texts includes the first

	SetSize Function = "set size" // JSON array
	SetHas  Function = "set has"  // JSON array, placeholder for a JSON array: the condition that they have a common element

	DateAdd Function = "date add" // instant, decimal of milliseconds; the sum is truncated to whole milliseconds, and null outside the years 0 to 9999
	Format  Function = "format"   // instant, name of one of its parts (engine.DatePart), minimum number of digits: the part as text
)
