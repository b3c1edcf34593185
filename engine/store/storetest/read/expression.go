package read

import (
	"fmt"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/query"
	"restsrv/engine/store/decimal"
	"restsrv/engine/store/storetest"
)

var expressionTests = []storetest.Test{
	{Name: "values", Run: expressionValues},
	{Name: "values of null", Run: expressionNulls},
	{Name: "letters of either case", Run: expressionLetters},
	{Name: "reals as decimals", Run: expressionReals},
	{Name: "conditions", Run: expressionConditions},
	{Name: "refused", Run: expressionRefused},
}

// openSample opens a repository with a class and two items. The item "full" has a value for every property, the item
// "none" only for its id.
func openSample(t *testing.T, open storetest.Open) (engine.Repository, *engine.Class) {
	c := storetest.NewClass("sample", storetest.Prop("id", engine.String), storetest.Prop("name", engine.String), storetest.Prop("n", engine.Int), storetest.Prop("big", engine.Int),
		storetest.Prop("real", engine.Real), storetest.Prop("pay", engine.DecimalNum), storetest.Prop("at", engine.DateTime), storetest.Prop("ok", engine.Boolean),
		storetest.Prop("no", engine.Boolean), storetest.Prop("tags", engine.Set))
	r := open(t, []*engine.Class{c})
	at, _ := engine.ParseInstant("2024-02-29T13:04:05.678Z")
	storetest.Create(t, r, c, "id", "full", "name", "Grüße, Ÿ \U0001F600!", "n", int64(-7), "big", int64(9223372036854775807), "real", 0.1,
		"pay", engine.Decimal("1234567890123456789.123456789"), "at", at, "ok", true, "no", false, "tags", engine.JSONText(`[1,2,30,4]`))
	storetest.Create(t, r, c, "id", "none")
	return r, c
}

// value returns the value of an expression for one item, as JSON.
func value(t *testing.T, r engine.Repository, c *engine.Class, id, expr string) string {
	t.Helper()
	a, err := query.ParseAggregation(c, storetest.DecodeJSON(t, `{"fields":{"x":`+expr+`}}`), storetest.Now)
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	a.Filter = storetest.Compare(engine.OpEq, c.Property("id"), id)
	text := "no row"
	err = r.Aggregate(t.Context(), a, func(row []any) error {
		text = string(engine.AppendValue(nil, row[0]))
		return nil
	})
	if err != nil {
		t.Errorf("%s: %v", expr, err)
	}
	return text
}

