package formula_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/formula"
)

type example struct{ source, want string }

func check(t *testing.T, examples []example) {
	t.Helper()
	w := newWorld(t)
	for _, x := range examples {
		if got := w.eval(t, x.source); got != x.want {
			t.Errorf("%s is %s, expected %s", x.source, got, x.want)
		}
	}
}

func TestPaths(t *testing.T) {
	check(t, []example{
		{`$name`, `"Größe"`},
		{`"$a"`, `7`},
		{`$none`, `null`},
		{`$town`, `city:7`},
		{`$town.name`, `"Oslo"`},
		{`$town.mayor`, `"Ann"`}, // an attribute of a descendant whose attributes have a different order
		{`$town@`, `"Oslo"`},
		{`$town.name@`, `"Oslo"`},
		{`$lost`, `8`}, // the reference is dangling, so its value is the id
		{`$lost.name`, `null`},
		{`$lost.id`, `8`},
		{`$lines`, `items[line:1 line:2 line:3]`},
		{`$lines.n`, `[3 1 null]`},
		{`$lines.good`, `items[good:tea good:cup good:tea]`},
		{`$lines.good.price`, `[decimal 0.1 decimal 2.5 decimal 0.1]`},
		{`$lines.good@`, `["Tea" "Cup" "Tea"]`},
		{`$tags`, `["x" 2 {"y":1}]`},
		{`$fio$last`, `"Ng"`},
		{`$fio.last`, `"Ng"`},
		{`$at@`, `"02.01.2020 3:04"`},
		{`$_id`, `"5"`},
		{`$__class`, `"order@t"`},
		{`$town.__class`, `"city@t"`},
		{`$town.__string`, `"Oslo"`},
		{`["$a",1,"x"]`, `[7 1 "x"]`},
	})
}

func TestNotLoaded(t *testing.T) {
	w := newWorld(t)
	w.item.Links = nil
	w.item.Values[w.order.Property("b").Index] = engine.Absent
	w.item.Values[w.order.Property("lines").Index] = &engine.Links{}
	for _, x := range []example{
		{`$town`, `7`}, {`$town.name`, `null`}, {`$town.id`, `7`}, {`$lines`, `items[]`}, {`$lines.n`, `[]`},
		{`count($lines)`, `0`}, {`$b`, `null`}, {`sum($lines, n)`, `0`},
	} {
		if got := w.eval(t, x.source); got != x.want {
			t.Errorf("%s is %s, expected %s", x.source, got, x.want)
		}
	}
}

func TestLogic(t *testing.T) {
	check(t, []example{
		{`and(true, 5)`, `5`}, {`and(0, 5)`, `0`}, {`and(null, true)`, `null`}, {`and($ok, $name)`, `"Größe"`},
		{`or(0, '')`, `""`}, {`or(null, 'x', 1)`, `"x"`},
		{`and(false, next(c))`, `false`}, {`or(true, next(c))`, `true`}, {`if(true, 1, next(c))`, `1`},
		{`next(c)`, `1`}, // the first use of the counter
		{`not(0)`, `true`}, {`not('0')`, `false`}, {`not($none)`, `true`}, {`not($dec)`, `false`},
		{`if($ok, a, b)`, `"a"`}, {`if($none, a, b)`, `"b"`}, {`if('', a)`, `null`},
		{`{"not":{"eq":["$a",7]}}`, `false`},
	})
}

