package query

import (
	"strconv"
	"strings"

	"restsrv/engine"
)

func millis(n int64) *engine.Expr {
	return engine.Constant(engine.DecimalNum, engine.Decimal(strconv.FormatInt(n, 10)))
}

// dateAdd parses {"dateAdd":[date, n, unit]}.
func (p functionParser) dateAdd(args []any, depth int) (*engine.Expr, error) {
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
		n = &engine.Expr{Op: engine.OpMul, Type: engine.DecimalNum, Args: []*engine.Expr{n, millis(factor)}, Digits: n.Digits + 12}
	}
	if _, err := checkDigits(n); err != nil {
		return nil, err
	}
	return &engine.Expr{Op: engine.OpDateAdd, Type: engine.DateTime, Args: []*engine.Expr{date, n}}, nil
}

// unitArgument returns the unit at a position of the arguments, or the unit day if there is no such argument.
func unitArgument(args []any, at int) (int64, error) {
	if len(args) <= at {
		return parseUnit(nil)
	}
	return parseUnit(args[at])
}

// dateDiff parses {"dateDiff":[d1, d2, unit, floor]}. The value is d1 - d2 in units.
func (p functionParser) dateDiff(args []any, depth int) (*engine.Expr, error) {
	if len(args) < 2 || len(args) > 4 {
		return nil, badFilter("dateDiff takes two dates, perhaps a unit, and true for whole units, found %d arguments", len(args))
	}
	e := &engine.Expr{Op: engine.OpSub, Type: engine.DecimalNum, Digits: 21}
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
		e = &engine.Expr{Op: engine.OpDiv, Type: engine.DecimalNum, Args: []*engine.Expr{e, millis(factor)}, Digits: 60}
	}
	whole := false
	if len(args) == 4 && args[3] != nil {
		var ok bool
		if whole, ok = args[3].(bool); !ok {
			return nil, badFilter("the last argument of dateDiff is true or false, found %s", engine.DescribeValue(args[3]))
		}
	}
	if whole {
		e = &engine.Expr{Op: engine.OpFloor, Type: engine.DecimalNum, Args: []*engine.Expr{e}, Digits: e.Digits}
	}
	return e, nil
}

// parseFormat parses {"format":[date, "%Y-%m-%d"]}, or the same with names such as YYYY-MM-DD. The default format is
// DD.MM.YYYY.
func (p functionParser) parseFormat(name string, args []any, depth int) (*engine.Expr, error) {
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
			return nil, badFilter("%s takes a format such as %%Y-%%m-%%d, found %s", name, engine.DescribeValue(args[1]))
		}
	}
	pieces, err := formatPieces(layout)
	if err != nil {
		return nil, err
	}
	return &engine.Expr{Op: engine.OpFormat, Type: engine.String, Args: []*engine.Expr{date}, Value: pieces}, nil
}

type formatName struct {
	name  string
	piece engine.FormatPiece
}

var percentNames = []formatName{
	{"Y", engine.FormatPiece{Part: engine.Year, Width: 4}}, {"m", engine.FormatPiece{Part: engine.Month, Width: 2}}, {"d", engine.FormatPiece{Part: engine.Day, Width: 2}},
	{"H", engine.FormatPiece{Part: engine.Hour, Width: 2}}, {"M", engine.FormatPiece{Part: engine.Minute, Width: 2}}, {"S", engine.FormatPiece{Part: engine.Second, Width: 2}},
	{"L", engine.FormatPiece{Part: engine.Millisecond, Width: 3}}, {"%", engine.FormatPiece{Literal: "%"}},
}

// letterNames lists names in the order in which they are tried, longer names first.
var letterNames = []formatName{
	{"YYYY", engine.FormatPiece{Part: engine.Year, Width: 4}}, {"MM", engine.FormatPiece{Part: engine.Month, Width: 2}}, {"M", engine.FormatPiece{Part: engine.Month, Width: 1}},
	{"DD", engine.FormatPiece{Part: engine.Day, Width: 2}}, {"D", engine.FormatPiece{Part: engine.Day, Width: 1}}, {"HH", engine.FormatPiece{Part: engine.Hour, Width: 2}},
	{"H", engine.FormatPiece{Part: engine.Hour, Width: 1}}, {"mm", engine.FormatPiece{Part: engine.Minute, Width: 2}}, {"m", engine.FormatPiece{Part: engine.Minute, Width: 1}},
	{"ss", engine.FormatPiece{Part: engine.Second, Width: 2}}, {"s", engine.FormatPiece{Part: engine.Second, Width: 1}}, {"SSS", engine.FormatPiece{Part: engine.Millisecond, Width: 3}},
}

// formatPieces parses a format of dates. If the format contains a %, it has the form %Y-%m-%d, with a % before each
// name. Otherwise it has the form YYYY-MM-DD; in this form, L means DD.MM.YYYY and LT means H:mm.
func formatPieces(layout string) ([]engine.FormatPiece, error) {
	percent := strings.Contains(layout, "%")
	if !percent {
		layout = strings.ReplaceAll(layout, "LT", "H:mm")
		layout = strings.ReplaceAll(layout, "L", "DD.MM.YYYY")
	}
	var pieces []engine.FormatPiece
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
			return nil, badFilter("a format knows %%Y %%m %%d %%H %%M %%S %%L and %%%%, found %s", engine.Quote(layout))
		case n == 0:
			literal += layout[:1]
			layout = layout[1:]
			continue
		case literal != "":
			pieces = append(pieces, engine.FormatPiece{Literal: literal})
			literal = ""
		}
		pieces = append(pieces, piece)
		layout = rest[n:]
	}
	if literal != "" {
		pieces = append(pieces, engine.FormatPiece{Literal: literal})
	}
	return pieces, nil
}

func formatPiece(names []formatName, s string) (engine.FormatPiece, int) {
	for _, f := range names {
		if strings.HasPrefix(s, f.name) {
			return f.piece, len(f.name)
		}
	}
	return engine.FormatPiece{}, 0
}
