package sqldb

// Function is a function of expressions that every dialect must write. Unless its comment says
// otherwise, a function of null is null. No argument value causes an error, and all databases give
// the same results. Decimals are in the form in which ColumnType stores them. The arguments are
// written in order.
type Function string

// The functions with their arguments.
const (
	TextValue    Function = "text value"    // placeholder: a text that is not compared with a column
	DecimalValue Function = "decimal value" // placeholder, as are the next three
	IntValue     Function = "int value"
	RealValue    Function = "real value"
	BooleanValue Function = "boolean value"

	DecimalOfInt  Function = "decimal of int"
	DecimalOfReal Function = "decimal of real" // the number in its JSON form
	TextOfDecimal Function = "text of decimal" // canonical form
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

	DateAdd Function = "date add" // instant, decimal of milliseconds; the sum is truncated to a whole number, and null outside the years 0 to 9999
	Format  Function = "format"   // a date part (engine.DatePart) of an instant as text: instant, the part, its width; see formatDate
)