func TestCompare(t *testing.T) {
	check(t, []example{
		{`eq($a, 7)`, `true`}, {`eq($a, '7')`, `true`}, {`eq($a, 7.0)`, `true`}, {`eq($a, x)`, `false`},
		{`eq($real, 0.1)`, `true`}, {`eq($dec, 1.1)`, `true`}, {`eq($dec, '1.100')`, `true`},
		{`eq(null, $none)`, `true`}, {`eq(null, 0)`, `false`}, {`eq(true, 1)`, `true`}, {`eq('', 0)`, `true`},
		{`eq($town, 7)`, `true`}, {`eq($town, $town)`, `true`}, {`eq($town, '8')`, `false`},
		{`eq($lines.good, $town)`, `false`}, {`eq($at, '2020-01-02T03:04:05.006Z')`, `true`},
		{`ne($a, 7)`, `false`}, {`ne($a, '7')`, `true`}, {`ne($a, 7.0)`, `false`}, {`ne(null, $none)`, `false`}, {`ne(true, 1)`, `true`},
		{`ne($town, $town)`, `false`}, {`ne(null, 0)`, `true`},
		{`lt($b, $a)`, `true`}, {`lt('10', '9')`, `true`}, {`lt('10', 9)`, `false`}, {`lt(x, 9)`, `false`}, {`gt(x, 9)`, `false`},
		{`lt($none, 1)`, `true`}, {`gte($none, 0)`, `true`}, {`lte(2, 2)`, `true`}, {`gt(2, 2)`, `false`},
		{`gt($dec, 1.09)`, `true`}, {`lt(9007199254740992, 9007199254740993)`, `true`}, {`lt(0.10000000000000000001, 0.10000000000000000002)`, `true`},
		{`gt($at, '2020-01-01')`, `true`}, {`lt('2020-01-01', $at)`, `true`}, {`lt(now(), $at)`, `false`},
		{`empty($none)`, `true`}, {`empty('')`, `false`}, {`empty($lines)`, `false`}, {`empty(collect())`, `true`}, {`empty($lost)`, `false`},
		{`nempty($name)`, `true`}, {`nempty($none)`, `false`},
	})
}

func TestMath(t *testing.T) {
	check(t, []example{
		{`add(1, 2, '3', $none, true)`, `7`}, {`add($a, x)`, `null`}, {`add($dec, 0.2)`, `decimal 1.3`}, {`add($real, 0.2)`, `float 0.30000000000000004`},
		{`add(0.1, 0.2)`, `decimal 0.3`}, {`add(9223372036854775807, 1)`, `decimal 9223372036854775808`}, {`add($lines.n)`, `4`},
		{`sub(10, 3, 2)`, `5`}, {`sub($none, 3)`, `-3`}, {`sub('2020-01-02', 1)`, `null`}, {`sub(-9223372036854775808, 1)`, `decimal -9223372036854775809`},
		{`mul(2, 3, 4)`, `24`}, {`mul($none, 3)`, `0`}, {`mul(1.5, 2)`, `decimal 3`}, {`mul(4294967296, 4294967296)`, `decimal 18446744073709551616`},
		{`mul(3037000500, 3)`, `9111001500`}, {`mul(-1, 0.5)`, `decimal -0.5`},
		{`div(6, 3)`, `2`}, {`div(7, 2)`, `float 3.5`}, {`div(7.0, 2)`, `float 3.5`}, {`div(1.1, 3)`, `decimal 0.36666666666666666667`},
		{`div(-9223372036854775808, -1)`, `decimal 9223372036854775808`}, {`div(12, 2, 3)`, `2`},
		{`div(1, 0)`, `null`}, {`div(1.5, 0)`, `null`}, {`div($real, 0)`, `null`}, {`div(null, 2)`, `0`},
		{`round(2.5)`, `decimal 3`}, {`round(-2.5)`, `decimal -3`}, {`round(1.005, 2)`, `decimal 1.01`}, {`round(mul($real, 10.05), 2)`, `float 1.01`},
		{`round(155, -1)`, `160`}, {`round(7, 2)`, `7`}, {`round($none)`, `null`}, {`round(x)`, `null`},
		{`mul(1e300, 1e300)`, `decimal 1` + strings.Repeat("0", 600)}, {`mul(1e600, 1e600)`, `null`},
	})
}

func TestText(t *testing.T) {
	check(t, []example{
		{`concat($name, ' ', $a, '/', $real, '/', $dec, $none, false, true)`, `"Größe 7/0.1/1.10true"`},
		{`concat($town, ' ', $lines.n)`, `"Oslo 3,1,"`}, {`concat()`, `""`}, {`concat($at)`, `"2020-01-02T03:04:05.006Z"`},
		{`substr($name, 2)`, `"öße"`}, {`substr($name, 1, 2)`, `"rö"`}, {`substr($name, -2, 1)`, `"ß"`}, {`substr($name, 9)`, `""`}, {`substr(12345, 1, 2)`, `"23"`}, {`substr($none, 1)`, `""`},
		{`substr(a, 0, -1)`, `""`}, {`substr('😀b', 2)`, `"b"`},
		{`pad($a, 3)`, `"007"`}, {`pad(x, 3, '-', r)`, `"x--"`}, {`pad(xyz, 2)`, `"xyz"`}, {`pad(x, 3, '')`, `"x"`},
		{`pad(x, 2000000000)`, `error: pad: the text would be longer than 4194304 bytes`},
		{`upper('äb')`, `"ÄB"`}, {`lower('ÄB')`, `"äb"`}, {`upper($none)`, `""`},
		{`like($name, '^Gr.+e$')`, `true`}, {`like($name, gr)`, `false`}, {`like($none, 'x')`, `false`}, {`like(a, $none)`, `false`},
		{`like(a, concat('(', ''))`, `error: like: regular expression "(" is not in RE2 syntax`},
		{`size($name)`, `5`}, {`size('😀')`, `2`}, {`size($lines)`, `3`}, {`size($none)`, `0`}, {`size(1234)`, `4`}, {`size($tags)`, `3`},
	})
}

