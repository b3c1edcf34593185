package security

import (
	"fmt"
	"net/url"
	"strings"
)

// listProbe returns a request for a list with a parameter.
func listProbe(via, method, service, class, parameters string) probe {
	return probe{via: via, method: method, target: service + class + "?_count=50&" + parameters}
}

func call(via string, method ...any) probe {
	return probe{via: via, method: "POST", target: "/rest/probe", body: jsonText(map[string]any{"call": method})}
}

// filterPaths are all requests with a filter. The test tries every form only with the first one.
var filterPaths = []func(s subject, filter string) probe{
	func(s subject, f string) probe {
		return listProbe("GET list _filter", "GET", "/rest/crud/", s.class, "_total=1&_filter="+url.QueryEscape(f))
	},
	func(s subject, f string) probe {
		return listProbe("HEAD list", "HEAD", "/rest/crud/", s.class, "_total=1&_filter="+url.QueryEscape(f))
	},
	func(s subject, f string) probe {
		return listProbe("list by cursor", "GET", "/rest/crud/", s.class, "_after=&_sort=-id&_filter="+url.QueryEscape(f))
	},
	func(s subject, f string) probe {
		return probe{via: "SEARCH", method: "SEARCH", target: "/rest/crud/" + s.class, body: `{"filter":` + f + `,"count":50}`}
	},
	func(s subject, f string) probe {
		return probe{via: "POST _search", method: "POST", target: "/rest/crud/" + s.class + "/_search?_total=1", body: `{"filter":` + f + `}`}
	},
	func(s subject, f string) probe {
		return probe{via: "POST as SEARCH", method: "POST", target: "/rest/crud/" + s.class, body: `{"filter":` + f + `}`, header: []string{"X-HTTP-Method-Override: SEARCH"}}
	},
	func(s subject, f string) probe {
		p := listProbe("list If-None-Match", "GET", "/rest/crud/", s.class, "_fields=id&_filter="+url.QueryEscape(f))
		p.header = []string{`If-None-Match: "x", *`}
		return p
	},
	func(s subject, f string) probe {
		p := listProbe("token", "GET", "/rest/tokened/", s.class, "_total=1&_filter="+url.QueryEscape(f))
		p.header, p.blind = []string{"auth-token: {token}"}, true
		return p
	},
	func(s subject, f string) probe {
		p := listProbe("OAuth2", "GET", "/rest/bearer/", s.class, "_total=1&_filter="+url.QueryEscape(f))
		p.header, p.blind = []string{"Authorization: Bearer {bearer}"}, true
		return p
	},
	func(s subject, f string) probe {
		p := listProbe("GateWay", "GET", "/gate/rest/crud/", s.class, "_total=1&_filter="+url.QueryEscape(f))
		p.header, p.blind = []string{"Cookie: {session}"}, true
		return p
	},
	func(s subject, f string) probe {
		return call("getList", "getList", s.class, map[string]any{"filter": raw(f), "countTotal": true})
	},
	func(s subject, f string) probe {
		return call("getCount", "getCount", s.class, map[string]any{"filter": raw(f)})
	},
	func(s subject, f string) probe {
		return call("getIterator", "iterate", s.class, map[string]any{"filter": raw(f), "sort": map[string]int{"id": 1}})
	},
	func(s subject, f string) probe {
		return call("aggregate filter", "aggregate", s.class, map[string]any{"filter": raw(f), "aggregates": raw(`{"n":{"count":[]}}`)})
	},
	func(s subject, f string) probe {
		return call("aggregate condition", "aggregate", s.class, raw(`{"fields":{"x":`+f+`},"aggregates":{"n":{"count":[]}}}`))
	},
}

