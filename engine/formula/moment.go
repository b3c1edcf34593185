package formula

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"restsrv/engine"
)

// Layouts of times have the syntax of the moment library. They consist of tokens such as YYYY-MM-DD HH:mm:ss, of
// literal text in brackets, and of tokens such as L and LT, each of which means a layout of the language.

// maxLayout is the maximum length of a layout in bytes.
const maxLayout = 1000

var layoutTokens = regexp.MustCompile(`\[[^\]]*\]|Mo|MM?M?M?|Do|DDDo|DD?D?D?|ddd?d?|do|w[ow]?|W[oW]?|Qo|Q|YYYY|YY|Y|gggg|gg|GGGG|GG|E|e|A|a|HH?|hh?|kk?|mm?|ss?|S{1,9}|ZZ?|X|x|LTS|LT|LL?L?L?|ll?l?l?|.`)

// longForm matches the tokens that mean a layout of the language. It also matches text in brackets, so that tokens in
// this text are not replaced.
var longForm = regexp.MustCompile(`\[[^\]]*\]|LTS|LT|LL?L?L?|ll?l?l?`)

// splitLayout replaces the tokens that mean a layout of the language, and splits the resulting layout into tokens.
func splitLayout(layout string, l *locale) []string {
	layout = longForm.ReplaceAllStringFunc(layout, func(token string) string {
		if spelt, ok := l.layouts[token]; ok {
			return spelt
		}
		return token
	})
	return layoutTokens.FindAllString(strings.ReplaceAll(layout, "\n", " "), -1)
}

func formatMoment(at engine.Instant, layout string, l *locale) string {
	t := at.Time()
	tokens := splitLayout(layout, l)
	var b strings.Builder
	for i, token := range tokens {
		if strings.HasPrefix(token, "[") && len(token) > 1 {
			b.WriteString(token[1 : len(token)-1])
			continue
		}
		if s, ok := dateToken(t, token, l, afterDay(tokens[:i])); ok {
			b.WriteString(s)
		} else if s, ok := timeToken(t, token, l); ok {
			b.WriteString(s)
		} else {
			b.WriteString(token)
		}
	}
	return b.String()
}

// afterDay reports whether the last token before a month is a day of the month. It ignores blanks and text in
// brackets. In Russian, the name of a month after a day has a different grammatical case.
func afterDay(before []string) bool {
	for _, token := range slices.Backward(before) {
		switch {
		case token == "D" || token == "DD" || token == "Do":
			return true
		case strings.TrimSpace(token) == "" || strings.HasPrefix(token, "["):
		default:
			return false
		}
	}
	return false
}

func dateToken(t time.Time, token string, l *locale, afterDay bool) (string, bool) {
	year, week := t.ISOWeek()
	if l.sundayFirst && (token[0] == 'w' || token[0] == 'g') {
		year, week = sundayWeek(t)
	}
	switch token {
	case "YYYY":
		return fmt.Sprintf("%04d", t.Year()), true
	case "YY":
		return fmt.Sprintf("%02d", t.Year()%100), true
	case "Y":
		return strconv.Itoa(t.Year()), true
	case "GGGG", "gggg":
		return fmt.Sprintf("%04d", year), true
	case "GG", "gg":
		return fmt.Sprintf("%02d", year%100), true
	case "Q":
		return strconv.Itoa((int(t.Month()) + 2) / 3), true
	case "Qo":
		return l.ordinal((int(t.Month())+2)/3, 'Q'), true
	case "MMMM", "MMM":
		return l.monthName(t.Month(), len(token) == 3, afterDay), true
	case "MM", "M":
		return padDigits(int(t.Month()), len(token)), true
	case "DDDD", "DDD":
		return padDigits(t.YearDay(), len(token)/4*3), true
	case "DD", "D":
		return padDigits(t.Day(), len(token)), true
	case "dddd":
		return l.days[t.Weekday()], true
	case "ddd":
		return l.shortDays[t.Weekday()], true
	case "dd":
		return string([]rune(l.shortDays[t.Weekday()])[:2]), true
	case "d":
		return strconv.Itoa(int(t.Weekday())), true
	case "e":
		if l.sundayFirst {
			return strconv.Itoa(int(t.Weekday())), true
		}
		return strconv.Itoa(int(t.Weekday()+6) % 7), true
	case "E":
		return strconv.Itoa(int(t.Weekday()+6)%7 + 1), true
	case "W", "WW", "w", "ww":
		return padDigits(week, len(token)), true
	case "Mo":
		return l.ordinal(int(t.Month()), 'M'), true
	case "Do":
		return l.ordinal(t.Day(), 'D'), true
	case "DDDo":
		return l.ordinal(t.YearDay(), 'Y'), true
	case "do":
		return l.ordinal(int(t.Weekday()), 'd'), true
	case "Wo", "wo":
		return l.ordinal(week, 'W'), true
	}
	return "", false
}

// sundayWeek returns the number of the week that contains t, and the year to which this week belongs. Weeks begin on
// Sunday, and week 1 contains January 1st.
func sundayWeek(t time.Time) (year, week int) {
	saturday := t.AddDate(0, 0, 6-int(t.Weekday()))
	return saturday.Year(), (saturday.YearDay()-1)/7 + 1
}

func padDigits(n, width int) string { return fmt.Sprintf("%0*d", width, n) }

