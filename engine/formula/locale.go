package formula

import (
	"strconv"
	"strings"
	"time"
)

// locale contains the names and layouts of dates in one language.
type locale struct {
	layouts         map[string]string // layouts of L, LT and similar tokens
	months          [12]string        // names that do not follow a day
	monthsAfterDay  [12]string        // names that follow a day; in Russian, they have a different grammatical case
	shortMonths     [12]string
	shortAfterDay   [12]string // abbreviations that follow a day
	days, shortDays [7]string  // Sunday first
	sundayFirst     bool       // weeks begin on Sunday
	ordinal         func(n int, of rune) string
	partOfDay       func(hour int) string
}

// localeOf returns the locale for argument i, the name of a language. If the argument is missing or not English, it
// returns the Russian locale, as in IONDV.
func localeOf(args []any, i int) *locale {
	if i < len(args) && strings.HasPrefix(strings.ToLower(toText(args[i])), "en") {
		return english
	}
	return russian
}

func (l *locale) monthName(m time.Month, short, afterDay bool) string {
	names := l.months
	switch {
	case short && afterDay:
		names = l.shortAfterDay
	case short:
		names = l.shortMonths
	case afterDay:
		names = l.monthsAfterDay
	}
	return names[m-1]
}

func (l *locale) meridiem(hour int, lower bool) string {
	s := l.partOfDay(hour)
	if lower {
		return strings.ToLower(s)
	}
	return s
}

// findMonth finds the name of a month, long or short, at the beginning of s. rest is the text after the name. month is
// 0 if s does not begin with a name.
func (l *locale) findMonth(s string) (month int, rest string) {
	lower, best := strings.ToLower(s), 0
	for _, names := range []*[12]string{&l.months, &l.monthsAfterDay, &l.shortMonths, &l.shortAfterDay} {
		for i, name := range names {
			if len(name) > best && strings.HasPrefix(lower, strings.ToLower(name)) {
				month, best = i+1, len(name)
			}
		}
	}
	if best > len(s) {
		return 0, s
	}
	return month, s[best:]
}

func words12(s string) [12]string { return [12]string(strings.Fields(s)) }
func words7(s string) [7]string   { return [7]string(strings.Fields(s)) }

var russian = &locale{
	layouts: map[string]string{
		"LT": "H:mm", "LTS": "H:mm:ss", "L": "DD.MM.YYYY",
		"LL": "D MMMM YYYY [г.]", "LLL": "D MMMM YYYY [г.], H:mm", "LLLL": "dddd, D MMMM YYYY [г.], H:mm",
		"l": "D.M.YYYY", "ll": "D MMM YYYY [г.]", "lll": "D MMM YYYY [г.], H:mm", "llll": "ddd, D MMM YYYY [г.], H:mm",
	},
	months:         words12("январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь"),
	monthsAfterDay: words12("января февраля марта апреля мая июня июля августа сентября октября ноября декабря"),
	shortMonths:    words12("янв. февр. март апр. май июнь июль авг. сент. окт. нояб. дек."),
	shortAfterDay:  words12("янв. февр. мар. апр. мая июня июля авг. сент. окт. нояб. дек."),
	days:           words7("воскресенье понедельник вторник среда четверг пятница суббота"),
	shortDays:      words7("вс пн вт ср чт пт сб"),
	ordinal: func(n int, of rune) string {
		switch of {
		case 'D':
			return strconv.Itoa(n) + "-го"
		case 'W':
			return strconv.Itoa(n) + "-я"
		}
		return strconv.Itoa(n) + "-й"
	},
	partOfDay: func(hour int) string {
		switch {
		case hour < 4:
			return "ночи"
		case hour < 12:
			return "утра"
		case hour < 17:
			return "дня"
		}
		return "вечера"
	},
}

var english = &locale{
	layouts: map[string]string{
		"LT": "h:mm A", "LTS": "h:mm:ss A", "L": "MM/DD/YYYY",
		"LL": "MMMM D, YYYY", "LLL": "MMMM D, YYYY h:mm A", "LLLL": "dddd, MMMM D, YYYY h:mm A",
		"l": "M/D/YYYY", "ll": "MMM D, YYYY", "lll": "MMM D, YYYY h:mm A", "llll": "ddd, MMM D, YYYY h:mm A",
	},
	months:         words12("January February March April May June July August September October November December"),
	monthsAfterDay: words12("January February March April May June July August September October November December"),
	shortMonths:    words12("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"),
	shortAfterDay:  words12("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"),
	days:           words7("Sunday Monday Tuesday Wednesday Thursday Friday Saturday"),
	shortDays:      words7("Sun Mon Tue Wed Thu Fri Sat"),
	sundayFirst:    true,
	ordinal: func(n int, _ rune) string {
		suffix := "th"
		if n%100 < 11 || n%100 > 13 {
			switch n % 10 {
			case 1:
				suffix = "st"
			case 2:
				suffix = "nd"
			case 3:
				suffix = "rd"
			}
		}
		return strconv.Itoa(n) + suffix
	},
	partOfDay: func(hour int) string {
		if hour < 12 {
			return "AM"
		}
		return "PM"
	},
}
