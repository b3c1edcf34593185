package engine

// Query says which items of a class to fetch, and in which order.
type Query struct {
	Class  *Class    // items of this class and of its descendants
	Filter *Filter   // nil for all
	Sort   []Sort    // insertion order ends it in any case
	Offset int       // items to skip
	Count  int       // at most so many items; negative for no limit
	Load   []*Load   // what to load with each item, besides what its class needs
	Search string    // words to be found in the item; "" for none
	After  *Position // only what follows it; nil for all
	Exact  bool      // not the items of descendants

	WantPosition bool // Item.Position is filled
}

// Position is a place in a sorted list: right behind an item. Items that are
// inserted or deleted meanwhile do not move it.
type Position struct {
	Values   []any // one for each Sort of the query
	Sequence int64 // insertion number of the item
}

// Load says to load a reference or a collection of an item, and what to load
// with that.
type Load struct {
	Property *Property // of the item's class, or of one of its relatives
	Shown    bool      // is part of the answer; else it only serves to compute
	Filter   *Filter   // further condition on what is loaded; nil for all
	Next     []*Load
}

// Sort is one term of an order.
type Sort struct {
	Property   *Property
	Descending bool
}

// Op is a filter operator, spelt as in the function-style filter language.
type Op string

// The operators. Comparisons with null follow the ancestor: eq null finds
// null, ne finds null too unless compared with it, the others never do.
const (
	OpAnd   Op = "and" // Args, all
	OpOr    Op = "or"  // Args, any
	OpNot   Op = "not" // Args, none
	OpEq    Op = "eq"  // Property against Value or Other, so too the next five
	OpNe    Op = "ne"
	OpLt    Op = "lt"
	OpLte   Op = "lte"
	OpGt    Op = "gt"
	OpGte   Op = "gte"
	OpIn    Op = "in"    // Property against List
	OpMatch Op = "match" // Property matches Pattern, an RE2 expression, anywhere
	OpEmpty Op = "empty" // Property is null or ""
	OpConst Op = "const" // Value, a bool, for every item
)

// Filter is a condition on an item, already checked against its class: every
// property exists and every value has its property's type.
type Filter struct {
	Op       Op
	Args     []*Filter
	Property *Property
	Other    *Property // right operand, when it is a property
	Value    any       // right operand, when it is a value
	List     []any
	Pattern  string
}

// And joins conditions; nil ones are left out, none at all is nil.
func And(filters ...*Filter) *Filter {
	var args []*Filter
	for _, f := range filters {
		if f != nil {
			args = append(args, f)
		}
	}
	if len(args) < 2 {
		if len(args) == 0 {
			return nil
		}
		return args[0]
	}
	return &Filter{Op: OpAnd, Args: args}
}

// Never is the filter that no item passes.
func Never() *Filter { return &Filter{Op: OpConst, Value: false} }

// Equal finds items whose property is the value, cast to its type. The error
// is Invalid.
func Equal(p *Property, value any) (*Filter, error) {
	return compare(OpEq, p, value)
}

// AnyOf finds items whose property is one of the values, cast to its type.
func AnyOf(p *Property, values []any) (*Filter, error) {
	if err := filterable(p); err != nil {
		return nil, err
	}
	list := make([]any, 0, len(values))
	null := false
	for _, v := range values {
		v, err := p.Cast(v)
		if err != nil {
			return nil, err
		}
		if v == nil {
			null = true
			continue
		}
		list = append(list, v)
	}
	f := &Filter{Op: OpIn, Property: p, List: list}
	if null {
		return &Filter{Op: OpOr, Args: []*Filter{f, {Op: OpEq, Property: p}}}, nil
	}
	return f, nil
}

func compare(op Op, p *Property, value any) (*Filter, error) {
	if err := filterable(p); err != nil {
		return nil, err
	}
	v, err := p.Cast(value)
	if err != nil {
		return nil, err
	}
	if v == nil && op != OpEq && op != OpNe {
		return Never(), nil
	}
	return &Filter{Op: op, Property: p, Value: v}, nil
}

// filterable refuses conditions that would let a client guess what it may not
// read.
func filterable(p *Property) error {
	if p.Type != Password {
		return nil
	}
	e := Errorf(Invalid, "password", "attribute %s is a password: it can be neither filtered nor sorted by", Quote(p.Name))
	e.Attribute = p.Name
	return e
}

// ParseSort reads a sort object, {"name": 1, "due": -1}, 1 for ascending. The
// error is Invalid.
func ParseSort(c *Class, v any) ([]Sort, error) {
	fields, ok := v.(Fields)
	if !ok {
		return nil, Errorf(Invalid, "sort", `sort takes an object such as {"name": 1, "due": -1}`)
	}
	var sorts []Sort
	for _, f := range fields {
		p := c.Property(f.Name)
		if p == nil {
			return nil, unknownAttribute(c, f.Name)
		}
		if err := filterable(p); err != nil {
			return nil, err
		}
		n, ok := castInt(f.Value)
		if !ok || n != 1 && n != -1 {
			return nil, Errorf(Invalid, "sort", "sort by %s takes 1 (ascending) or -1 (descending), found %s", Quote(f.Name), describe(f.Value))
		}
		sorts = append(sorts, Sort{p, n < 0})
	}
	return sorts, nil
}

func unknownAttribute(c *Class, name string) *Error {
	e := Errorf(Invalid, "unknown-attribute", "class %s has no attribute %s", c.FullName, Quote(name))
	e.Class, e.Attribute = c.FullName, name
	return e
}