func timeToken(t time.Time, token string, l *locale) (string, bool) {
	hour12 := (t.Hour()+11)%12 + 1
	switch token {
	case "HH", "H":
		return padDigits(t.Hour(), len(token)), true
	case "hh", "h":
		return padDigits(hour12, len(token)), true
	case "kk", "k":
		return padDigits((t.Hour()+23)%24+1, len(token)), true
	case "mm", "m":
		return padDigits(t.Minute(), len(token)), true
	case "ss", "s":
		return padDigits(t.Second(), len(token)), true
	case "A", "a":
		return l.meridiem(t.Hour(), token == "a"), true
	case "Z":
		return "+00:00", true
	case "ZZ":
		return "+0000", true
	case "X":
		return strconv.FormatInt(t.Unix(), 10), true
	case "x":
		return strconv.FormatInt(t.UnixMilli(), 10), true
	}
	if strings.Trim(token, "S") == "" && len(token) <= 9 {
		return fmt.Sprintf("%09d", t.Nanosecond())[:len(token)], true
	}
	return "", false
}

// parts holds the values that parseMoment finds in a text. A missing month or day counts as 1. A missing year is an
// error.
type parts struct {
	year, month, day, hour, minute, second, millis int
	offset                                         int // minutes east of UTC
	pm, am, unix                                   bool
	instant                                        int64
}

// parseMoment parses a time by a layout. A separator in the layout matches any separator in the text. If the text ends
// before the layout, the missing parts get their smallest value. ok is false if the layout ends before the text.
func parseMoment(s, layout string, l *locale) (engine.Instant, bool) {
	if len(layout) > maxLayout || len(s) > maxLayout {
		return 0, false
	}
	p := parts{year: -1, month: 1, day: 1}
	found := false
	for _, token := range splitLayout(layout, l) {
		if r, _ := utf8.DecodeRuneInString(token); strings.HasPrefix(token, "[") || !unicode.IsLetter(r) {
			s = strings.TrimLeftFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '+' })
			s = strings.TrimPrefix(s, strings.Trim(token, "[]"))
			continue
		}
		if s == "" {
			break
		}
		var ok bool
		if s, ok = p.takeToken(s, token, l); !ok {
			return 0, false
		}
		found = true
	}
	if !found || strings.TrimSpace(s) != "" {
		return 0, false
	}
	return p.makeInstant()
}

// takeToken parses the value of one token at the beginning of s, and returns the rest of s.
func (p *parts) takeToken(s, token string, l *locale) (string, bool) {
	switch token {
	case "MMMM", "MMM":
		month, rest := l.findMonth(s)
		p.month = month
		return rest, month > 0
	case "dddd", "ddd", "dd":
		return strings.TrimLeftFunc(s, unicode.IsLetter), true
	case "A", "a":
		word := strings.ToLower(s)
		rest := strings.TrimLeftFunc(s, unicode.IsLetter)
		p.pm = strings.HasPrefix(word, "p") || strings.HasPrefix(word, "д") || strings.HasPrefix(word, "в")
		p.am = !p.pm
		return rest, len(rest) < len(s)
	case "Z", "ZZ":
		return p.takeOffset(s)
	}
	width := len(token)
	switch token {
	case "YYYY", "Y":
		width = 4
	case "x", "X":
		width = 15
	case "M", "D", "H", "h", "m", "s", "MM", "DD", "HH", "hh", "mm", "ss", "Do", "k", "kk":
		width = 2
	}
	end := 0
	for end < len(s) && end < width && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(s[:end])
	if err != nil {
		return s, false
	}
	rest := s[end:]
	if token == "Do" {
		rest = strings.TrimLeftFunc(strings.TrimPrefix(rest, "-"), unicode.IsLetter)
	}
	return rest, p.setPart(token, n, end)
}

func (p *parts) setPart(token string, n, width int) bool {
	switch token {
	case "YYYY", "Y":
		p.year = n
	case "YY":
		if p.year = 2000 + n; n > 68 {
			p.year = 1900 + n
		}
	case "MM", "M":
		p.month = n
	case "DD", "D", "Do":
		p.day = n
	case "HH", "H", "hh", "h", "kk", "k":
		p.hour = n
	case "mm", "m":
		p.minute = n
	case "ss", "s":
		p.second = n
	case "x":
		p.unix, p.instant = true, int64(n)
	case "X":
		p.unix, p.instant = true, int64(n)*1000
	default:
		if strings.Trim(token, "S") != "" {
			return false
		}
		for ; width < 3; width++ {
			n *= 10
		}
		for ; width > 3; width-- {
			n /= 10
		}
		p.millis = n
	}
	return true
}

var offsetPattern = regexp.MustCompile(`^(?:Z|([+-])(\d\d):?(\d\d))`)

func (p *parts) takeOffset(s string) (string, bool) {
	m := offsetPattern.FindStringSubmatch(s)
	if m == nil {
		return s, false
	}
	hours, _ := strconv.Atoi(m[2])
	minutes, _ := strconv.Atoi(m[3])
	if p.offset = hours*60 + minutes; m[1] == "-" {
		p.offset = -p.offset
	}
	return s[len(m[0]):], true
}

// makeInstant returns the parsed time. ok is false if a part is out of range, such as April 31st.
func (p *parts) makeInstant() (engine.Instant, bool) {
	if p.unix {
		return instantAt(float64(p.instant))
	}
	if p.year < 0 || p.month < 1 || p.month > 12 || p.day < 1 || p.hour > 24 || p.minute > 59 || p.second > 59 {
		return 0, false
	}
	if p.pm && p.hour < 12 {
		p.hour += 12
	} else if p.am && p.hour == 12 {
		p.hour = 0
	}
	t := time.Date(p.year, time.Month(p.month), p.day, p.hour, p.minute-p.offset, p.second, p.millis*1e6, time.UTC)
	if time.Date(p.year, time.Month(p.month), p.day, 0, 0, 0, 0, time.UTC).Day() != p.day {
		return 0, false
	}
	return instantAt(float64(t.UnixMilli()))
}
