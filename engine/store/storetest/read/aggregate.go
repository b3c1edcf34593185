package read

import (
	"errors"
	"fmt"
	"testing"

	"restsrv/engine"
	"restsrv/engine/query"
	"restsrv/engine/store/storetest"
)

var aggregateTests = []storetest.Test{
	{Name: "groups", Run: aggregateGroups},
	{Name: "exact sums", Run: aggregateSums},
	{Name: "rows", Run: aggregateRows},
	{Name: "refused aggregations", Run: aggregateRefused},
}

func aggregateGroups(t *testing.T, open storetest.Open) {
	s := openSociety(t, open)
	for aggregation, want := range map[string][]string{
		`{"aggregates":{"n":{"count":["$id"]}}}`: {"[5]"},
		`{"aggregates":{"n":{"count":[]},"aged":{"count":["$age"]},"sum":{"sum":["$age"]},"avg":{"avg":["$age"]},"min":{"min":["$age"]},"max":{"max":["$age"]}}}`: {"[5,4,135,33.75,25,40]"},
		`{"aggregates":{"n":{"count":[]},"sum":{"sum":["$age"]},"avg":{"avg":["$age"]},"min":{"min":["$name"]}},"filter":{"name":"nobody"}}`:                      {"[0,0,null,null]"},
		`{"fields":{"boss":"$boss"},"aggregates":{"n":{"count":["$id"]}}}`:                                                                                        {`[null,1]`, `["0",3]`, `["1",1]`},
		`{"fields":{"region":"$town.region.name"},"aggregates":{"n":{"count":["$id"]},"old":{"max":["$age"]}},"sort":{"n":-1}}`:                                   {`[null,3,40]`, `["North",1,30]`, `["South",1,40]`},
		`{"fields":{"boss":"$boss.name"},"aggregates":{"n":{"count":["$id"]}},"filter":{"nempty":["$boss.name"]},"sort":{"boss":-1},"count":1}`:                   {`["bob",1]`},
		`{"fields":{"boss":"$boss.name"},"aggregates":{"n":{"count":["$id"]}},"sort":{"boss":-1},"offset":1,"count":1}`:                                           {`["ann",3]`},
		`{"fields":{"long":{"gt":[{"size":["$staff"]},0]}},"aggregates":{"n":{"count":[]}}}`:                                                                      {"[false,3]", "[true,2]"},
		`{"fields":{"kind":{"if":[{"eq":["$staff.name","bob"]},"boss of bob",{"upper":["$name"]}]}}}`:                                                             {`["boss of bob"]`, `["BOB"]`, `["CID"]`, `["DAN"]`, `["EVE"]`},
		`{"aggregates":{"some":{"max":[{"gt":["$age",30]}]},"all":{"min":[{"gt":["$age",20]}]}}}`:                                                                 {"[true,false]"},
		`{"fields":{"class":"$_class"},"aggregates":{"n":{"count":[]}},"sort":{"n":1}}`:                                                                           {`["employee@test",1]`, `["person@test",4]`},
		`{"aggregates":{"n":{"count":[]}},"skipSubClasses":true}`:                                                                                                 {"[4]"},
		`{"fields":{"x":{"year":[{"date":["2020-05-01"]}]},"y":"text","z":1.5},"aggregates":{"n":{"count":[]}}}`:                                                  {`[2020,"text",1.5,5]`},
		`{"fields":{"at":{"format":["$$now","%Y"]}},"aggregates":{"n":{"sum":[{"dateDiff":["$$now","$$today","h"]}]}}}`:                                           {`["2024",62.5]`},
	} {
		storetest.CheckSame(t, aggregation, storetest.ListRows(t, s, s.person, aggregation), want)
	}
	storetest.CheckSame(t, "below", storetest.ListRows(t, s, s.employee, `{"aggregates":{"n":{"count":[]}}}`), []string{"[1]"})
}