// expressionCases lists expressions and their values for the item "full".
var expressionCases = [][2]string{
	{`"$name"`, `"Grüße, Ÿ 😀!"`}, {`"$n"`, `-7`}, {`"$pay"`, `1234567890123456789.123456789`}, {`"$at"`, `"2024-02-29T13:04:05.678Z"`},
	{`"$ok"`, `true`}, {`"$real"`, `0.1`}, {`5`, `5`}, {`"five"`, `"five"`}, {`true`, `true`}, {`null`, `null`}, {`{"literal":["$n"]}`, `"$n"`},
	{`"$_class"`, `"sample@test"`}, {`"$_id"`, `"full"`},
	{`{"add":["$n",7]}`, `0`}, {`{"add":["$big","$big",1]}`, `18446744073709551615`}, {`{"add":["$real",0.2]}`, `0.3`},
	{`{"sub":["$n","$pay"]}`, `-1234567890123456796.123456789`}, {`{"mul":["$big","$big"]}`, `85070591730234615847396907784232501249`},
	{`{"mul":["$real","$real",1e-400]}`, `0.` + strings.Repeat("0", 401) + `1`},
	{`{"div":["$n",2]}`, `-3.5`}, {`{"div":[2,3]}`, `0.66666666666666666667`}, {`{"div":[-2,3]}`, `-0.66666666666666666667`},
	{`{"div":["$n",0]}`, `null`}, {`{"div":[1,"$real"]}`, `10`}, {`{"div":[1e-30,1]}`, `0`}, {`{"div":[1,1e-30]}`, `1` + strings.Repeat("0", 30)},
	{`{"mod":["$n",4]}`, `-3`}, {`{"mod":[7,-4]}`, `3`}, {`{"mod":[7.5,2]}`, `1.5`}, {`{"mod":[7,0]}`, `null`}, {`{"mod":["$pay",1]}`, `0.123456789`},
	{`{"abs":["$n"]}`, `7`}, {`{"round":[2.5]}`, `3`}, {`{"round":[-2.5]}`, `-3`}, {`{"round":["$pay",4]}`, `1234567890123456789.1235`},
	{`{"round":["$big",-3]}`, `9223372036854776000`}, {`{"round":[149,-2]}`, `100`}, {`{"round":[-0.4]}`, `0`},
	{`{"concat":["$name"," ",1.50,"$n",null]}`, `"Grüße, Ÿ 😀! 1.50-7"`}, {`{"concat":["$at","$ok","$no","$pay","$real"]}`, `"2024-02-29T13:04:05.678Ztrue1234567890123456789.1234567890.1"`},
	{`{"upper":["$name"]}`, `"GRÜSSE, Ÿ 😀!"`}, {`{"lower":["$name"]}`, `"grüße, ÿ 😀!"`}, {`{"size":["$name"]}`, `11`}, {`{"size":["$tags"]}`, `4`},
	{`{"substr":["$name",0,3]}`, `"Grü"`}, {`{"substr":["$name",7]}`, `"Ÿ 😀!"`}, {`{"substr":["$name",-2]}`, `"😀!"`}, {`{"substr":["$name",-2,1]}`, `"😀"`},
	{`{"substr":["$name",-99,1]}`, `"G"`}, {`{"substr":["$name",99]}`, `""`}, {`{"substr":["$name",2,0]}`, `""`}, {`{"substr":["$name",2,-5]}`, `""`},
	{`{"if":[{"gt":["$n",0]},"plus","minus"]}`, `"minus"`}, {`{"if":[{"lt":["$n",0]},"$n","$real"]}`, `-7`}, {`{"if":[{"gt":["$n",0]},1]}`, `null`},
	{`{"case":[{"gt":["$n",0]},"plus",{"eq":["$n",-7]},"seven","other"]}`, `"seven"`}, {`{"if":[{"eq":["$tags",2]},"$at",null]}`, `"2024-02-29T13:04:05.678Z"`},
	{`{"ifNull":[null,"$name"]}`, `"Grüße, Ÿ 😀!"`}, {`{"ifNull":["$n",5]}`, `-7`}, {`{"ifNull":["$n"]}`, `-7`},
	{`{"gt":["$n",-8]}`, `true`}, {`{"not":[{"eq":["$n",-7]}]}`, `false`}, {`{"empty":["$name"]}`, `false`},
	{`{"year":["$at"]}`, `2024`}, {`{"month":["$at"]}`, `2`}, {`{"day":["$at"]}`, `29`}, {`{"hour":["$at"]}`, `13`}, {`{"minute":["$at"]}`, `4`}, {`{"second":["$at"]}`, `5`},
	{`{"year":["0000-02-29"]}`, `0`}, {`{"month":["0000-02-29"]}`, `2`}, {`{"day":["0000-03-01"]}`, `1`}, {`{"year":["9999-12-31T23:59:59.999Z"]}`, `9999`},
	{`{"year":["1969-12-31T23:59:59.999Z"]}`, `1969`}, {`{"second":["1969-12-31T23:59:59.999Z"]}`, `59`}, {`{"year":["0001-01-01"]}`, `1`},
	{`{"date":[]}`, `"2024-02-29T12:30:00.000Z"`}, {`{"date":["today"]}`, `"2024-02-29T00:00:00.000Z"`}, {`"$$now"`, `"2024-02-29T12:30:00.000Z"`}, {`{"date":["2020-01-01"]}`, `"2020-01-01T00:00:00.000Z"`},
	{`{"dateAdd":["$at",1]}`, `"2024-03-01T13:04:05.678Z"`}, {`{"dateAdd":["$at",-0.5,"s"]}`, `"2024-02-29T13:04:05.178Z"`}, {`{"dateAdd":["$at",0.0001,"ms"]}`, `"2024-02-29T13:04:05.678Z"`},
	{`{"dateAdd":["$at",-0.0001,"ms"]}`, `"2024-02-29T13:04:05.677Z"`}, {`{"dateAdd":["$at",1,"y"]}`, `"2025-02-28T18:53:17.678Z"`}, {`{"dateAdd":["$at","$pay"]}`, `null`},
	{`{"dateAdd":["9999-12-31T23:59:59.999Z",1,"ms"]}`, `null`}, {`{"dateAdd":["0000-01-01",-1,"ms"]}`, `null`}, {`{"dateAdd":["9999-12-31T23:59:59.999Z",0.9,"ms"]}`, `"9999-12-31T23:59:59.999Z"`},
	{`{"dateDiff":["$at","2024-02-28T13:04:05.678Z"]}`, `1`}, {`{"dateDiff":["2024-01-01","2024-01-02","h"]}`, `-24`}, {`{"dateDiff":["2024-01-02","2024-01-01","m"]}`, `0.03285488408386209162`},
	{`{"dateDiff":["2024-01-01","2024-01-01T00:00:01Z","min",true]}`, `-1`}, {`{"dateDiff":["$at","2024-02-29","ms"]}`, `47045678`},
	{`{"format":["$at"]}`, `"29.02.2024"`}, {`{"format":["$at","%Y-%m-%d %H:%M:%S.%L %%"]}`, `"2024-02-29 13:04:05.678 %"`}, {`{"dateFormat":["$at","D.M.YYYY H:mm:ss"]}`, `"29.2.2024 13:04:05"`},
	{`{"format":["0000-01-02","YYYY-MM-DD"]}`, `"0000-01-02"`}, {`{"format":["$at",""]}`, `""`}, {`{"format":["$at","it's"]}`, `"it'5"`},
}

