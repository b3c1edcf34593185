package workflow

import (
	"regexp"
	"strconv"
	"time"
)

// period is a calendar duration, applied in UTC.
type period struct {
	years, months, days int
	rest                time.Duration
}

var (
	periodText = regexp.MustCompile(`^\s*(\d{1,6}\s*[yMwdhmsгМндчмс][\s,]*)+$`)
	periodPart = regexp.MustCompile(`(\d+)\s*([yMwdhmsгМндчмс])`)
)

// parsePeriod parses numbers followed by a unit: y, M (months), w, d, h, m (minutes) or s, or the corresponding letters
// of Russian IONDV files.
func parsePeriod(text string) (*period, bool) {
	if !periodText.MatchString(text) {
		return nil, false
	}
	var p period
	for _, part := range periodPart.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(part[1])
		switch part[2] {
		case "y", "г":
			p.years += n
		case "M", "М":
			p.months += n
		case "w", "н":
			p.days += 7 * n
		case "d", "д":
			p.days += n
		case "h", "ч":
			p.rest += time.Duration(n) * time.Hour
		case "m", "м":
			p.rest += time.Duration(n) * time.Minute
		default:
			p.rest += time.Duration(n) * time.Second
		}
	}
	return &p, true
}

// addTo returns the time that is one period after t. If the month has no such day, the last day of the month is used.
func (p *period) addTo(t time.Time) time.Time {
	t = t.UTC()
	first := time.Date(t.Year()+p.years, t.Month()+time.Month(p.months), 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(t.Day(), last)-1+p.days).Add(p.rest)
}