// pathPaths are all requests with the name of an attribute.
var pathPaths = []func(s subject, name string) probe{
	func(s subject, n string) probe {
		return listProbe("_sort", "GET", "/rest/crud/", s.class, "_sort="+url.QueryEscape(n))
	},
	func(s subject, n string) probe {
		return listProbe("_sort", "GET", "/rest/crud/", s.class, "_sort="+url.QueryEscape("-"+n+",id"))
	},
	func(s subject, n string) probe {
		return probe{via: "_after", method: "GET", target: "/rest/crud/" + s.class + "?_count=1&_after=&_sort=" + url.QueryEscape(n)}
	},
	func(s subject, n string) probe {
		return listProbe("_fields", "GET", "/rest/crud/", s.class, "_fields="+url.QueryEscape(n))
	},
	func(s subject, n string) probe {
		return probe{via: "GET one _fields", method: "GET", target: "/rest/crud/" + s.class + "/" + s.id + "?_fields=id," + url.QueryEscape(n)}
	},
	func(s subject, n string) probe {
		return listProbe("_eager", "GET", "/rest/crud/", s.class, "_eager="+url.QueryEscape(n))
	},
	func(s subject, n string) probe {
		return probe{via: "GET one _eager", method: "GET", target: "/rest/crud/" + s.class + "/" + s.id + "?_eager=" + url.QueryEscape(n)}
	},
	func(s subject, n string) probe {
		return probe{via: "GET one _eager", method: "HEAD", target: "/rest/crud/" + s.class + "/" + s.id + "?_eager[]=" + url.QueryEscape(n)}
	},
	func(s subject, n string) probe {
		return probe{via: "GET one parameter", method: "GET", target: "/rest/crud/" + s.class + "/" + s.id + "?" + url.QueryEscape(n) + "=1", blind: true}
	},
	func(s subject, n string) probe {
		return probe{via: "SEARCH sort", method: "SEARCH", target: "/rest/crud/" + s.class, body: `{"sort":{"` + n + `":-1}}`}
	},
	func(s subject, n string) probe {
		return probe{via: "SEARCH sort", method: "SEARCH", target: "/rest/crud/" + s.class, body: `{"sort":[{"property":"` + n + `","mode":1}]}`}
	},
	func(s subject, n string) probe {
		return probe{via: "forceEnrichment", method: "SEARCH", target: "/rest/crud/" + s.class, body: `{"forceEnrichment":[["` + strings.ReplaceAll(n, ".", `","`) + `"]]}`}
	},
	func(s subject, n string) probe {
		return probe{via: "forceEnrichment", method: "SEARCH", target: "/rest/crud/" + s.class, body: `{"forceEnrichment":["` + n + `"],"nestingDepth":2}`}
	},
	func(s subject, n string) probe {
		return call("getItem forceEnrichment", "getItem", s.class, s.id, map[string]any{"forceEnrichment": raw(`["` + n + `"]`)})
	},
	func(s subject, n string) probe {
		return call("item.get", "read", map[string]any{"item": raw(`["` + s.class + `","` + s.id + `",{"nestingDepth":2}]`)}, n)
	},
	func(s subject, n string) probe {
		p := call("metaRepo", "meta", s.class, n)
		p.blind = true
		return p
	},
	func(s subject, n string) probe {
		return call("getList sort", "getList", s.class, map[string]any{"sort": map[string]int{n: -1}})
	},
	func(s subject, n string) probe {
		return call("aggregate fields", "aggregate", s.class, raw(`{"fields":{"x":"$`+n+`"}}`))
	},
	func(s subject, n string) probe {
		return call("aggregate fields", "aggregate", s.class, raw(`{"fields":{"x":{"concat":["$`+n+`","!"]}},"aggregates":{"n":{"count":[]}},"sort":{"x":-1},"distinct":true}`))
	},
	func(s subject, n string) probe {
		return call("aggregate functions", "aggregate", s.class, raw(`{"aggregates":{"x":{"max":["$`+n+`"]},"y":{"min":["$`+n+`"]},"z":{"count":["$`+n+`"]}}}`))
	},
	func(s subject, n string) probe {
		return call("aggregate functions", "aggregate", s.class, raw(`{"aggregates":{"x":{"sum":["$`+n+`"]},"y":{"avg":[{"ifnull":["$`+n+`",0]}]}}}`))
	},
	func(s subject, n string) probe {
		return call("getAssociationsList", "getAssociationsList", map[string]any{"item": []string{s.class, s.id}}, n)
	},
	func(s subject, n string) probe {
		return call("getAssociationsCount", "getAssociationsCount", map[string]any{"item": []string{s.class, s.id}}, n)
	},
	func(s subject, n string) probe {
		p := probe{via: "string-list", method: "POST", target: "/rest/strings", body: jsonText(map[string]any{n: "alpha"})}
		p.blind = s.class != "person@m"
		return p
	},
}

