package postgres

import (
	"strings"

	"restsrv/engine"
	"restsrv/engine/store/sqldb"
)

// fullText searches the words of the search column. It does not use the text parser of PostgreSQL, which would split
// some of these words.
var fullText = sqldb.FullText{
	Schema: []string{
		`CREATE INDEX %[2]s ON %[1]s USING gin (array_to_tsvector(string_to_array("#search", ' ')))`,
	},
	Condition: `array_to_tsvector(string_to_array(%[1]s."#search", ' ')) @@ CAST(%[3]s AS tsquery)`,
	Word:      `'%s':*`,
	And:       " & ",
}

// unicode is the collation for changing the case of letters. It is independent of languages, and exists on all servers
// that are built with ICU.
const unicode = ` COLLATE "und-x-icu"`

const bytewise = ` COLLATE "C"`

// Instants are milliseconds since 1970. The first valid instant is in the year 0.
const (
	firstInstant = "-62167219200000"
	lastInstant  = "253402300799999"
)

// casts maps functions that only declare the type of their argument to the SQL name of this type.
var casts = map[sqldb.Function]string{
	sqldb.TextValue: "text", sqldb.DecimalValue: "numeric", sqldb.IntValue: "bigint", sqldb.RealValue: "double precision",
	sqldb.BooleanValue: "boolean", sqldb.DecimalOfInt: "numeric",
}

var infix = map[sqldb.Function]string{sqldb.Add: " + ", sqldb.Sub: " - ", sqldb.Mul: " * "}

// Function implements sqldb.Dialect. Except for IncludesAny, each argument occurs once in the result.
func (dialect) Function(f sqldb.Function, args ...string) string {
	if typ := casts[f]; typ != "" {
		return "CAST(" + args[0] + " AS " + typ + ")"
	}
	if sign := infix[f]; sign != "" {
		return "(" + args[0] + sign + args[1] + ")"
	}
	switch f {
	case sqldb.DecimalOfReal:
		return realDecimal(args[0])
	case sqldb.TextOfDecimal:
		return "(CAST(trim_scale(" + args[0] + ") AS text)" + bytewise + ")"
	case sqldb.Ordered:
		return args[0]
	case sqldb.Bytewise:
		return "(" + args[0] + bytewise + ")"
	case sqldb.Div: // computed with two additional digits, truncated, then rounded
		return "round(div(" + args[0] + " * 1e22, nullif(" + args[1] + ", 0)) * 1e-22, 20)"
	case sqldb.Mod:
		return "mod(" + args[0] + ", nullif(" + args[1] + ", 0))"
	case sqldb.Round:
		return "round(" + args[0] + ", CAST(" + args[1] + " AS integer))"
	case sqldb.Concat:
		return "(concat(" + strings.Join(args, ", ") + ")" + bytewise + ")"
	case sqldb.Upper, sqldb.Lower:
		return "(" + string(f) + "(" + args[0] + unicode + ")" + bytewise + ")"
	case sqldb.Length:
		return "CAST(char_length(" + args[0] + ") AS bigint)"
	case sqldb.Includes:
		return "strpos(upper(" + args[0] + unicode + ")" + bytewise + ", upper(" + args[1] + unicode + ")" + bytewise + ") > 0"
	case sqldb.IncludesAny:
		return includesAny(args[0], args[1:])
	case sqldb.Substr:
		return substr(args[0], args[1], args[2])
	case sqldb.SetSize:
		return "CAST(jsonb_array_length(CAST(" + args[0] + " AS jsonb)) AS bigint)"
	case sqldb.SetHas:
		return "EXISTS (SELECT 1 FROM jsonb_array_elements(CAST(" + args[0] + " AS jsonb)) AS a JOIN jsonb_array_elements(CAST(" + args[1] + " AS jsonb)) AS b ON a = b)"
	case sqldb.DateAdd:
		return "(SELECT CASE WHEN t >= " + firstInstant + " AND t < " + lastInstant + " + 1 THEN CAST(floor(t) AS bigint) END FROM (SELECT " +
			args[0] + " + " + args[1] + " AS t) AS s)"
	case sqldb.Format:
		digits := "CAST(" + datePart(engine.DatePart(args[1]), args[0]) + " AS text)"
		if args[2] == "1" {
			return digits
		}
		return "lpad(" + digits + ", " + args[2] + ", '0')"
	case sqldb.Abs, sqldb.Floor, sqldb.Sum:
		return string(f) + "(" + args[0] + ")"
	}
	return datePart(engine.DatePart(f), args[0])
}

// includesAny returns a condition that is true if one of the texts contains part, ignoring case. If a text has as many
// bytes as characters, it is ASCII, and a much cheaper change of case suffices.
func includesAny(part string, texts []string) string {
	conditions := make([]string, len(texts))
	for i, t := range texts {
		conditions[i] = "strpos(CASE WHEN octet_length(" + t + ") = char_length(" + t + ") THEN upper(" + t + bytewise + ") ELSE upper(" + t + unicode + ")" +
			bytewise + " END, upper(" + part + unicode + ")" + bytewise + ") > 0"
	}
	return "(" + strings.Join(conditions, " OR ") + ")"
}

// substr returns a part of text. start counts characters from 0, or from the end of the text if it is negative. If
// length is negative, the result extends to the end.
func substr(text, start, length string) string {
	return "(SELECT substr(t, f, l) FROM (SELECT t, CASE WHEN s < 0 THEN greatest(char_length(t) + s, 0) ELSE s END + 1 AS f, " +
		"CASE WHEN l < 0 THEN 10000000 ELSE l END AS l FROM (SELECT " + text + bytewise + " AS t, CAST(" + start + " AS integer) AS s, CAST(" + length + " AS integer) AS l) AS a) AS b)"
}

// realDecimal returns the shortest decimal that reads back as the same real. PostgreSQL avoids numbers half way
// between two reals when it formats a real; decimal.OfReal does the same.
func realDecimal(x string) string {
	return "CAST(CAST(" + x + " AS text) AS numeric)"
}

// datePart returns a part of a date in UTC. It computes with whole days and milliseconds since the beginning of the
// year 0. PostgreSQL has no year 0. Therefore years are shifted by 400, the period after which the calendar repeats.
func datePart(p engine.DatePart, date string) string {
	const day = "86400000"
	since := "(" + date + " - " + firstInstant + ")"
	time := "(" + since + " % " + day + ")"
	switch p {
	case engine.Hour:
		return time + " / 3600000"
	case engine.Minute:
		return time + " / 60000 % 60"
	case engine.Second:
		return time + " / 1000 % 60"
	case engine.Millisecond:
		return time + " % 1000"
	}
	text := "CAST(EXTRACT(" + string(p) + " FROM date '0400-01-01' + CAST(" + since + " / " + day + " AS integer)) AS bigint)"
	if p == engine.Year {
		return "(" + text + " - 400)"
	}
	return text
}