func TestLists(t *testing.T) {
	check(t, []example{
		{`in($a, 1, '7')`, `true`}, {`{"in":["$a",[1,2]]}`, `false`}, {`{"in":["$name",["Größe"]]}`, `true`}, {`in('x', $tags)`, `true`}, {`in(1, $lines.n)`, `true`},
		{`element($lines)`, `line:1`}, {`element($lines, last)`, `line:3`}, {`element($lines, 9)`, `null`}, {`element($lines.n, 1)`, `1`}, {`element($a)`, `null`},
		{`collect($lines.n, $a, null, collect(1))`, `[3 1 7 1]`}, {`collect($lines, $lines)`, `items[line:1 line:2 line:3 line:1 line:2 line:3]`},
		{`obj(a, 1, b, $name, c)`, `{a=1 b="Größe" c=null}`},
		{`{"contains":["$lines",{"gt":["$n",2]}]}`, `true`}, {`{"contains":["$lines",{"&gt":["$n",3]}]}`, `false`},
		{`{"contains":["$lines",{"eq":["$good.title","Cup"]}]}`, `true`}, {`contains($lines, &eq($good.title, 'Nut'))`, `false`},
		{`contains($lines, 2)`, `true`}, {`{"contains":["$lines",["8","3"]]}`, `true`}, {`contains($lines, 8)`, `false`},
		{`contains($name, 'röß')`, `true`}, {`contains($name, 'x')`, `false`}, {`contains($none, x)`, `false`}, {`contains($name, lower('R'))`, `true`},
		{`contains($lines.n, 3)`, `true`},
	})
}

func TestAggregates(t *testing.T) {
	check(t, []example{
		{`sum($lines, n)`, `4`}, {`sum($lines, $n)`, `4`}, {`sum($lines, good.price)`, `decimal 2.7`}, {`sum($lines.n)`, `4`},
		{`{"sum":["$lines",{"mul":["$n","$good.price"]}]}`, `decimal 2.8`},
		{`{"sum":["$lines","n",{"eq":["$paid",true]}]}`, `3`}, {`sum($lines, n, &eq($paid, false))`, `1`}, {`sum($lines, good.title)`, `null`},
		{`sum($none)`, `0`}, {`avg($lines, n)`, `2`}, {`avg($lines, good.price)`, `decimal 0.9`}, {`avg($none)`, `null`}, {`avg($lines, good.title)`, `null`},
		{`min($lines, n)`, `1`}, {`max($lines, n)`, `3`}, {`max($lines, good.title)`, `"Tea"`}, {`min($none)`, `null`},
		{`count($lines)`, `3`}, {`count($lines, n)`, `2`}, {`{"count":["$lines",{"&eq":["$paid",true]}]}`, `2`}, {`{"count":["$lines",null,{"eq":["$paid",false]}]}`, `1`},
		{`sum($lines.good, price)`, `decimal 2.7`}, {`sum($lines.good, price, null, true)`, `decimal 2.6`}, {`count($lines.good, null, null, 1)`, `2`},
		{`merge($lines, good.title)`, `"Tea Cup Tea"`}, {`merge($lines.good, title, null, true, ', ')`, `"Tea, Cup"`}, {`merge($none)`, `""`},
		{`{"merge":[{"collect":["$lines","$lines"]},"good.title",null,true]}`, `"Tea Cup Tea"`},
		{`{"sum":[[{"obj":["n",2]},{"obj":["n",3]}],"n"]}`, `5`},
	})
}

