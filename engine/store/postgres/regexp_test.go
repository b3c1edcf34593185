package postgres_test

import (
	"database/sql"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/lib/pq"

	"restsrv/engine/query"
	"restsrv/engine/store/postgres/pgtest"
)

// matcher matches regular expressions in PostgreSQL.
type matcher struct {
	t  testing.TB
	db *sql.DB
}

func newMatcher(t testing.TB) *matcher {
	t.Helper()
	db, err := sql.Open("postgres", pgtest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return &matcher{t, db}
}

// compare compares the results of PostgreSQL with those of Go.
func (m *matcher) compare(pattern string, texts []string) {
	m.t.Helper()
	re, err := regexp.Compile(pattern)
	translated, refused := query.TranslateRegexp(pattern)
	if err != nil {
		if refused == nil {
			m.t.Errorf("%q is no expression, and became %q", pattern, translated)
		}
		return
	}
	if refused != nil {
		return // the pattern is refused for both databases
	}
	begin := time.Now()
	found := make([]bool, 0, len(texts))
	err = m.db.QueryRow(`SELECT array_agg(x COLLATE "C" ~ $1 ORDER BY n) FROM unnest($2::text[]) WITH ORDINALITY AS u(x, n)`, translated, pq.Array(texts)).
		Scan(pq.Array(&found))
	if err != nil {
		m.t.Errorf("%q became %q: %v", pattern, translated, err)
		return
	}
	if took := time.Since(begin); took > 5*time.Second {
		m.t.Errorf("%q took PostgreSQL %v", pattern, took)
	}
	for i, text := range texts {
		if want := re.MatchString(text); found[i] != want {
			m.t.Errorf("%q in %q: Go says %v, PostgreSQL %v to %q", pattern, text, want, found[i], translated)
		}
	}
}

// ways lists expressions for each feature of the syntax, and expressions that PostgreSQL might interpret differently.
var ways = []string{
	``, `a`, `^`, `$`, `^$`, `^a`, `a$`, `^a$`, `\Aa`, `a\z`, `(?m)^a`, `(?m)a$`, `(?m)^$`, `(?m)^\z`, `a.b`, `(?s)a.b`, `.`, `(?s).`,
	`a|b`, `a|`, `|`, `(|a)b`, `(?:)`, `()`, `a*`, `a+`, `a?`, `a*?`, `a+?`, `a??`, `(a|ab)(c|bcd)`, `(a*)*`, `(a*)+b`, `(a?){3}b`, `(?U)a+b`,
	`a{0}`, `a{2}`, `a{2,}`, `a{2,3}`, `^a{2,3}$`, `^a{0,2}?b`, `^(?:ab){256}$`, `^a{300}$`, `^a{300,}b`, `^a{10,600}$`, `a{0,1000}b`,
	`[a-c]`, `[^a-c]`, `[^a]`, `[^\n]`, `[]a]`, `[a\]]`, `[\^a]`, `[a\-z]`, `[[:alpha:]]`, `[^[:space:]]`, `\d`, `\D`, `\s`, `\S`, `\w`, `\W`, `[\w.-]+@`,
	`\ba`, `a\b`, `\Ba`, `a\B`, `\b`, `\B`, `^\b`, `\b$`, `\bя`, `я\b`, `\b\b`, `(?:\b)*a`, `\b+a`, `(?i)k`, `(?i)s`, `(?i)Привет`, `(?i)ß`, `(?i)[k-s]`, `(?i)[^k]`,
	`(?i)σ`, `\pL`, `\PL`, `\p{Cyrillic}+`, `[^\p{Cyrillic}\s]`, `\x{1F600}`, `[\x{1F600}-\x{1F64F}]`, `\x00`, `[\x00]`, `[\x00a]`, `[^\x00]`, `[^\x00-\x{10FFFF}]`,
	`\.`, `\*`, `\\`, `\(`, `\{`, `a{`, `a{,2}`, `{`, `}`, `]`, `-`, `\Qa.b*\E`, `\Q***:\E`, `***:a`, `\t`, `\n`, `\r`, `\v`, `\f`, `\a`, `\101`, `\x41`, `a b`, `#`, `(?x)`,
	`(?P<name>a)b`, `(?<name>a)`, `(a)\1`, `(?=a)`, `(?!a)`, `\y`, `\m`, `\M`, `\Y`, `\Z`, `[[.a.]]`, `[[=a=]]`, `[[:<:]]a`, `(?i)`, `(?i:a)b`, `a(?i)b`, `^^`, `$$`, `a^b`, `a$b`,
	`(?m)a$\nb`, `(?m)a\n^b`, `^*a`, `(?:^)*a`, `(?:$)+`, `(^a|b$)+`, `\D+\d{3}-\d{2}`, `^(?:[a-z0-9]+\.)+[a-z]{2,}$`, `(((((a)))))`, `\C`, `\p{Nope}`, `[z-a]`, `a**`, `(`, `)`,
}

var probes = []string{"", "a", "b", "A", "ab", "abc", "aab", "ba", "a\n", "\na", "a\nb", "\n", "\n\n", "a b", "aя", "я", "Я", "привет", "ПРИВЕТ", "k", "K", "\u212a", "s", "ſ", "ß", "ẞ", "σ", "ς", "Σ",
	"😀", "\u0085", "\u00a0", "\u2028", "_", "-", "]", "[", "^", "$", "\\", ".", "*", "(", "{", "}", "a{", "a{,2}", "***:a", "a.b*", "\t", "\r", "\v", "\f", "\a", "\x01", "\x7f", "\uffff", "\U0010ffff", "#", "0", "123-45", "x123-45",
	"mail@host", "example.org", strings.Repeat("a", 300), strings.Repeat("a", 600) + "b", strings.Repeat("ab", 256), "aaab", "abcd", "<", "\ufffd"}

// TestMatchLikeGo compares the results of PostgreSQL with those of Go, for each expression of ways and each text of
// probes.
func TestMatchLikeGo(t *testing.T) {
	m := newMatcher(t)
	for _, pattern := range ways {
		for _, flags := range []string{"", "(?i)", "(?s)", "(?m)", "(?ims)"} {
			m.compare(flags+pattern, probes)
		}
	}
}

// TestMatchLikeGoRandomly does the same for random combinations of expressions.
func TestMatchLikeGoRandomly(t *testing.T) {
	m := newMatcher(t)
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(list []string) string { return list[random.IntN(len(list))] }
	var made func(depth int) string
	made = func(depth int) string {
		if depth == 0 {
			return pick(ways)
		}
		switch random.IntN(6) {
		case 0:
			return "(?:" + made(depth-1) + ")" + pick([]string{"*", "+", "?", "{2}", "{1,3}", "*?", ""})
		case 1:
			return made(depth-1) + "|" + made(depth-1)
		case 2:
			return pick([]string{"(?i)", "(?m)", "(?s)"}) + made(depth-1)
		}
		return made(depth-1) + made(depth-1)
	}
	for range 3000 {
		var texts []string
		for range 20 {
			text := ""
			for range random.IntN(5) {
				text += pick(probes)
			}
			texts = append(texts, text)
		}
		m.compare(made(random.IntN(4)), texts)
	}
}

// FuzzMatchLikeGo does the same for expressions and texts of the fuzzer.
func FuzzMatchLikeGo(f *testing.F) {
	for i, pattern := range ways {
		f.Add(pattern, probes[i%len(probes)])
	}
	m := newMatcher(f)
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if utf8.ValidString(pattern) && len(pattern) <= 1000 && utf8.ValidString(text) && len(text) <= 1000 && !strings.Contains(text, "\x00") {
			(&matcher{t, m.db}).compare(pattern, []string{text, "", text + text, text + "\n"})
		}
	})
}
