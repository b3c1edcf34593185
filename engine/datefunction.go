package engine

import "strings"

func millis(n int64) *Expr {
	return Constant(DecimalNum, Decimal(itoa(int(n))))
}

// dateAdd reads {"dateAdd":[date, n, unit]}.
func (p filterParser) dateAdd(args []any, depth int) (*Expr, error) {
	if len(args) < 2 || len(args) > 3 {
		return nil, badFilter("dateAdd takes a date, a number and perhaps a unit, found %d arguments", len(args))
	}
	date, err := p.dateArgument("dateAdd", args[0], depth)
	if err != nil {
		return nil, err
	}
	o, err := p.parseOperand(args[1], depth)
	if err != nil {
		return nil, err
	}
	n, err := numberArgument("dateAdd", o)
	if err != nil {
		return nil, err
	}
	factor, err := unitArgument(args, 2)
	if err != nil {
		return nil, err
	}
	if factor != 1 {
		n = &Expr{Op: OpMul, Type: DecimalNum, Args: []*Expr{n, millis(factor)}, digits: n.digits + 12}
	}
	if _, err := checkDigits(n); err != nil {
		return nil, err
	}
	return &Expr{Op: OpDateAdd, Type: DateTime, Args: []*Expr{date, n}}, nil
}

func unitArgument(args []any, at int) (int64, error) {
	if len(args) <= at {
		return parseUnit(nil)
	}
	return parseUnit(args[at])
}

// dateDiff reads {"dateDiff":[d1, d2, unit, floor]}, which is d1 - d2 in units.
func (p filterParser) dateDiff(args []any, depth int) (*Expr, error) {
	if len(args) < 2 || len(args) > 4 {
		return nil, badFilter("dateDiff takes two dates, perhaps a unit, and true for whole units, found %d arguments", len(args))
	}
	e := &Expr{Op: OpSub, Type: DecimalNum, digits: 21}
	for _, a := range args[:2] {
		date, err := p.dateArgument("dateDiff", a, depth)
		if err != nil {
			return nil, err
		}
		e.Args = append(e.Args, toNumber(date))
	}
	factor, err := unitArgument(args, 2)
	if err != nil {
		return nil, err
	}
	if factor != 1 {
		e = &Expr{Op: OpDiv, Type: DecimalNum, Args: []*Expr{e, millis(factor)}, digits: 60}
	}
	whole := false
	if len(args) == 4 && args[3] != nil {
		var ok bool
		if whole, ok = args[3].(bool); !ok {
			return nil, badFilter("the last argument of dateDiff is true or false, found %s", describeValue(args[3]))
		}
	}
	if whole {
		e = &Expr{Op: OpFloor, Type: DecimalNum, Args: []*Expr{e}, digits: e.digits}
	}
	return e, nil
}

// parseFormat reads {"format":[date, "%Y-%m-%d"]}, or the same with names like
// YYYY-MM-DD. The default format is DD.MM.YYYY.
func (p filterParser) parseFormat(name string, args []any, depth int) (*Expr, error) {
	if len(args) < 1 || len(args) > 2 {
		return nil, badFilter("%s takes a date and perhaps a format, found %d arguments", name, len(args))
	}
	date, err := p.dateArgument(name, args[0], depth)
	if err != nil {
		return nil, err
	}
	layout := "L"
	if len(args) == 2 {
		var ok bool
		if layout, ok = args[1].(string); !ok || len(layout) > 100 || strings.Contains(layout, "\x00") {
			return nil, badFilter("%s takes a format such as %%Y-%%m-%%d, found %s", name, describeValue(args[1]))
		}
	}
	pieces, err := formatPieces(layout)
	if err != nil {
		return nil, err
	}
	return &Expr{Op: OpFormat, Type: String, Args: []*Expr{date}, Value: pieces}, nil
}

type formatName struct {
	name  string
	piece FormatPiece
}

var percentNames = []formatName{
	{"Y", FormatPiece{Part: Year, Width: 4}}, {"m", FormatPiece{Part: Month, Width: 2}}, {"d", FormatPiece{Part: Day, Width: 2}},
	{"H", FormatPiece{Part: Hour, Width: 2}}, {"M", FormatPiece{Part: Minute, Width: 2}}, {"S", FormatPiece{Part: Second, Width: 2}},
	{"L", FormatPiece{Part: Millisecond, Width: 3}}, {"%", FormatPiece{Literal: "%"}},
}

// letterNames are tried in order, so longer names come first.
var letterNames = []formatName{
	{"YYYY", FormatPiece{Part: Year, Width: 4}}, {"MM", FormatPiece{Part: Month, Width: 2}}, {"M", FormatPiece{Part: Month, Width: 1}},
	{"DD", FormatPiece{Part: Day, Width: 2}}, {"D", FormatPiece{Part: Day, Width: 1}}, {"HH", FormatPiece{Part: Hour, Width: 2}},
	{"H", FormatPiece{Part: Hour, Width: 1}}, {"mm", FormatPiece{Part: Minute, Width: 2}}, {"m", FormatPiece{Part: Minute, Width: 1}},
	{"ss", FormatPiece{Part: Second, Width: 2}}, {"s", FormatPiece{Part: Second, Width: 1}}, {"SSS", FormatPiece{Part: Millisecond, Width: 3}},
}

// formatPieces parses a format. If it contains a %, names follow a %; otherwise
// names are letters, and L and LT stand for DD.MM.YYYY and H:mm.
func formatPieces(layout string) ([]FormatPiece, error) {
	percent := strings.Contains(layout, "%")
	if !percent {
		layout = strings.ReplaceAll(layout, "LT", "H:mm")
		layout = strings.ReplaceAll(layout, "L", "DD.MM.YYYY")
	}
	var pieces []FormatPiece
	literal := ""
	for layout != "" {
		names, rest := letterNames, layout
		if percent {
			names, rest = nil, layout
			if layout[0] == '%' {
				names, rest = percentNames, layout[1:]
			}
		}
		piece, n := formatPiece(names, rest)
		switch {
		case n == 0 && percent && names != nil:
			return nil, badFilter("a format knows %%Y %%m %%d %%H %%M %%S %%L and %%%%, found %s", Quote(layout))
		case n == 0:
			literal += layout[:1]
			layout = layout[1:]
			continue
		case literal != "":
			pieces = append(pieces, FormatPiece{Literal: literal})
			literal = ""
		}
		pieces = append(pieces, piece)
		layout = rest[n:]
	}
	if literal != "" {
		pieces = append(pieces, FormatPiece{Literal: literal})
	}
	return pieces, nil
}

func formatPiece(names []formatName, s string) (FormatPiece, int) {
	for _, f := range names {
		if strings.HasPrefix(s, f.name) {
			return f.piece, len(f.name)
		}
	}
	return FormatPiece{}, 0
}

// Valid reports whether the instant is within the years 0 to 9999.
func (i Instant) Valid() bool { return i >= minInstant && i <= maxInstant }

// Part returns a part of the instant in UTC.
func (i Instant) Part(p DatePart) int64 {
	t := i.Time()
	switch p {
	case Year:
		return int64(t.Year())
	case Month:
		return int64(t.Month())
	case Day:
		return int64(t.Day())
	case Hour:
		return int64(t.Hour())
	case Minute:
		return int64(t.Minute())
	case Second:
		return int64(t.Second())
	}
	return int64(t.Nanosecond() / 1_000_000)
}
