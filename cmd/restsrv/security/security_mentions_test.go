package security

import (
	"encoding/json"
	"os"
	"strings"
)

// subject is a class and an item of the class that ann may read. names are the attributes that
// requests mention; hidden attributes are in brackets. If a request mentions only hidden names,
// its answer must be the same as for an unknown name.
type subject struct{ class, id, names string }

var subjects = []subject{
	{"person@m", "p1", "[salary] [Salary] [SALARY] [remark] [income] [report] [report].size [report].name [report]_str [salary]_str passport$[number] passport.[number] " +
		"boss.[salary] boss.passport$[number] boss.passport.[number] boss.[income] boss.boss.[salary] boss.[Salary] team.[budget] team.people.[salary] staff.[salary] staff.passport.[number] " +
		"notes.[cipher] [grants] [grants].title [grants].author.name likes.[cipher] " +
		"boss.name boss.rank boss.title boss boss.id staff staff.name staff.rank staff.id notes notes.title vault vault.code vault.id likes likes.title likes.id team.people team.people.rank photo.size"},
	{"note@m", "n1", "[cipher] [CIPHER] author.[salary] author.passport$[number] author.team.[budget] author.[grants] author.staff.[salary] author author.name author.rank authorName author.staff author.staff.rank"},
	{"manager@m", "m1", "[reward] [Reward] [salary] boss.[salary] passport.[number] team.[budget] boss.name boss.rank"},
	{"team@m", "t1", "[budget] people.[salary] people.passport$[number] people people.name people.rank people.boss.name"},
	{"secret@m", "s1", "code id"},
}

// filterForms are the ways to mention the name X in a condition. The test tries the first few
// forms on every path and with every name.
var filterForms = []string{
	`{"gt":["$X",150]}`,
	`{"not":[{"eq":["$X","alpha"]}]}`,
	`{"X":{"$in":["alpha",100]}}`,
	`{"nempty":["$X"]}`,
	`IN`, // stands for a condition on the object or the members to which the name leads
	`{"eq":["$X","alpha"]}`, `{"ne":["$X",100]}`, `{"lt":[150,"$X"]}`, `{"lte":["$X","$X"]}`, `{"in":["$X",[100,900]]}`, `{"like":["$X","ALPH"]}`, `{"empty":["$X"]}`, `{"contains":["$X","alpha"]}`,
	`{"and":[{"nempty":["$id"]},{"eq":["$X",100]}]}`, `{"or":[{"eq":["$id","p2"]},{"eq":["$X",100]}]}`, `{"or":[{"nempty":["$id"]},{"eq":["$X",100]}]}`, `{"and":[{"empty":["$id"]},{"eq":["$X",100]}]}`,
	`{"eq":[{"concat":["a","$X"]},"aalpha"]}`, `{"eq":[{"concat":[{"concat":["$id","$X"]}]},"p1100"]}`, `{"gt":[{"size":["$X"]},0]}`, `{"eq":[{"size":["$X"]},{"size":["$X",{"nempty":["$id"]}]}]}`,
	`{"gt":[{"round":["$X",1]},150]}`, `{"gt":[{"abs":["$X"]},150]}`, `{"gt":[{"add":["$X",1]},150]}`, `{"gt":[{"sub":["$X",1]},150]}`, `{"gt":[{"mul":["$X",2]},150]}`, `{"gt":[{"div":["$X",2]},150]}`, `{"eq":[{"mod":["$X",7]},2]}`,
	`{"eq":[{"upper":["$X"]},"ALPHA"]}`, `{"eq":[{"lower":["$X"]},"alpha"]}`, `{"eq":[{"substr":["$X",0,2]},"al"]}`, `{"eq":[{"if":[{"gt":["$X",150]},1,2]},1]}`, `{"eq":[{"if":[true,"$X",2]},100]}`,
	`{"gt":[{"ifnull":["$X",500]},150]}`, `{"eq":[{"format":["$X","0"]},"100"]}`, `{"eq":[{"year":["$X"]},2020]}`, `{"gt":[{"dateAdd":["$X",1,"day"]},{"now":[]}]}`, `{"gt":[{"dateDiff":["day","$X",{"now":[]}]},0]}`,
	`{"geoWithin":["$X",{"type":"Point","coordinates":[1,1]}]}`, `{"match":["$X","alpha"]}`, `{"match":["alpha"]}`, `{"eq":[{"literal":["$X"]},"$X"]}`,
	`{"X":100}`, `{"X":"alpha"}`, `{"X":null}`, `{"X":["alpha",100]}`, `{"X":{"0":"alpha"}}`, `{"X":{"length":1,"0":100}}`, `{"X":{"$gt":150}}`, `{"X":{"$ne":null}}`, `{"X":{"$nin":[100]}}`, `{"X":{"$not":{"$gt":150}}}`, `{"X":{"$regex":"^al"}}`,
	`{"X":{"$exists":true}}`, `{"X":{"$empty":false}}`, `{"X":{"$elemMatch":{"id":"n1"}}}`, `{"X":{"$size":1}}`, `{"$or":[{"id":"p2"},{"X":100}]}`, `{"$nor":[{"X":100}]}`, `{"$and":[{"X":{"$exists":true}},{"id":"p1"}]}`, `{"$expr":{"$gt":["$X",150]}}`,
	`{"id":"$X"}`, `{"id":{"$ne":"$X"}}`, `{"$X":{"$gt":1}}`, `{"$where":"this.X"}`, `{"$text":{"$search":"alpha"}}`,
	`[{"property":"X","operation":6,"value":["150"]}]`, `[{"property":"X","operation":3}]`, `[{"property":null,"operation":2,"nestedConditions":[{"property":"X","operation":0,"value":["alpha"]}]}]`,
	`[{"property":"id","operation":0,"nestedConditions":[{"property":"X","operation":0}]}]`, `{"gt":[{"count":["$X"]},0]}`, `{"sum":["$X"]}`, `{"eq":["$X.id","n1"]}`, `{"eq":["$X.__string","alpha"]}`, `{"eq":["$X.__class","note@m"]}`, `{"eq":["$$X",1]}`, `{"eq":["$X."," "]}`,
}

