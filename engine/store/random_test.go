package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/query"
	"restsrv/engine/wire"
)

// filterWriter creates well-formed filters, orders and aggregations from a source of random numbers.
type filterWriter struct{ *rand.Rand }

func (w filterWriter) pick(options ...string) string { return options[w.IntN(len(options))] }

func (w filterWriter) path() string {
	return w.pick("", "", "", "boss.", "boss.boss.", "first.", "knows.", "staff.", "known.", "boss.staff.", "knows.boss.", "staff.knows.", "home.")
}

func (w filterWriter) property(names ...string) string {
	p := strings.TrimSuffix(w.path(), "home.")
	return `"$` + p + w.pick(names...) + `"`
}

func (w filterWriter) number(depth int) string {
	if depth <= 0 || w.IntN(3) == 0 {
		return w.pick(w.property("age", "size", "pay"), w.property("age", "size", "pay"), "0", "1", "-2.5", "40", "1e20", "0.1", "null", `"$home.row"`)
	}
	a, b := w.number(depth-1), w.number(depth-1)
	switch w.IntN(12) {
	case 0, 1, 2, 3, 4:
		return fmt.Sprintf(`{%q:[%s,%s]}`, w.pick("add", "sub", "mul", "div", "mod"), a, b)
	case 5:
		return fmt.Sprintf(`{"abs":[%s]}`, a)
	case 6:
		return fmt.Sprintf(`{"round":[%s,%d]}`, a, w.IntN(9)-3)
	case 7:
		return fmt.Sprintf(`{"size":[%s]}`, w.pick(w.text(depth-1), `"$tags"`, `"$knows"`, `"$staff"`, `"$boss.known"`))
	case 8:
		return fmt.Sprintf(`{%q:[%s]}`, w.pick("year", "month", "day", "hour", "minute", "second"), w.date(depth-1))
	case 9:
		return fmt.Sprintf(`{"dateDiff":[%s,%s,%q,%s]}`, w.date(depth-1), w.date(depth-1), w.pick("ms", "s", "min", "h", "d", "m", "y"), w.pick("true", "false"))
	case 10:
		return fmt.Sprintf(`{"if":[%s,%s,%s]}`, w.condition(depth-1), a, b)
	}
	return fmt.Sprintf(`{"ifNull":[%s,%s]}`, a, b)
}

func (w filterWriter) text(depth int) string {
	if depth <= 0 || w.IntN(3) == 0 {
		return w.pick(w.property("name", "_class", "id"), w.property("name"), `"ann"`, `"ß"`, `""`, `"É"`, `"$home.name"`, `"$home._id"`)
	}
	a := w.text(depth - 1)
	switch w.IntN(6) {
	case 0:
		return fmt.Sprintf(`{%q:[%s]}`, w.pick("upper", "lower"), a)
	case 1:
		return fmt.Sprintf(`{"substr":[%s,%d,%d]}`, a, w.IntN(9)-4, w.IntN(6)-1)
	case 2:
		return fmt.Sprintf(`{"concat":[%s,%s,%s]}`, a, w.number(depth-1), w.pick(w.date(depth-1), `"$ok"`, a))
	case 3:
		return fmt.Sprintf(`{"if":[%s,%s,%s]}`, w.condition(depth-1), a, w.text(depth-1))
	case 4:
		return fmt.Sprintf(`{"format":[%s,%q]}`, w.date(depth-1), w.pick("%Y-%m-%dT%H:%M:%S.%L", "D.M.YYYY", "L LT", "SSS"))
	}
	return fmt.Sprintf(`{"ifNull":[%s,%s]}`, a, w.text(depth-1))
}

func (w filterWriter) date(depth int) string {
	if depth <= 0 || w.IntN(2) == 0 {
		return w.pick(w.property("born"), `"$$now"`, `{"date":["2020-02-29T12:00:00Z"]}`, `{"date":["today"]}`, `{"date":["0000-01-01"]}`, `"$born"`)
	}
	return fmt.Sprintf(`{"dateAdd":[%s,%s,%q]}`, w.date(depth-1), w.number(depth-1), w.pick("ms", "s", "min", "h", "d", "m", "y"))
}

