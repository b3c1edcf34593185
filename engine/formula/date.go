package formula

import (
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

// Times are computed in UTC with the Gregorian calendar. The years are 0000 to 9999; a result outside of these years
// is null.

// calendarUnits lists the units of dateAdd and dateDiff. A unit has a length either in months or in milliseconds.
var calendarUnits = map[string]struct{ months, millis int64 }{
	"y": {12, 0}, "year": {12, 0}, "years": {12, 0},
	"Q": {3, 0}, "quarter": {3, 0}, "quarters": {3, 0},
	"M": {1, 0}, "month": {1, 0}, "months": {1, 0},
	"w": {0, 7 * dayMillis}, "week": {0, 7 * dayMillis}, "weeks": {0, 7 * dayMillis},
	"d": {0, dayMillis}, "D": {0, dayMillis}, "day": {0, dayMillis}, "days": {0, dayMillis}, "date": {0, dayMillis},
	"h": {0, 3_600_000}, "hour": {0, 3_600_000}, "hours": {0, 3_600_000},
	"m": {0, 60_000}, "min": {0, 60_000}, "minute": {0, 60_000}, "minutes": {0, 60_000},
	"s": {0, 1000}, "second": {0, 1000}, "seconds": {0, 1000},
	"ms": {0, 1}, "millisecond": {0, 1}, "milliseconds": {0, 1},
}

const dayMillis = 86_400_000

func unknownUnit(unit string) error {
	names := slices.Sorted(maps.Keys(calendarUnits))
	return invalid("there is no unit of time %s, expected %s (M is month, m is minute)", engine.Quote(unit), jsonfile.Choice(unit, names))
}

// verifyUnit returns a function.verify: it checks that argument i, if it is a constant, is the name of a unit.
func verifyUnit(i int) func([]node) error {
	return func(args []node) error {
		if i >= len(args) || !args[i].fixed || args[i].literal == nil {
			return nil
		}
		unit, ok := args[i].literal.(string)
		if !ok {
			return errors.New("a unit of time is a text such as \"days\"")
		}
		if _, ok := calendarUnits[unit]; !ok {
			return unknownUnit(unit)
		}
		return nil
	}
}

// toInstant converts v to a time. v can be a time, a number of milliseconds since 1970, or a text in the form of ISO
// 8601.
func toInstant(v any) (engine.Instant, bool) {
	switch v := v.(type) {
	case engine.Instant:
		return v, true
	case string:
		return engine.ParseInstant(v)
	case int64, float64, engine.Decimal:
		return instantAt(toFloat(v))
	}
	return 0, false
}

// instantAt returns the time that is millis milliseconds after the beginning of 1970. ok is false for a time outside
// of the years 0000 to 9999.
func instantAt(millis float64) (engine.Instant, bool) {
	const earliest, latest = -62167219200000, 253402300799999
	if !(millis >= earliest && millis <= latest) {
		return 0, false
	}
	return engine.Instant(math.Floor(millis)), true
}

// parseDate implements the function date(text, layout, language). If there is a layout, the text must match the
// layout. Without a layout, the first argument is converted as by toInstant. If the conversion is impossible, the
// result is null.
func parseDate(_ *env, args []any) (any, error) {
	if s, ok := args[0].(string); ok && len(args) > 1 && args[1] != nil {
		i, ok := parseMoment(s, toText(args[1]), localeOf(args, 2))
		if !ok {
			return nil, nil
		}
		return i, nil
	}
	if i, ok := toInstant(args[0]); ok {
		return i, nil
	}
	return nil, nil
}

func dateAdd(_ *env, args []any) (any, error) {
	at, ok := toInstant(args[0])
	if !ok {
		return nil, nil
	}
	amount, name := 0.0, "d"
	if len(args) > 1 && args[1] != nil {
		if n, ok := toNumber(args[1]); ok {
			amount = toFloat(n)
		}
	}
	if len(args) > 2 && args[2] != nil {
		name = toText(args[2])
	}
	unit, known := calendarUnits[name]
	if !known {
		return nil, unknownUnit(name)
	}
	if unit.months > 0 {
		months := math.Round(amount * float64(unit.months))
		if math.Abs(months) > 12*10000 {
			return nil, nil
		}
		at, ok = addMonths(at, int(months))
	} else {
		if unit.millis >= dayMillis {
			amount = math.Round(amount*float64(unit.millis/dayMillis)) * dayMillis
		} else {
			amount = math.Round(amount * float64(unit.millis))
		}
		at, ok = instantAt(float64(at) + amount)
	}
	if !ok {
		return nil, nil
	}
	return at, nil
}

// addMonths adds months to a time. The day of the month stays the same. If the resulting month is too short, it
// becomes the last day of this month.
func addMonths(i engine.Instant, months int) (engine.Instant, bool) {
	t := i.Time()
	first := time.Date(t.Year(), t.Month()+time.Month(months), 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	day := min(t.Day(), first.AddDate(0, 1, -1).Day())
	return instantAt(float64(first.AddDate(0, 0, day-1).UnixMilli()))
}

// dateDiff implements the function dateDiff(unit, d1, d2). It returns d1 - d2 in whole units, truncated towards zero.
// If an argument is missing, the current time is used for it. If a date is null, the result is null.
func dateDiff(e *env, args []any) (any, error) {
	name := "days"
	if args[0] != nil {
		name = toText(args[0])
	}
	unit, known := calendarUnits[name]
	if !known {
		return nil, unknownUnit(name)
	}
	at := [2]engine.Instant{e.data.Now(), e.data.Now()}
	for i := range at {
		if i+1 >= len(args) {
			break
		}
		var ok bool
		if at[i], ok = toInstant(args[i+1]); !ok {
			return nil, nil
		}
	}
	if unit.months > 0 {
		return int64(wholeMonths(at[0], at[1])) / unit.months, nil
	}
	return int64(at[0]-at[1]) / unit.millis, nil
}

// wholeMonths returns the number of full months from b to a.
func wholeMonths(a, b engine.Instant) int {
	if a < b {
		return -wholeMonths(b, a)
	}
	x, y := a.Time(), b.Time()
	n := (x.Year()-y.Year())*12 + int(x.Month()-y.Month())
	if reached, ok := addMonths(b, n); !ok || reached > a {
		n--
	}
	return n
}

// dateFormat implements the function dateFormat(time, layout, language). Without a layout, it uses
// the short date of the language.
func dateFormat(args []any) any {
	at, ok := toInstant(args[0])
	if !ok {
		return nil
	}
	layout := "L"
	if len(args) > 1 && args[1] != nil {
		layout = toText(args[1])
	}
	if len(layout) > maxLayout {
		return nil
	}
	return formatMoment(at, layout, localeOf(args, 2))
}