type raw string

// MarshalJSON returns the text unchanged.
func (r raw) MarshalJSON() ([]byte, error) { return []byte(r), nil }

// readingProbes returns all requests that only read. If thin is set, it leaves out most forms of
// filters, because the server parses them before it uses a database.
func readingProbes(thin bool) (all []probe) {
	add := func(name string, p probe) {
		p.name = name
		all = append(all, p)
	}
	eachName(func(s subject, name, plain string) {
		for i, path := range filterPaths {
			for j, form := range filterForms {
				if i == 0 && !(thin && j%4 != 0) || j < carriers || everyForm {
					add(name, path(s, filterOf(form, name)))
				}
			}
		}
		for _, path := range pathPaths {
			add(name, path(s, plain))
		}
		for _, form := range parameterForms {
			add(name, listProbe("list parameter", "GET", "/rest/crud/", s.class, "_total=1&"+strings.ReplaceAll(form, "X", url.QueryEscape(plain))))
			strict := listProbe("strict parameter", "GET", "/rest/crud/", s.class, strings.ReplaceAll(form, "X", url.QueryEscape(plain)))
			strict.header = []string{"Prefer: handling=strict"}
			add(name, strict)
		}
	})
	for _, p := range plainProbes() {
		add("", p)
	}
	return all
}

// plainProbes returns requests that mention no hidden name. Their answers must not contain one.
func plainProbes() (all []probe) {
	get := func(via, target string, header ...string) {
		all = append(all, probe{via: via, method: "GET", target: target, header: header}, probe{via: via, method: "HEAD", target: target, header: header})
	}
	for _, s := range subjects {
		at := "/rest/crud/" + s.class
		for _, order := range []string{"", "&_offset=1", "&_offset=2&_count=1", "&_total=1", "&_search=alpha", "&_search=beta", "&_search=same", "&_search=al*", "&_eager=boss|staff|notes|team|grants|likes|people|author"} {
			get("GET list", at+"?_sort=id"+order)
		}
		for _, words := range []string{"alpha", "same", "same+alpha", "alpha+beta", "one+two"} { // in the order of the search results
			get("_search", at+"?_total=1&_search="+words)
			get("_search", at+"?_after=&_count=1&_search="+words)
		}
		get("GET list", at, `If-None-Match: *`)
		all = append(all, call("getList", "getList", s.class, raw(`{"nestingDepth":2}`)), call("getCount", "getCount", s.class),
			call("iterate", "iterate", s.class, raw(`{"sort":{"id":1}}`)), call("getAssociations", "getAssociationsList", raw(`{"item":["`+s.class+`","`+s.id+`"]}`), "likes", raw(`{"filter":{"nempty":["$id"]}}`)))
		for _, match := range []string{"alpha", "beta", "same"} {
			all = append(all, probe{via: "match", method: "SEARCH", target: at, body: fmt.Sprintf(`{"filter":{"not":[{"match":[%q]}]}}`, match)})
		}
	}
	// These requests read objects that exist and may not be read, objects that exist only in one
	// of the two states, and objects that may be read.
	for _, one := range []string{"person@m/p1", "person@m/p2", "person@m/p3", "person@m/p4", "person@m/p5", "person@m/p9", "manager@m/m1", "manager@m/m2", "person@m/m2", "person@m/m1",
		"note@m/n1", "note@m/n2", "note@m/n3", "note@m/n4", "note@m/n5", "secret@m/s1", "secret@m/s2", "secret@m/s3", "team@m/t1", "team@m/t9"} {
		class, id, _ := strings.Cut(one, "/")
		get("GET one", "/rest/crud/"+one)
		get("GET one", "/rest/crud/"+one+"/")
		get("GET one conditional", "/rest/crud/"+one, `If-None-Match: *`)
		get("GET one conditional", "/rest/crud/"+one, `If-None-Match: "x"`)
		all = append(all, call("getItem", "getItem", class, id, raw(`{"nestingDepth":3}`)), call("getItem wrapped", "getList", raw(`{"item":["`+class+`","`+id+`"]}`)))
	}
	for _, file := range []string{"/files/{report}", "/files/{photo}", "/files/{report}/x", "/files/thumb/{report}", "/files/00000000-0000-0000-0000-000000000000"} {
		get("files", file)
		get("files", file, "Range: bytes=0-1")
		get("files", file, "If-None-Match: *")
	}
	return all
}