func TestCounters(t *testing.T) {
	check(t, []example{
		{`next(ord)`, `1`}, {`{"next":["ord"]}`, `2`}, {`{"next":[{"concat":["o","$lost.id"]}]}`, `1`}, {`next($none)`, `error: next: takes the name of a counter`},
	})
}

func TestTextForm(t *testing.T) {
	check(t, []example{
		{`add( 1 ,mul(2,3) )`, `7`}, {`concat('a, b', "(c)", 'it''s', 'x\'y')`, `"a, b(c)it'sx'y"`}, {`concat('$a', $a)`, `"$a7"`},
		{`concat(some words, null, true)`, `"some wordstrue"`}, {`12.5`, `decimal 12.5`}, {`null`, `null`}, {`word`, `"word"`}, {`now()`, now.String()},
		{`{"concat":["next(ord)"]}`, `"next(ord)"`}, {`{"now":[null]}`, now.String()}, {`{"now":null}`, now.String()},
	})
}

func TestRefused(t *testing.T) {
	w := newWorld(t)
	for _, x := range []example{
		{`{"Concat":[1]}`, `there is no function "Concat", expected "concat"`},
		{`x(1)`, `there is no function "x", expected one of add, and, avg`},
		{`adds(1)`, `there is no function "adds", expected "add"`},
		{`number2words(1)`, `number2words has never worked`},
		{`$nam`, `class order@t has no attribute "nam", expected "name"`},
		{`$town.nam`, `class town@t has no attribute "nam", expected "name"`},
		{`$twon.name`, `class order@t has no attribute "twon", expected "town"`},
		{`$name.x`, `path "name.x" goes on behind attribute "name"`},
		{`$secret`, `attribute "secret" is a password`},
		{`sum($lines, nn)`, `class line@t has no attribute "nn", expected one of id, n, good, paid`},
		{`{"contains":["$lines",{"eq":["$a",1]}]}`, `class line@t has no attribute "a"`},
		{`eq(1)`, `eq takes 2 arguments, found 1`},
		{`add()`, `add takes at least 1 arguments, found 0`},
		{`if(1)`, `if takes 2 to 3 arguments, found 1`},
		{`{"add":[1],"sub":[1]}`, `a call is an object with one function`},
		{`{}`, `a call is an object with one function`},
		{`{"add":[{"&eq":[1,2]}]}`, `a function is passed on only where one is taken`},
		{`like($name, '(')`, `regular expression "(" is not in RE2 syntax`},
		{`dateAdd($at, 1, dayz)`, `there is no unit of time "dayz", expected "day"`},
		{`dateDiff(decades, $at)`, `there is no unit of time "decades"`},
		{`sum(order)`, `sum over a class takes an attribute`},
		{`{"sum":["order","a",{"b":["gtt",1]}]}`, `there is no operator "gtt", expected "gt"`},
		{`{"sum":["$lines","n",5]}`, `sum takes a condition`},
		{`concat('x`, `has no closing quote`},
		{`concat(1`, `the arguments of "concat" do not end`},
		{`concat(1))`, `goes on with ")"`},
		{`{"add":[1e2000]}`, `out of range`},
		{strings.Repeat("not(", 40) + "1" + strings.Repeat(")", 40), `nested at most 32 levels`},
		{`["` + strings.Repeat(`x","`, 3000) + `"]`, `at most 2000 calls`},
	} {
		_, err := w.compile(t, x.source)
		switch e, ok := err.(*engine.Error); {
		case !ok:
			t.Errorf("%.60s: error %v, expected one that says %s", x.source, err, x.want)
		case e.Code != engine.Invalid || !strings.Contains(e.Message, x.want):
			t.Errorf("%.60s: says %s, expected %s", x.source, e.Message, x.want)
		}
	}
}

