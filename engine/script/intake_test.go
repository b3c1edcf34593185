package script

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"restsrv/engine/script/exchange"
	"restsrv/engine/script/js"
	"restsrv/engine/script/limits"
)

// TestBodyOfIndexes sends an object with numbers as names, the largest first.
// Without indexesFirst, goja takes minutes to list them and cannot be
// interrupted.
func TestBodyOfIndexes(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	g := a.load("module.exports = {'POST /': (req) => [Object.keys(req.body).length, Object.keys(req.body)[1], Object.keys(JSON.parse(req.query.x))]}")
	const n = 99_999 // with x as many members as allowed
	var b strings.Builder
	b.WriteString(`{"x":0`)
	for i := n; i > 0; i-- {
		b.WriteString(`,"` + strconv.Itoa(i) + `":0`)
	}
	began := time.Now()
	got := answer(send(t, g, request{method: "POST", contentType: "application/json", body: b.String() + "}", query: `x={"b":1,"12":1,"4294967295":1,"4294967294":1,"2":1,"a":1,"2":2,"02":1,"0":1}`}))
	expect(t, got, jsonType+`[100000,"2",["0","2","12","4294967294","b","4294967295","a","02"]]`)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}

// TestJSONParseOfManyArrays parses values without commas before them.
func TestJSONParseOfManyArrays(t *testing.T) {
	a := newApp(t, limits.Limits{Elements: 2000}, false)
	g := a.load("module.exports = {'GET /': () => { const deep = '['.repeat(100) + ']'.repeat(100); try { return JSON.parse('[' + Array(30).fill(deep).join() + ']').length } catch (e) { return String(e) } }}")
	expect(t, get(t, g), jsonType+`"RangeError: JSON.parse: more than 2000 values"`)
}

func TestTooManyValues(t *testing.T) {
	for json, n := range map[string]int{
		`{}`: 1, `[1,2,3]`: 3, `{"a":{"b":[]}}`: 3, `["a,b,[{","\",,\\",1]`: 3, `[[[]]]`: 3,
	} {
		if js.TooManyValues([]byte(json), n) || !js.TooManyValues([]byte(json), n-1) {
			t.Errorf("%s has not %d values", json, n)
		}
	}
	a := newApp(t, limits.Limits{Elements: 10}, false)
	g := a.load("module.exports = {'POST /': (req) => req.body}")
	for body, want := range map[string]string{
		`[1,2,3,4,5,6,7,8,9,10]`:    jsonType + `[1,2,3,4,5,6,7,8,9,10]`,
		`[1,2,3,4,5,6,7,8,9,10,11]`: "error too large the body has more than 10 values",
	} {
		expect(t, answer(send(t, g, request{method: "POST", contentType: "application/json", body: body})), want)
	}
}

// TestLargeBodiesLeave ends requests with large bodies in all possible ways.
// The next one must be admitted.
func TestLargeBodiesLeave(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	const small = 64 << 10 // larger bodies must be admitted
	a.rt.intake = exchange.NewIntake(32 * (small + 1))
	g := a.load(`module.exports = {
		'POST /': (req) => req.body.length,
		'PUT /': () => { throw new Error('x') },
	}`)
	large := strings.Repeat(" ", small) + "[1]"
	for _, q := range []request{
		{method: "POST", body: large}, {method: "PUT", body: large}, {method: "POST", body: large + "]"},
	} {
		q.contentType = "application/json"
		for range 2 {
			_, _ = send(t, g, q)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			leave, err := a.rt.intake.Enter(ctx, 2*small) // it is admitted only alone
			cancel()
			if err != nil {
				t.Fatalf("%s: the body is still inside", q.method)
			}
			leave()
		}
	}
}