func expressionValues(t *testing.T, open storetest.Open) {
	r, c := openSample(t, open)
	for _, e := range expressionCases {
		if got := value(t, r, c, "full", e[0]); got != e[1] {
			t.Errorf("%s is %s, want %s", e[0], got, e[1])
		}
	}
}

// expressionNulls checks that a function of null is null, except for functions that handle null.
func expressionNulls(t *testing.T, open storetest.Open) {
	r, c := openSample(t, open)
	for expr, want := range map[string]string{
		`{"add":["$n",1]}`: `null`, `{"mul":[0,"$real"]}`: `null`, `{"div":["$n","$n"]}`: `null`, `{"abs":["$pay"]}`: `null`, `{"round":["$n",1]}`: `null`,
		`{"concat":["a","$name","$n","$at","$ok"]}`: `"a"`, `{"upper":["$name"]}`: `null`, `{"substr":["$name",0]}`: `null`, `{"size":["$name"]}`: `null`, `{"size":["$tags"]}`: `null`,
		`{"year":["$at"]}`: `null`, `{"dateAdd":["$at",1]}`: `null`, `{"dateAdd":["$$now","$n"]}`: `null`, `{"dateDiff":["$at","$$now"]}`: `null`, `{"format":["$at","x"]}`: `null`,
		`{"ifNull":["$n","$pay",5]}`: `5`, `{"ifNull":["$name","$name"]}`: `null`, `{"if":["$ok",1,2]}`: ``,
	} {
		if want == "" {
			continue
		}
		if got := value(t, r, c, "none", expr); got != want {
			t.Errorf("%s is %s, want %s", expr, got, want)
		}
	}
}

// letters lists letters and words for which programs and databases convert the case differently.
const letters = "aZ äÖ ß ŉ ǆ Ǆ ǅ ff ﬃ ı İ i I ς σ Σ ΑΣ ΑΣΑ ᾳ ᾼ ϐ ſ K Å ЁЖ ёж ҐЄІ Ա ա ნ Ა ẞ Ω ῼ Ⅷ ⓐ 𐐀 𐐨 ꭰ Ꭰ"

