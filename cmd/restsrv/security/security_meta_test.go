package security

import (
	"encoding/json"
	"net/http"
	"regexp"
)

// shownFiles are the presentation files of the application. They mention every hidden attribute.
var shownFiles = map[string]string{
	"navigation/main.section.json": `{"name": "main", "caption": "Main"}`,
	"navigation/main/rich.json":    `{"code": "rich", "type": 1, "classname": "person", "conditions": {"gt": ["$salary", 5]}, "sorting": [{"property": "remark"}, {"property": "name"}]}`,
	"navigation/main/rich.up.json": `{"code": "rich.up", "type": 1, "classname": "manager", "conditions": {"gt": ["$boss.reward", 5]}}`,
	"views/person/list.json":       `{"columns": [{"property": "name"}, {"property": "salary"}, {"property": "passport$number"}, {"property": "team.budget"}, {"property": "staff", "columns": [{"property": "income"}]}], "styles": {"red": "$salary > 5"}}`,
	"views/person/item.json":       `{"tabs": [{"caption": "", "fullFields": [{"property": "report"}, {"property": "name", "visibility": {"nempty": ["$remark"]}}, {"property": "notes", "fields": [{"property": "cipher"}]}]}]}`,
	"views/manager/create.json":    `{"tabs": [{"fullFields": [{"property": "reward"}, {"property": "grants"}, {"property": "car"}]}]}`,
	"workflows/raise.wf.json": `{"name": "raise", "wfClass": "person", "startState": "low", "states": [{"name": "low", "conditions": {"lt": ["$salary", 5]}, "propertyPermissions": [{"property": "salary", "permissions": 1}]}],
		"transitions": [{"name": "up", "startState": "low", "finishState": "low", "assignments": [{"key": "salary", "value": "$team.budget"}]}]}`,
	"wfviews/raise/low/person.json": `{"tabs": [{"fullFields": [{"property": "passport.number"}, {"property": "rank"}]}]}`,
}

var hiddenWords = regexp.MustCompile(`\b(salary|remark|income|report|number|grants|reward|budget|cipher)\b`)

// metaTells checks that no answer of the service meta contains hidden names, and that the answers
// contain everything else.
func (w *secretWorld) metaTells(account string) {
	targets := []string{"listMeta", "listMeta?ancestor=person@m", "ancestor/manager@m", "getNavigationSections", "getNavigationSection/main", "getNode/rich", "getNodes/main",
		"getWorkflow/person@m/raise", "getWorkflowView/person@m/raise/low", "getDetailViewModel/manager@m", "getCreationViewModel/manager@m", "getWorkflows/manager@m"}
	for _, s := range subjects[:4] {
		targets = append(targets, "getMeta/"+s.class, "propertyMetas/"+s.class)
	}
	for _, method := range []string{"getListViewModel", "getCollectionViewModel", "getItemViewModel"} {
		targets = append(targets, method+"/person@m?node=rich&collection=grants", method+"/manager@m")
	}
	for _, target := range targets {
		p := probe{method: "GET", target: "/rest/meta/" + target}
		resp, told := w.do(w.request(p, account))
		_, all := w.do(w.request(p, "admin@local"))
		if resp.StatusCode != http.StatusOK || !json.Valid([]byte(told)) {
			w.Errorf("%v as %s: got %d %s, want 200 and JSON", p, account, resp.StatusCode, told)
		}
		if said := hiddenWords.FindAllString(told, -1); said != nil {
			w.Errorf("LEAK: %v as %s: the response contains %v:\n%s", p, account, said, told)
		}
		if !hiddenWords.MatchString(all) {
			w.Errorf("%v as the administrator: got no hidden words, want some: %s", p, all)
		}
	}
}