const carriers = 5

// parameterForms are the ways to mention the name X in a query string, and valueForms in a body.
var parameterForms = []string{`X=100`, `X=alpha`, `X=`, `X=100&X=200`, `X[]=100`, `X[$gt]=150`, `X[0]=100`, `%24X=100`, `-X=1`, `X!=100`, `X.id=n1`, `X$=1`}

var valueForms = []string{`5`, `"alpha"`, `null`, `[]`, `{}`, `{"add":["n1"]}`, `{"_id":"n1"}`, `{"id":"{report}"}`, `{"$inc":1}`, `["n3"]`}

func filterOf(form, name string) string {
	if form != "IN" {
		return strings.ReplaceAll(form, "X", strings.NewReplacer("[", "", "]", "").Replace(name))
	}
	plain := strings.NewReplacer("[", "", "]", "").Replace(name)
	at := strings.LastIndex(plain, ".")
	if at < 0 {
		return `{"contains":["$` + plain + `",{"nempty":["$id"]}]}`
	}
	return `{"contains":["$` + plain[:at] + `",{"or":[{"gt":["$` + plain[at+1:] + `",150]},{"eq":["$` + plain[at+1:] + `","alpha"]}]}]}`
}

// eachName calls do for all names of all subjects.
func eachName(do func(s subject, name, plain string)) {
	for _, s := range subjects {
		for _, name := range strings.Fields(s.names) {
			do(s, name, strings.NewReplacer("[", "", "]", "").Replace(name))
		}
	}
}

func jsonText(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// everyForm is set if the test tries all forms on all paths, as in .ci/long.
var everyForm = os.Getenv("RESTSRV_LONG") != ""