func expressionLetters(t *testing.T, open storetest.Open) {
	c := storetest.NewClass("letter", storetest.Prop("id", engine.String), storetest.Prop("name", engine.String))
	r := open(t, []*engine.Class{c})
	for i, word := range strings.Fields(letters) {
		storetest.Create(t, r, c, "id", fmt.Sprint(i), "name", word)
	}
	for word, want := range map[string]string{
		"aZ": "AZ az", "ß": "SS ß", "ŉ": "ʼN ŉ", "ǅ": "Ǆ ǆ", "ﬃ": "FFI ﬃ", "ı": "I ı", "İ": "İ i̇", "ΑΣ": "ΑΣ ας", "ΑΣΑ": "ΑΣΑ ασα",
		"ᾳ": "ΑΙ ᾳ", "ſ": "S ſ", "K": "K k", "ёж": "ЁЖ ёж", "ẞ": "ẞ ß", "𐐨": "𐐀 𐐨", "ҐЄІ": "ҐЄІ ґєі",
	} {
		f := fmt.Sprintf(`{"fields":{"up":{"upper":["$name"]},"low":{"lower":["$name"]}},"filter":{"name":%q}}`, word)
		a, err := query.ParseAggregation(c, storetest.DecodeJSON(t, f), storetest.Now)
		if err != nil {
			t.Fatal(err)
		}
		err = r.Aggregate(t.Context(), a, func(row []any) error {
			storetest.CheckSame(t, word, fmt.Sprint(row[0], " ", row[1]), want)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for part, want := range map[string]int{"SS": 1, "ss": 1, "ß": 1, "σ": 5, "Σ": 5, "ς": 5, "i": 4, "ёЖ": 2, "%": 0, "_": 0, "": len(strings.Fields(letters))} {
		n, err := r.Count(t.Context(), &engine.Query{Class: c, Filter: storetest.ParseFilter(t, c, fmt.Sprintf(`{"contains":["$name",%q]}`, part))})
		storetest.CheckSame(t, "contains "+part, []any{n, err}, []any{int64(want), nil})
	}
}

// expressionReals checks that the decimal of a real is the shortest one that converts back to the real.
func expressionReals(t *testing.T, open storetest.Open) {
	c := storetest.NewClass("number", storetest.Prop("id", engine.String), storetest.Prop("r", engine.Real), storetest.Prop("n", engine.Int))
	r := open(t, []*engine.Class{c})
	reals := []float64{0, 1, -1, 0.1, 1e21, 1e22, 1e23, 1.5e300, 1.7976931348623157e308, 5e-324, 2.2250738585072014e-308, 9007199254740993, 4503599627370497.5,
		123456789012345680, 1e15, 1e16, 1e17, 0.1 + 0.2, 1 / 3.0, 5.684341886080802e-14, 3, 1 << 60}
	for i, f := range reals {
		storetest.Create(t, r, c, "id", fmt.Sprint(i), "r", f, "n", int64(i))
		want := string(decimal.Add(decimal.OfReal(f), "1"))
		if got := value(t, r, c, fmt.Sprint(i), `{"add":["$r",1]}`); got != want {
			t.Errorf("%v + 1 is %s, want %s", f, got, want)
		}
	}
	q := &engine.Query{Class: c, Count: -1, Filter: storetest.ParseFilter(t, c, `{"eq":["$r","$n"]}`)}
	storetest.CheckSame(t, "equal", storetest.ListIDs(t, r, q), []string{"0", "1"})
}

func expressionConditions(t *testing.T, open storetest.Open) {
	r, c := openSample(t, open)
	for filter, want := range map[string]string{
		`{"eq":[{"upper":["$name"]},"GRÜSSE, Ÿ 😀!"]}`: "full", `{"ne":[{"upper":["$name"]},"X"]}`: "full none", `{"eq":[{"upper":["$name"]},null]}`: "none",
		`{"gt":["$pay","$real"]}`: "full", `{"not":[{"gt":["$pay","$real"]}]}`: "none", `{"gt":["$pay","$big"]}`: "", `{"lt":["$pay","$big"]}`: "full",
		`{"lt":[{"mul":["$pay",10]},{"add":["$big",1]}]}`: "", `{"eq":[{"add":["$n",1]},{"sub":[0,6]}]}`: "full", `{"in":[{"abs":["$n"]},[6,7]]}`: "full",
		`{"gte":["$at",{"date":["today"]}]}`: "full", `{"lt":["$at",{"now":[]}]}`: "", `{"gt":["$at",{"dateAdd":[{"now":[]},-1]}]}`: "full", `{"at":{"$gte":{"date":["2024-02-29"]}}}`: "full",
		`{"at":{"$lt":"2024-02-29T13:04:05.679Z"}}`: "full", `{"gt":[{"dateDiff":["$at",{"date":["today"]},"h",true]},12]}`: "full",
		`{"eq":["$tags",2]}`: "full", `{"eq":["$tags","2"]}`: "full", `{"eq":["$tags",3]}`: "", `{"contains":["$tags",30]}`: "full", `{"contains":["$tags",[7,4]]}`: "full", `{"in":["$tags",[7,1]]}`: "full",
		`{"ne":["$tags",2]}`: "none", `{"tags":{"$nin":[2]}}`: "none", `{"tags":{"$in":[9,null]}}`: "none", `{"empty":["$tags"]}`: "none", `{"eq":["$tags",[1,2,30,4]]}`: "full", `{"eq":["$tags",[2,1]]}`: "",
		`{"contains":["$name","grüSSE"]}`: "full", `{"contains":["$name",{"lower":["GRÜ"]}]}`: "full", `{"contains":["$name","$name"]}`: "full",
		`{"like":[{"concat":["$n","|","$name"]},"^-7.g"]}`: "full", `{"empty":[{"substr":["$name",0,0]}]}`: "full none",
		`{"eq":[{"gt":["$n",0]},false]}`: "full none", `{"eq":["$ok",{"lt":["$n",0]}]}`: "full", `{"eq":[{"size":["$name"]},11]}`: "full", `{"$not":{"n":-7}}`: "none",
		`{"eq":["n",7]}`: "", `{"ne":["n",7]}`: "full none", `{"in":["a",["a","b"]]}`: "full none", `{"in":["$name","x","y"]}`: "", `{"like":["x","y"]}`: "",
		// Although the expression contains numbers, its result is compared as text.
		`{"gte":["$_class",{"if":[{"ne":["$n",{"add":[100,0]}]},"ß","$name"]}]}`: "",
		`[{"property":"at","operation":8,"value":["$$today"]}]`:                  "full", `[{"property":"at","operation":5,"nestedConditions":[{"operation":9,"value":["$$now",1,"h"]}]}]`: "full",
		`[{"property":"name","operation":2},{"property":"n","operation":2}]`: "none", `[{"property":"n","operation":9,"value":[1,"-7"]}]`: "full", `[]`: "full none",
	} {
		q := &engine.Query{Class: c, Count: -1, Filter: storetest.ParseFilter(t, c, filter)}
		storetest.CheckSame(t, filter, strings.Join(storetest.ListIDs(t, r, q), " "), want)
	}
}

func expressionRefused(t *testing.T, open storetest.Open) {
	_, c := openSample(t, open)
	for _, filter := range []string{
		`{"eq":[{"nosuch":["$n"]},1]}`, `{"eq":[{"upper":["$n"]},"X"]}`, `{"eq":[{"add":["$name",1]},1]}`, `{"eq":[{"add":["$n","x"]},1]}`, `{"eq":[{"year":["$n"]},1]}`,
		`{"eq":[{"sum":["$n"]},1]}`, `{"upper":["$name"]}`, `{"count":["$n"]}`, `{"geoWithin":["$tags",{}]}`, `{"eq":[{"if":[{},1,2]},1]}`, `{"eq":[{"if":[{"eq":["$n",1]},1,"x"]},1]}`,
		`{"eq":[{"substr":["$name","$n"]},"x"]}`, `{"eq":[{"round":["$n",101]},1]}`, `{"gt":["$tags",1]}`, `{"eq":[{"mul":["$pay","$pay","$pay","$pay","$pay","$pay","$pay","$pay","$pay"]},1]}`,
		`{"eq":["$$nope",1]}`, `{"eq":[{"format":["$at","%q"]},"x"]}`, `{"eq":[{"dateAdd":["$at",1,"week"]},1]}`, `{"match":["a","b"]}`, `{"eq":["$n",{"a":1,"b":2}]}`, `{"eq":["$n",{}]}`,
		`[{"property":"n","operation":0,"value":["$x"]}]`, `[{"property":"n","operation":11,"value":[1]}]`, `[{"operation":9,"value":[1]}]`, `[{"property":"n","operation":0,"value":[1,2]}]`, `[{"operation":0}]`, `[1]`,
	} {
		_, err := query.ParseFilter(c, storetest.DecodeJSON(t, filter), storetest.Now)
		if engine.CodeOf(err) != engine.Invalid {
			t.Errorf("%s: got %v, want code Invalid", filter, err)
		}
	}
}
