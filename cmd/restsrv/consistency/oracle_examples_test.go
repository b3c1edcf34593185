package consistency

import (
	"math"
	"testing"

	"restsrv/cmd/restsrv/oracle"
)

// oracleExamples are sequences of requests to which servers once gave wrong answers.
var oracleExamples = map[string][]oracle.Request{
	"a later record wins over a collection of an earlier one": {
		accepted(oracle.JSON("_class", "region@m", "id", "r1"), oracle.JSON("_class", "region@m", "id", "r3", "towns", []any{"t1"}), oracle.JSON("_class", "town@m", "id", "t1", "region", "r1")),
		accepted(oracle.JSON("_class", "region@m", "_id", "r3", "towns", []any{"t1"}), oracle.JSON("_class", "town@m", "_id", "t1", "region", "r1")),
	},
	"a later record wins over a nested object of an earlier one": {
		accepted(oracle.JSON("_class", "region@m", "id", "r1"), oracle.JSON("_class", "town@m", "id", "t1")),
		accepted(oracle.JSON("_class", "region@m", "_id", "r1", "towns", []any{oracle.JSON("_id", "t1", "title", "first")}), oracle.JSON("_class", "town@m", "_id", "t1", "title", "second")),
	},
	"a collection wins over an earlier record, whose answer has it": {
		accepted(oracle.JSON("_class", "region@m", "id", "r1"), oracle.JSON("_class", "town@m", "id", "t1")),
		accepted(oracle.JSON("_class", "town@m", "_id", "t1", "region", nil), oracle.JSON("_class", "region@m", "_id", "r1", "towns", []any{"t1"})),
	},
	"parts of a key are compared, and not the text that they make": {
		created("seat@m", "row", "c", "place", "1_d", "colour", "red"),
		accepted(oracle.JSON("_class", "seat@m", "row", "c_1", "place", "d", "colour", "blue")),
		read("seat@m", "c_1_d"),
	},
	"a record of an ancestor class leaves an object its class": {
		created("worker@m", "id", "p1", "name", "Ann", "salary", int64(9)),
		accepted(oracle.JSON("_class", "person@m", "_id", "p1", "name", "Bo")),
		read("person@m", "p1"),
	},
	"a strict reference to a former id dangles": {
		created("seat@m", "row", "b", "place", "1"),
		{Service: "acceptor", Method: "POST", Strict: true, Body: []any{
			oracle.JSON("_class", "seat@m", "_id", "b_1", "row", "a", "place", "1"), oracle.JSON("_class", "stay@m", "guest", "p1", "day", int64(1), "seat", "b_1")}},
		{Service: "acceptor", Method: "POST", Strict: true, Body: []any{
			oracle.JSON("_class", "person@m", "id", "p1", "name", "Ann"),
			oracle.JSON("_class", "seat@m", "_id", "b_1", "row", "a", "place", "1"), oracle.JSON("_class", "stay@m", "guest", "p1", "day", int64(1), "seat", "b_1")}},
	},
	"the place of a member counts more than an object in its reference": {
		accepted(oracle.JSON("_class", "region@m", "id", "r1", "towns", []any{oracle.JSON("id", "t1", "region", oracle.JSON("id", "r2", "title", "other"))})),
		read("region@m", "r2"),
	},
	"a reference that an object keeps may dangle in a strict change of its class": {
		created("person@m", "id", "p1", "name", "Ann", "town", "t9"),
		{Service: "acceptor", Method: "POST", Strict: true, Body: []any{oracle.JSON("_class", "worker@m", "_id", "p1", "salary", int64(5))}},
	},
	"the greatest number does not end a counter": {
		created("bill@m", "no", int64(math.MaxInt64)),
		created("bill@m"),
		created("bill@m"),
	},
	"the former id in a collection is the object itself": {
		created("person@m", "id", "p1", "name", "Ann"),
		{Service: "crud", Method: "PATCH", Class: "person@m", ID: "p1", Eager: "friends", Body: oracle.JSON("id", "p2", "friends", []any{"p1"})},
		created("person@m", "id", "p1", "name", "Bo"),
	},
}

func accepted(records ...any) oracle.Request {
	return oracle.Request{Service: "acceptor", Method: "POST", Body: records}
}

func created(class string, values ...any) oracle.Request {
	return oracle.Request{Service: "crud", Method: "POST", Class: class, Body: oracle.JSON(values...)}
}

func read(class, id string) oracle.Request {
	return oracle.Request{Service: "crud", Method: "GET", Class: class, ID: id}
}

// TestOracleExamples compares the answers to the examples with the model.
func TestOracleExamples(t *testing.T) {
	t.Parallel()
	classes := oracleClasses(t)
	for name, requests := range oracleExamples {
		t.Run(name, func(t *testing.T) {
			for i := range requests {
				requests[i].Number = i + 1
			}
			if difference := replayOracle(t, oracleRun{classes: classes}, requests); difference != "" {
				t.Error(difference)
			}
		})
	}
}