// TestNeeds checks the paths that a formula needs. A path starts at the formula's item. In a condition, it starts at
// the elements of the list to which the condition applies. If only the key of a reference is used, the target of the
// reference is not needed.
func TestNeeds(t *testing.T) {
	w := newWorld(t)
	for source, want := range map[string]string{
		`add($a, $a)`:             "a",
		`$town.id`:                "",
		`concat($town.name, $ok)`: "town.name ok",
		`$town@`:                  "town",
		`$lines.good.id`:          "lines",
		`$town.__class`:           "town",
		`{"sum":["$lines",{"mul":["$n","$good.price"]},{"eq":["$paid",true]}]}`: "lines lines.n lines.good.price lines.paid",
		`merge($lines.good, title)`:                                        "lines.good lines.good.title",
		`{"contains":[{"collect":["$lines","$lines"]},{"eq":["$n",1]}]}`:   "lines lines.n",
		`{"contains":["$lines",{"in":["$good.title",["x"]]}]}`:             "lines lines.good.title",
		`{"sum":["order","a",{"b":"$town.name","name":["like","$none"]}]}`: "town.name none",
	} {
		f, err := w.compile(t, source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		var paths []string
		for _, path := range f.Needs() {
			var names []string
			for _, p := range path {
				names = append(names, p.Name)
			}
			paths = append(paths, strings.Join(names, "."))
		}
		if got := strings.Join(paths, " "); got != want {
			t.Errorf("%s needs %s, expected %s", source, got, want)
		}
	}
}

// TestLinked checks that a class loads the paths that its calculated attributes need.
func TestLinked(t *testing.T) {
	w := newWorld(t)
	f, err := w.compile(t, `sum($lines, good.price)`)
	if err != nil {
		t.Fatal(err)
	}
	w.order.Property("a").Formula = f
	w.order.Link()
	loads := w.order.Needs()
	if len(loads) != 1 || loads[0].Property.Name != "lines" || len(loads[0].Next) != 1 || loads[0].Next[0].Property.Name != "good" {
		t.Errorf("loads of the class: got %v, want lines and their goods", loads)
	}
}

// TestEnds checks that the work of a formula is limited for any data, and that it ends when the request ends.
func TestEnds(t *testing.T) {
	w := newWorld(t)
	many := make([]*engine.Item, 3000)
	for i := range many {
		many[i] = w.newLine(int64(i), i, w.item, true)
	}
	w.link("lines", engine.Link{Loaded: true, Items: many})
	heavy := func(n int) engine.Formula {
		one := `{"not":{"contains":["$lines",{"in":[-1,"$n","$n","$n","$n","$n","$n"]}]}},`
		f, err := w.compile(t, `{"and":[`+strings.TrimSuffix(strings.Repeat(one, n), ",")+`]}`)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	if v, err := heavy(50).Eval(context.Background(), w.item, w); err != nil || v != true {
		t.Errorf("a formula within the limit: got %v, %v, want true", v, err)
	}
	if _, err := heavy(150).Eval(context.Background(), w.item, w); engine.CodeOf(err) != engine.Invalid {
		t.Errorf("a formula of some million steps: got %v, want Invalid", err)
	}
	f, err := w.compile(t, `[`+strings.TrimSuffix(strings.Repeat(`{"pad":["x",4000000]},`, 100), ",")+`]`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Eval(context.Background(), w.item, w); engine.CodeOf(err) != engine.Invalid {
		t.Errorf("a formula of 400 MB: got %v, want Invalid", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := heavy(50).Eval(ctx, w.item, w); engine.CodeOf(err) != engine.Timeout {
		t.Errorf("a formula after the end of its request: got %v, want Timeout", err)
	}
}

func TestConcurrentUse(t *testing.T) {
	w := newWorld(t)
	f, err := w.compile(t, `{"merge":["$lines","good.title",{"gte":["$n",0]},true,", "]}`)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				if v, err := f.Eval(context.Background(), w.item, w); err != nil || v != "Tea, Cup, Tea" {
					t.Errorf("got %v, %v, want Tea, Cup, Tea", v, err)
				}
			}
		})
	}
	all.Wait()
}

// TestDecodedLiterals checks that a formula can also contain Go values.
func TestDecodedLiterals(t *testing.T) {
	w := newWorld(t)
	f, err := formula.Compile(w.order, engine.Fields{{Name: "add", Value: []any{int64(1), json.Number("2"), engine.Decimal("0.5")}}})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := f.Eval(context.Background(), w.item, w); err != nil || v != engine.Decimal("3.5") {
		t.Errorf("got %v, %v, want 3.5", v, err)
	}
	if _, err := formula.Compile(w.order, struct{}{}); err == nil {
		t.Error("Compile of a struct: got no error, want one")
	}
}

func FuzzCompile(f *testing.F) {
	for _, s := range []string{`{"add":[1,"$a"]}`, `sum($lines, n, &eq($paid, true))`, `{"contains":["$lines",{"nempty":["$good"]}]}`, `dateFormat($at, 'LLLL', en)`,
		`{"pad":["$name",9999999999]}`, `date('01.02.2020', 'DD.MM.YYYY')`, `{"get":["order@t","5",["lines.good"]]}`, `{"max":["order","a",{"b":["gt","$b"]}]}`,
		`{"round":[1e999,-99]}`, `{"div":[1e999,1e-999,3]}`, `{"dateAdd":["$at",1e300,"y"]}`, `{"element":[[1,[2]],"last"]}`, `{"substr":["😀",-1,1e30]}`} {
		f.Add(s)
	}
	w := newWorld(f)
	f.Fuzz(func(t *testing.T, s string) {
		sources := []any{s}
		if v, err := decode(s); err == nil {
			sources = append(sources, v)
		}
		for _, source := range sources {
			c, err := formula.Compile(w.order, source)
			if err != nil {
				if engine.CodeOf(err) != engine.Invalid {
					t.Errorf("got %v, want Invalid", err)
				}
				continue
			}
			w.queries = nil
			start := time.Now()
			defer func() {
				if took := time.Since(start); took > 3*time.Second {
					t.Errorf("%s took %s, want at most 3s", s, took)
				}
			}()
			v, err := c.Eval(context.Background(), w.item, w)
			if err != nil && engine.CodeOf(err) != engine.Invalid {
				t.Errorf("got %v, want Invalid", err)
			}
			if again, _ := c.Eval(context.Background(), w.item, w); !slices.Contains([]string{show(v)}, show(again)) && !strings.Contains(s, "next") {
				t.Errorf("%s: got %s, then %s, want the same", s, show(v), show(again))
			}
		}
	})
}

// TestLenient compiles formulas with mistakes that IONDV accepts.
func TestLenient(t *testing.T) {
	w := newWorld(t)
	w.found = []*engine.Item{w.item}
	for _, x := range []struct{ source, want, missing, skipped string }{
		{`{"concat":["$name","-","$nosuch"]}`, `"Größe-"`, `class order@t has no attribute "nosuch"`, ``},
		{`{"if":[{"eq":["$town.nam",null]},"none","some"]}`, `"none"`, `class town@t has no attribute "nam"`, ``},
		{`add($a, $name.x, $name.x)`, `7`, `path "name.x" goes on behind attribute "name"`, ``},
		{`{"sum":["$lines",{"add":["$n","$nn"]}]}`, `4`, `class line@t has no attribute "nn"`, ``},
		{`concat($secret, x)`, `"x"`, `attribute "secret" is a password: no formula reads it`, ``},
		{`concat(x, count(town, nam), get(town, nam, 5))`, `"x"`, `class town@t has no attribute "nam"`, ``},
		{`concat(sub($a, $b)), lower(X)))`, `"5x"`, ``, `) )`},
		{`add(1, 2) and more`, `3`, ``, `and more`},
	} {
		f, notes, err := formula.CompileLenient(w.order, source(t, x.source), w.Class)
		if err != nil {
			t.Errorf("%s: %v", x.source, err)
			continue
		}
		v, err := f.Eval(t.Context(), w.item, w)
		if got := show(v); err != nil || got != x.want {
			t.Errorf("%s is %s, %v, want %s", x.source, got, err, x.want)
		}
		var missing []string
		for _, e := range notes.Missing {
			missing = append(missing, e.Error())
		}
		if got := strings.Join(missing, "; "); !strings.HasPrefix(got, x.missing) || (got == "") != (x.missing == "") {
			t.Errorf("%s: missing %q, want %q", x.source, got, x.missing)
		}
		if got := strings.Join(notes.Skipped, " "); got != x.skipped {
			t.Errorf("%s: skipped %q, want %q", x.source, got, x.skipped)
		}
	}
	for _, refused := range []string{`nosuch(1)`, `add(1, 2`, `concat(sub(1, 2)`, `eq(1)`, `{"count":["nosuch"]}`, `{"eq":[{"nosuch":[]},{"nosuch":[]}]}`} {
		if f, _, err := formula.CompileLenient(w.order, source(t, refused), w.Class); err == nil {
			t.Errorf("%s: got %v, want an error", refused, f)
		}
	}
}
