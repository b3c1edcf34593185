package workflow

import (
	"regexp"
	"strconv"
	"time"
)

// period is a duration that can be added to a date in UTC. It consists of years, months, days, and the rest.
type period struct {
	years, months, days int
	rest                time.Duration
}

var (
	periodText = regexp.MustCompile(`^\s*(\d{1,6}\s*[yMwdhmsгМндчмс][\s,]*)+$`)
	periodPart = regexp.MustCompile(`(\d+)\s*([yMwdhmsгМндчмс])`)
)

// parsePeriod parses a period such as "2w 3d 12h". The units are y, M (months), w, d, h, m (minutes) and s, or the
// letters that the Russian version of IONDV writes in files.
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

// addTo returns t plus the period. If the resulting month does not have the day, the last day of this month is used.
func (p *period) addTo(t time.Time) time.Time {
	t = t.UTC()
	first := time.Date(t.Year()+p.years, t.Month()+time.Month(p.months), 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(t.Day(), last)-1+p.days).Add(p.rest)
}