// writingProbes returns writes that ann may try. Permitted writes set the values that the objects
// already have, so that the answers of the two rounds can be compared.
func writingProbes() (all []probe) {
	add := func(name, via, method, target, body string, header ...string) {
		all = append(all, probe{via: via, name: name, method: method, target: target, body: body, header: header})
	}
	for _, name := range []string{"[salary]", "[Salary]", "[remark]", "[income]", "[report]", "passport$[number]", "passport.[number]", "boss.[salary]", "team.[budget]", "[grants]", "boss.name", "vault.code", "staff"} {
		plain := strings.NewReplacer("[", "", "]", "").Replace(name)
		for _, value := range valueForms {
			if name == "staff" && value != `["n3"]` { // ann may change her own staff
				continue
			}
			member := fmt.Sprintf(`%q:%s`, plain, value)
			add(name, "PATCH", "PATCH", "/rest/crud/person@m/p1", `{"name":"Ann",`+member+`}`)
			add(name, "PATCH strict", "PATCH", "/rest/crud/person@m/p1", `{"name":"Ann",`+member+`}`, "Prefer: handling=strict")
			add(name, "PUT", "PUT", "/rest/crud/person@m/p1?_eager=boss", `{`+member+`}`)
			add(name, "POST denied", "POST", "/rest/crud/person@m", `{"id":"w1",`+member+`}`)
			add(name, "PATCH denied", "PATCH", "/rest/crud/person@m/p3", `{`+member+`}`)
			add(name, "PATCH nested", "PATCH", "/rest/crud/note@m/n1", `{"author":{"_id":"p1",`+member+`}}`)
			add(name, "POST nested", "POST", "/rest/crud/note@m", `{"id":"w1","owner":"ann@local","author":{"_id":"p1",`+member+`}}`)
			add(name, "acceptor", "POST", "/rest/acceptor", `[{"_class":"person@m","_id":"p1","name":"Ann",`+member+`}]`)
			add(name, "acceptor nested", "POST", "/rest/acceptor", `[{"_class":"note@m","_id":"n1","author":{"_id":"p1",`+member+`}}]`)
			for _, method := range []string{"editItem", "saveItem"} {
				p := call(method, method, "person@m", "p1", raw(`{`+member+`}`))
				add(name, p.via, p.method, p.target, p.body)
			}
			p := call("createItem", "createItem", "note@m", raw(`{"id":"w1","owner":"ann@local","author":{"_id":"p1",`+member+`}}`))
			add(name, p.via, p.method, p.target, p.body)
			p = call("bulkEdit", "bulkEdit", "person@m", raw(`{"title":"same",`+member+`}`), raw(`{"filter":{"id":"p1"}}`))
			add(name, p.via, p.method, p.target, p.body)
		}
		for j, form := range filterForms {
			if j >= carriers && name != "[salary]" && !everyForm {
				break
			}
			p := call("bulkEdit filter", "bulkEdit", "person@m", raw(`{"title":"same"}`), raw(`{"filter":`+filterOf(form, name)+`}`))
			add(name, p.via, p.method, p.target, p.body)
			p = call("bulkDelete filter", "bulkDelete", "person@m", raw(`{"filter":`+filterOf(form, name)+`}`))
			add(name, p.via, p.method, p.target, p.body)
		}
	}
	return append(all, writesOfRows()...)
}