func (w filterWriter) condition(depth int) string {
	if depth > 0 && w.IntN(3) == 0 {
		return fmt.Sprintf(`{%q:[%s,%s]}`, w.pick("and", "or", "not"), w.condition(depth-1), w.condition(depth-1))
	}
	op := w.pick("eq", "ne", "lt", "lte", "gt", "gte")
	switch w.IntN(10) {
	case 0, 1:
		return fmt.Sprintf(`{%q:[%s,%s]}`, op, w.number(depth), w.number(depth))
	case 2, 3:
		return fmt.Sprintf(`{%q:[%s,%s]}`, op, w.text(depth), w.text(depth))
	case 4:
		return fmt.Sprintf(`{%q:[%s,%s]}`, op, w.date(depth), w.date(depth))
	case 5:
		return fmt.Sprintf(`{%q:[%s]}`, w.pick("empty", "nempty"), w.pick(w.property("name", "age", "tags", "boss", "staff", "knows"), w.text(depth)))
	case 6:
		return fmt.Sprintf(`{"contains":[%s,%s]}`, w.pick(`"$knows"`, `"$staff"`, `"$boss.known"`, `"$knows.staff"`), w.pick(w.condition(depth-1), `"3"`, `["1","7"]`))
	case 7:
		return fmt.Sprintf(`{"contains":[%s,%s]}`, w.property("name"), w.text(depth))
	case 8:
		return w.pick(`{"match":["an"]}`, `{"like":[`+w.text(depth)+`,"^[a-e]"]}`, fmt.Sprintf(`{"in":[%s,[1,0,40,null]]}`, w.property("age", "size", "pay")), fmt.Sprintf(`{"in":[%s,["3","4"]]}`, w.property("boss", "id", "knows", "_id")))
	}
	return w.pick(fmt.Sprintf(`{"eq":[%s,%d]}`, w.property("tags"), w.IntN(4)), fmt.Sprintf(`{"eq":["$ok",%s]}`, w.condition(depth-1)), fmt.Sprintf(`{%q:[%s,null]}`, op, w.property("name", "age", "boss", "any", "tags")))
}

// TestRandomQueries runs the same random filters and aggregations on both databases. RESTSRV_RANDOM sets the duration.
func TestRandomQueries(t *testing.T) {
	patience := 3 * time.Second
	if d, err := time.ParseDuration(os.Getenv("RESTSRV_RANDOM")); err == nil {
		patience = d
	}
	seed := uint64(time.Now().UnixNano())
	if s, err := strconv.ParseUint(os.Getenv("RESTSRV_SEED"), 10, 64); err == nil {
		seed = s
	}
	lite, pg := openNetwork(t, sqlitePlace(t)), openNetwork(t, postgresPlace(t))
	asked, refused := 0, 0
	for end := time.Now().Add(patience); time.Now().Before(end) && !t.Failed(); seed++ {
		w := filterWriter{rand.New(rand.NewPCG(seed, 0))}
		depth := w.IntN(4)
		filter := decodedText(t, w.condition(depth))
		order := w.pick("", "name", "-age,name", "boss.size,-pay", "-first.born", "home.name,-_id", "ok,-tags")
		first, no := lite.check(t, filter, order, "", "")
		second, alsoNo := pg.check(t, filter, order, "", "")
		asked++
		if no {
			refused++
		}
		if no != alsoNo || !slices.Equal(first, second) {
			t.Errorf("seed %d: %s by %s: %v on SQLite, %v on PostgreSQL", seed, engine.AppendValue(nil, filter), order, first, second)
		}
		text := fmt.Sprintf(`{"fields":{"a":%s,"b":%s,"c":%s},"aggregates":{"n":{"count":[]},"s":{"sum":[%s]},"v":{"avg":[%s]},"m":{"max":[%s]},"l":{"min":[%s]}}}`,
			w.number(depth), w.text(depth), w.date(depth), w.number(depth), w.number(1), w.number(depth), w.text(depth))
		if one, two := lite.rows(t, text), pg.rows(t, text); one != two {
			t.Errorf("seed %d: %s: %s on SQLite, %s on PostgreSQL", seed, text, one, two)
		}
	}
	if asked < 20 || refused > asked/2 {
		t.Errorf("%d asked, %d refused", asked, refused)
	}
}

func decodedText(t *testing.T, text string) any {
	t.Helper()
	v, err := wire.Decode([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// rows runs an aggregation and returns its rows as text, or "refused" if it is refused.
func (n *network) rows(t *testing.T, text string) string {
	t.Helper()
	a, err := query.ParseAggregation(n.person, decodedText(t, text), networkTime)
	if engine.CodeOf(err) == engine.Invalid {
		return "refused"
	}
	var b []byte
	if err == nil {
		err = n.Aggregate(context.Background(), a, func(row []any) error {
			b = append(engine.AppendValue(b, append([]any(nil), row...)), '\n')
			return nil
		})
	}
	if err != nil {
		if engine.CodeOf(err) == engine.Invalid {
			return "refused"
		}
		t.Fatalf("%s: %v", text, err)
	}
	return string(b)
}