func aggregateSums(t *testing.T, open storetest.Open) {
	c := storetest.NewClass("sum", storetest.Prop("id", engine.String), storetest.Prop("n", engine.Int), storetest.Prop("pay", engine.DecimalNum), storetest.Prop("real", engine.Real))
	r := open(t, []*engine.Class{c})
	for i := range 30 {
		storetest.Create(t, r, c, "id", fmt.Sprint(i), "n", int64(9223372036854775807), "pay", engine.Decimal("0.1"), "real", 0.1)
	}
	storetest.Create(t, r, c, "id", "none")
	storetest.CheckSame(t, "sums", storetest.ListRows(t, r, c, `{"aggregates":{"n":{"sum":["$n"]},"pay":{"sum":["$pay"]},"real":{"sum":["$real"]},"avg":{"avg":["$pay"]},"third":{"avg":[{"div":["$pay",3]}]},"max":{"max":["$pay"]}}}`),
		[]string{"[276701161105643274210,3,3,0.1,0.03333333333333333333,0.1]"})
	storetest.CheckSame(t, "order", storetest.ListRows(t, r, c, `{"fields":{"ten":{"if":[{"lt":["$real",1]},{"mul":["$pay",100]},9]}},"aggregates":{"n":{"count":[]}},"sort":{"ten":1}}`), []string{"[9,1]", "[10,30]"})
	storetest.CheckSame(t, "most", storetest.ListRows(t, r, c, `{"aggregates":{"most":{"max":[{"if":[{"lt":["$real",1]},{"mul":["$pay",100]},9]}]}}}`), []string{"[10]"})
}

func aggregateRows(t *testing.T, open storetest.Open) {
	s := openSociety(t, open)
	storetest.CheckSame(t, "items", storetest.ListRows(t, s, s.person, `{"fields":{"name":"$name","town":"$town.name"},"count":3}`), []string{`["ann","Oslo"]`, `["bob","Rome"]`, `["cid",null]`})
	storetest.CheckSame(t, "distinct", storetest.ListRows(t, s, s.person, `{"fields":{"age":"$age"},"distinct":true}`), []string{"[null]", "[25]", "[30]", "[40]"})
	storetest.CheckSame(t, "sorted", storetest.ListRows(t, s, s.person, `{"fields":{"name":"$name","age":"$age"},"sort":{"age":-1,"name":-1},"count":2}`), []string{`["eve",40]`, `["bob",40]`})
	storetest.CheckSame(t, "none", storetest.ListRows(t, s, s.person, `{"fields":{"name":"$name"},"count":0}`), []string{})
	mine, a := errors.New("mine"), &engine.Aggregation{Class: s.person, Aggregates: []engine.Aggregate{{Name: "n", Function: engine.CountOf}}, Count: -1}
	if err := s.Aggregate(t.Context(), a, func([]any) error { return mine }); err != mine {
		t.Errorf("got %v, want the error of visit", err)
	}
}

func aggregateRefused(t *testing.T, open storetest.Open) {
	s := openSociety(t, open)
	for _, aggregation := range []string{
		`{}`, `[]`, `{"fields":{}}`, `{"fields":{"x":"$staff.name"}}`, `{"fields":{"x":"$staff"}}`, `{"aggregates":{"x":{"sum":["$name"]}}}`, `{"aggregates":{"x":{"sum":[]}}}`,
		`{"aggregates":{"x":{"median":["$age"]}}}`, `{"aggregates":{"x":{"sum":["$staff.age"]}}}`, `{"fields":{"x":"$age"},"aggregates":{"x":{"count":[]}}}`, `{"fields":{"x":"$age"},"to":"y"}`,
		`{"fields":{"x":"$age"},"sort":{"y":1}}`, `{"fields":{"x":"$age"},"count":-1}`, `{"fields":{"x":"$age"},"filter":{"nosuch":1}}`, `{"fields":{"x":"$nosuch"}}`, `{"fields":{"x":{"nosuch":[]}}}`,
	} {
		_, err := query.ParseAggregation(s.person, storetest.DecodeJSON(t, aggregation), storetest.Now)
		if engine.CodeOf(err) != engine.Invalid {
			t.Errorf("%s: got %v, want code Invalid", aggregation, err)
		}
	}
}