// writesOfRows returns writes that mention items that ann may not read.
func writesOfRows() (all []probe) {
	add := func(via, method, target, body string, header ...string) {
		all = append(all, probe{via: via, method: method, target: target, body: body, header: header})
	}
	for _, id := range []string{"p3", "p4", "p5", "p9", "m2"} {
		one := "/rest/crud/person@m/" + id
		for _, header := range []string{"X-Nothing: 1", "If-Match: *", `If-Match: "x"`, "If-None-Match: *", "Prefer: handling=strict"} {
			add("PATCH row", "PATCH", one, `{"name":"x"}`, header)
			add("PUT row", "PUT", one, `{"name":1}`, header)
			add("DELETE row", "DELETE", one, "", header)
		}
		add("POST as PATCH", "POST", one, `{"name":"x"}`, "X-HTTP-Method-Override: PATCH")
		for _, body := range []string{`{"author":%q}`, `{"author":{"_id":%q}}`, `{"author":{"_id":%q,"name":"x"}}`, `{"author":{"id":%q,"rank":1}}`} {
			body = fmt.Sprintf(body, id)
			add("reference to row", "PATCH", "/rest/crud/note@m/n1", body)
			add("reference to row", "POST", "/rest/crud/note@m", `{"id":"w1","owner":"ann@local",`+body[1:])
			add("acceptor to row", "POST", "/rest/acceptor", `[{"_class":"note@m","_id":"n1",`+body[1:]+`]`)
		}
		for _, body := range []string{`{"staff":{"add":[%q]}}`, `{"staff":{"remove":[%q]}}`, `{"staff":[%q,"p2"]}`, `{"staff":{"add":[{"_id":%q,"name":"x"}]}}`} {
			add("collection of rows", "PATCH", "/rest/crud/person@m/p1", fmt.Sprintf(body, id))
		}
		add("acceptor row", "POST", "/rest/acceptor", fmt.Sprintf(`[{"_class":"person@m","_id":%q,"name":"x"}]`, id))
		for _, p := range []probe{call("script row", "editItem", "person@m", id, raw(`{"name":"x"}`)), call("script row", "saveItem", "person@m", id, raw(`{"name":"x"}`)),
			call("script row", "deleteItem", "person@m", id), call("script row", "put", raw(`{"item":["person@m","p1"]}`), "staff", []string{id}),
			call("script row", "eject", raw(`{"item":["person@m","p1"]}`), "staff", []string{id}), call("script row", "createItem", "person@m", raw(fmt.Sprintf(`{"id":%q}`, id)))} {
			add(p.via, p.method, p.target, p.body)
		}
	}
	// ann may use notes, so she can find out which notes exist, but may not learn their contents.
	for _, id := range []string{"n3", "n9"} {
		for _, body := range []string{`{"likes":{"add":[%q]}}`, `{"likes":{"remove":[%q]}}`, `{"notes":{"add":[%q]}}`} {
			add("collection of rows", "PATCH", "/rest/crud/person@m/p1", fmt.Sprintf(body, id))
		}
		add("PATCH row", "PATCH", "/rest/crud/note@m/"+id, `{"title":"x"}`)
	}
	for _, id := range []string{"s1", "s2", "s3", "s9"} {
		add("reference to row", "PATCH", "/rest/crud/person@m/p1", fmt.Sprintf(`{"vault":%q}`, id))
		add("acceptor row", "POST", "/rest/acceptor", fmt.Sprintf(`[{"_class":"person@m","_id":"p2"},{"_class":"secret@m","_id":%q,"code":1}]`, id))
	}
	for _, header := range []string{"If-Match: *", `If-Match: "x"`, "If-None-Match: *"} {
		add("If-Match", "PATCH", "/rest/crud/person@m/p1", `{"name":"Ann"}`, header)
	}
	add("file of another", "PATCH", "/rest/crud/person@m/p2", `{"photo":{"id":"{report}"}}`)
	return all
}
