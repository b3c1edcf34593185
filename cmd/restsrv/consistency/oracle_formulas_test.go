package consistency

import (
	"restsrv/cmd/restsrv/oracle"
)

// oracleFormulas are the formulas of testdata/oracle/deploy.json, written in Go, so that the
// model does not depend on the compiler of formulas.
var oracleFormulas = map[string]func(*oracle.World, *oracle.Object) any{
	"region@m.size": func(w *oracle.World, o *oracle.Object) any { return int64(len(oracleMembers(w, o, "towns"))) },
	"region@m.crowd": func(w *oracle.World, o *oracle.Object) any {
		return oracleSum(w, oracleMembers(w, o, "towns"), "crowd")
	},
	"region@m.motto": func(w *oracle.World, o *oracle.Object) any {
		id, _ := o.Values["capital"].(string)
		if capital := w.Object(w.Class("town@m"), id); capital != nil && capital.Values["title"] != nil {
			return capital.Values["title"].(string) + "!"
		}
		return "!"
	},
	"town@m.crowd": func(w *oracle.World, o *oracle.Object) any { return int64(len(oracleMembers(w, o, "people"))) },
	"town@m.label": func(_ *oracle.World, o *oracle.Object) any { return "T-" + o.ID() },
	"worker@m.pay": func(_ *oracle.World, o *oracle.Object) any {
		salary, _ := o.Values["salary"].(int64)
		return salary + 1
	},
	"stay@m.first": func(w *oracle.World, o *oracle.Object) any {
		id, _ := o.Values["seat"].(string)
		if w.Object(w.Class("seat@m"), id) == nil {
			return nil
		}
		return id
	},
	"bill@m.serial": func(w *oracle.World, _ *oracle.Object) any { return w.Next("bills") },
	"bill@m.total": func(w *oracle.World, o *oracle.Object) any {
		return oracleSum(w, oracleMembers(w, o, "stamps"), "weight")
	},
	"bill@m.verdict": func(w *oracle.World, o *oracle.Object) any {
		if oracleSum(w, oracleMembers(w, o, "stamps"), "weight") > 10 {
			return "big"
		}
		return "small"
	},
}

// oracleWorkflows describes the files in testdata/oracle/workflows.
var oracleWorkflows = []oracle.Workflow{{
	Name: "pay@m", Caption: "Pay", Class: "bill@m", Start: "new",
	States: []oracle.State{
		{Name: "new", Caption: "New"},
		{Name: "sent", Caption: "Sent", Holds: func(_ *oracle.World, o *oracle.Object) bool { return o.Values["paid"] == false }},
		{Name: "done", Caption: "Done", Holds: func(_ *oracle.World, o *oracle.Object) bool { return o.Values["paid"] == true }},
	},
	Transitions: []oracle.Transition{
		{Name: "send", Caption: "Send it", From: "new", To: "sent", Assign: oracleAssign("payer", "p1")},
		{Name: "close", Caption: "Close it", From: "sent", To: "done", Assign: oracleAssign("paid", true),
			Holds: func(w *oracle.World, o *oracle.Object) bool {
				return oracleSum(w, oracleMembers(w, o, "stamps"), "weight") > 5
			}},
		{Name: "void", Caption: "Void it", From: "sent", To: "done", Assign: oracleAssign()},
		{Name: "reopen", Caption: "Reopen it", From: "done", To: "new", Assign: oracleAssign("next", nil)},
	},
}}

func oracleAssign(values ...any) func(*oracle.World, *oracle.Object) oracle.Fields {
	return func(*oracle.World, *oracle.Object) oracle.Fields { return oracle.JSON(values...) }
}

func oracleMembers(w *oracle.World, o *oracle.Object, collection string) []*oracle.Object {
	return w.Members(o, o.Class.Property(collection))
}

func oracleSum(w *oracle.World, objects []*oracle.Object, attribute string) (sum int64) {
	for _, o := range objects {
		n, _ := w.Value(o, o.Class.Property(attribute)).(int64)
		sum += n
	}
	return sum
}
