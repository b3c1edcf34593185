package security

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/engine"
)

const gateRequests = 20 // of each account

// asker generates the requests of one account.
type asker struct {
	*gateMaker
	account int
	made    int // number of new ids and unique values so far
}

func (m *gateMaker) requests(account int) {
	a := &asker{gateMaker: m, account: account}
	kinds := []struct {
		below int // percentage of requests of this kind and of the kinds before it
		make  func() gateRequest
	}{{12, a.one}, {37, a.list}, {47, a.search}, {65, a.call}, {80, a.change}, {87, a.create}, {91, a.remove}, {96, a.batch}, {98, a.file}, {100, a.describe}}
	all := make([]gateRequest, 0, gateRequests)
	for range gateRequests {
		n, i := m.IntN(100), 0
		for n >= kinds[i].below {
			i++
		}
		all = append(all, kinds[i].make())
	}
	all = append(all, m.probes(account)...)
	// A request that claims a key may succeed in only one of the copies. After such a request the
	// copies differ, so these requests come last.
	slices.SortStableFunc(all, func(x, y gateRequest) int { return after(x.Claims) - after(y.Claims) })
	w := m.world
	last := slices.IndexFunc(all, func(r gateRequest) bool { return r.Claims })
	if last < 0 {
		last = len(all)
	}
	var looks []gateRequest // lists of all objects after the changes
	for _, c := range w.Classes {
		looks = append(looks, gateRequest{Method: "GET", Target: "/rest/crud/" + c.Name + "@§?_count=1000&_total=1&_eager=" + a.eager(c)})
	}
	looks = append(looks, gateRequest{Method: "GET", Target: "/rest/crud/log@§?_count=1000&_total=1"})
	w.Requests[account] = slices.Concat(all[:last], looks, all[last:])
}

func after(claims bool) int {
	if claims {
		return 1
	}
	return 0
}

func (a *asker) class() *gateClass { return pick(a.gateMaker, a.world.Classes...) }

// describe requests the definition of a class.
func (a *asker) describe() gateRequest {
	return gateRequest{Method: "GET", Target: "/rest/meta/getMeta/" + a.class().Name + "@§"}
}

// object picks a class and the id of an object, which the account may or may not be allowed to
// read. Sometimes the class is an ancestor of the object's class or an unrelated class, or the id
// does not exist.
func (a *asker) object() (*gateClass, string) {
	if len(a.world.Rows) == 0 || a.chance(4) {
		return a.class(), "missing"
	}
	row := pick(a.gateMaker, a.world.Rows...)
	if blind := a.blind(); len(blind) > 0 && a.chance(20) {
		row = pick(a.gateMaker, blind...)
	}
	c := row.Class
	if a.chance(5) {
		return a.class(), row.ID
	}
	for c.Ancestor != nil && a.chance(30) {
		c = c.Ancestor
	}
	return c, row.ID
}

// blind returns the objects that the account may change or delete, but not read.
func (a *asker) blind() (all []*gateRow) {
	for _, row := range a.world.Rows {
		if may := a.world.permissions(a.account, row); !may.Has(engine.MayRead) && may&(engine.MayWrite|engine.MayDelete) != 0 {
			all = append(all, row)
		}
	}
	return all
}

// guess sometimes adds attributes that the account may only read to a write, with their current
// values, and makes the write strict. A strict write is refused if it changes such an attribute.
func (a *asker) guess(id string, values map[string]any, r *gateRequest) {
	row := a.world.row(id)
	if row == nil || !a.chance(30) {
		return
	}
	for _, p := range row.Class.kinds("text", "number") {
		if p.Details["readonly"] == true && row.Values[p.Name] != nil {
			values[p.Name] = row.Values[p.Name]
			r.Header = []string{"Prefer: handling=strict"}
		}
	}
}

// pointable returns ids for references to a class. If objects that the account may use but not
// read are missing from the second copy, it leaves them out.
func (a *asker) pointable(c *gateClass) []string {
	ids := []string{"missing"}
	for _, row := range a.world.Rows {
		usable := a.world.permissions(a.account, row).Has(engine.MayUse)
		if row.Class.below(c) && !(usable && a.world.gone(a.account, row)) {
			ids = append(ids, row.ID)
		}
	}
	return ids
}

// eager picks paths of references and collections for _eager.
func (a *asker) eager(c *gateClass) string {
	var names []string
	for range 3 {
		if all := c.kinds("reference", "back", "many"); len(all) > 0 {
			p := pick(a.gateMaker, all...)
			name := p.Name
			if next := p.Target.kinds("reference", "back", "many"); len(next) > 0 && a.chance(50) {
				name += "." + pick(a.gateMaker, next...).Name
			}
			names = append(names, name)
		}
	}
	return strings.Join(names, "|")
}

// names picks a path for filters, _sort and _fields, and returns its last attribute.
func (a *asker) names(c *gateClass) (string, *gateProperty) {
	p := pick(a.gateMaker, c.all()...)
	if p.Kind == "file" { // compared by its id, which is random
		p = &gateProperty{Name: "id", Kind: "text"}
	}
	if p.Target != nil && a.chance(60) {
		name, last := a.names(p.Target)
		return p.Name + "." + name, last
	}
	return p.Name, p
}

// value picks a value for an attribute.
func (a *asker) value(p *gateProperty) any {
	switch {
	case p.Target != nil:
		return pick(a.gateMaker, append(a.ids(p.Target), "missing")...)
	case p.Kind == "number", p.Kind == "formula" && p.Number:
		return a.IntN(100)
	case p.Name == "owner": // another account, since the account would gain permissions
		return accountName((a.account + 1 + a.IntN(gateAccounts-1)) % gateAccounts)
	}
	return pick(a.gateMaker, gateWords...)
}

func (a *asker) one() gateRequest {
	c, id := a.object()
	r := gateRequest{Method: pick(a.gateMaker, "GET", "GET", "GET", "HEAD"), Target: "/rest/crud/" + c.Name + "@§/" + id}
	var query []string
	if eager := a.eager(c); eager != "" && a.chance(40) {
		query = append(query, "_eager="+url.QueryEscape(eager))
	}
	if a.chance(25) {
		name, _ := a.names(c)
		query = append(query, "_fields=id,"+name)
	}
	if a.chance(20) {
		r.Header = append(r.Header, "If-None-Match: "+pick(a.gateMaker, "*", `"x"`, fmt.Sprintf("{etag:%s/%s}", c.Name, id)))
	}
	r.Target += queryOf(query)
	return r
}

func queryOf(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return "?" + strings.Join(all, "&")
}

func (a *asker) list() gateRequest {
	c := a.class()
	var query []string
	add := func(often int, text func() string) {
		if a.chance(often) {
			query = append(query, text())
		}
	}
	add(30, func() string { return "_filter=" + url.QueryEscape(apptest.JSON(a.filter(c, 2))) })
	add(20, func() string { name, p := a.names(c); return name + "=" + url.QueryEscape(fmt.Sprint(a.value(p))) })
	add(35, func() string { name, _ := a.names(c); return "_sort=" + pick(a.gateMaker, "", "-") + name })
	add(15, func() string { return "_search=" + pick(a.gateMaker, gateWords...) + pick(a.gateMaker, "", "*") })
	add(25, func() string { return "_eager=" + url.QueryEscape(a.eager(c)) })
	add(15, func() string { name, _ := a.names(c); return "_fields=id," + name })
	add(40, func() string { return "_total=1" })
	add(70, func() string { return fmt.Sprintf("_count=%d", 1+a.IntN(40)) })
	add(15, func() string { return fmt.Sprintf("_offset=%d", a.IntN(5)) })
	r := gateRequest{Method: "GET", Target: "/rest/crud/" + c.Name + "@§" + queryOf(query)}
	if a.chance(15) {
		r.Target = "/rest/crud/" + c.Name + "@§{next}"
		if len(query) == 0 || a.chance(50) {
			r.Target = "/rest/crud/" + c.Name + "@§" + queryOf(append(query, "_after="))
		}
	}
	a.handling(&r)
	return r
}

func (a *asker) handling(r *gateRequest) {
	if a.chance(25) {
		r.Header = append(r.Header, "Prefer: handling=strict")
	}
}

// filter generates a filter in one of the two filter languages.
func (a *asker) filter(c *gateClass, depth int) any {
	if depth > 0 && a.chance(30) {
		op := pick(a.gateMaker, "and", "or", "not")
		if op == "not" {
			return map[string]any{"not": []any{a.filter(c, depth-1)}}
		}
		return map[string]any{op: []any{a.filter(c, depth-1), a.filter(c, depth-1)}}
	}
	name, p := a.names(c)
	v := a.value(p)
	switch a.IntN(9) {
	case 0:
		return map[string]any{name: v}
	case 1:
		return map[string]any{name: map[string]any{pick(a.gateMaker, "$ne", "$gt", "$lt"): v}}
	case 2:
		return map[string]any{pick(a.gateMaker, "empty", "nempty"): []any{"$" + name}}
	case 3:
		return map[string]any{"like": []any{"$" + name, pick(a.gateMaker, gateWords...)}}
	case 4:
		return map[string]any{"in": []any{"$" + name, []any{v, a.value(p)}}}
	case 5:
		return map[string]any{"match": []any{pick(a.gateMaker, gateWords...)}}
	case 6:
		if lists := c.kinds("back", "many"); len(lists) > 0 {
			list := pick(a.gateMaker, lists...)
			if a.chance(50) {
				return map[string]any{"contains": []any{"$" + list.Name, pick(a.gateMaker, append(a.ids(list.Target), "missing")...)}}
			}
			if depth > 0 {
				return map[string]any{"contains": []any{"$" + list.Name, a.filter(list.Target, 0)}}
			}
			return map[string]any{"gt": []any{map[string]any{"size": []any{"$" + list.Name}}, a.IntN(3)}}
		}
	case 7:
		return map[string]any{"eq": []any{map[string]any{"concat": []any{"$" + name, "!"}}, fmt.Sprint(v) + "!"}}
	}
	return map[string]any{pick(a.gateMaker, "eq", "ne", "gt", "lt", "gte", "lte"): []any{"$" + name, v}}
}

// search generates a SEARCH request, or the equivalent POST.
func (a *asker) search() gateRequest {
	c := a.class()
	body := map[string]any{"count": 1 + a.IntN(40)}
	if a.chance(70) {
		body["filter"] = a.filter(c, 2)
	}
	if a.chance(40) {
		name, _ := a.names(c)
		body["sort"] = map[string]any{name: pick(a.gateMaker, 1, -1)}
	}
	if all := c.kinds("reference", "back", "many"); len(all) > 0 && a.chance(40) {
		body["forceEnrichment"] = []any{[]any{pick(a.gateMaker, all...).Name}}
	}
	if a.chance(20) {
		body["nestingDepth"] = 1 + a.IntN(2)
	}
	r := gateRequest{Method: "SEARCH", Target: "/rest/crud/" + c.Name + "@§", Body: apptest.JSON(body)}
	if a.chance(30) {
		r.Method, r.Target = "POST", r.Target+"/_search"
	}
	return r
}

// values generates the values of a write; few makes it set fewer attributes.
func (a *asker) values(c *gateClass, few bool, depth int) map[string]any {
	values := map[string]any{}
	for _, p := range c.all() {
		if few && !a.chance(25) || !few && !a.chance(55) {
			continue
		}
		switch {
		case p.Details["unique"] == true:
			a.made++
			values[p.Name] = fmt.Sprintf("new %d %d", a.account, a.made)
		case p.Kind == "reference":
			values[p.Name] = a.pointer(p.Target, depth)
		case p.Kind == "back", p.Kind == "many":
			values[p.Name] = a.members(p, depth)
		case p.Kind == "file":
			values[p.Name] = pick(a.gateMaker, any(map[string]any{"name": "new.txt", "body": "bmV3"}), nil, a.stolen())
		case a.chance(10):
			values[p.Name] = nil
		default:
			values[p.Name] = a.value(p)
		}
	}
	return values
}

// stolen returns a reference to the file of a random object.
func (a *asker) stolen() any {
	if r := a.file(); strings.HasPrefix(r.Target, "/files/{") {
		return map[string]any{"id": strings.TrimPrefix(r.Target, "/files/")}
	}
	return nil
}

// pointer generates the value of a reference: an id, or a nested object that the
// write saves too.
func (a *asker) pointer(c *gateClass, depth int) any {
	id := pick(a.gateMaker, a.pointable(c)...)
	switch {
	case a.chance(10):
		return nil
	case depth > 0 && id != "missing" && a.chance(20):
		if row := a.world.row(id); !a.world.gone(a.account, row) || !a.creates(row.Class) && !a.creates(c) {
			nested := a.values(c, true, depth-1)
			nested[pick(a.gateMaker, "_id", "id")] = id
			return nested
		}
	}
	return id
}

// creates reports whether the account may create objects of a class.
func (a *asker) creates(c *gateClass) bool {
	rights := a.world.Accounts[a.account]
	may := rights.Grants["c:"+c.Name]
	if a.world.ownerRole(c) {
		may |= rights.Owner["c:"+c.Name]
	}
	return may.Has(engine.MayUse)
}

func (a *asker) members(p *gateProperty, depth int) any {
	var ids []any
	for range a.IntN(3) {
		if v := a.pointer(p.Target, depth); v != nil {
			ids = append(ids, v)
		}
	}
	if a.chance(50) {
		return map[string]any{"add": append([]any{}, ids...), "remove": []any{pick(a.gateMaker, a.pointable(p.Target)...)}}
	}
	return append([]any{}, ids...)
}

func (a *asker) change() gateRequest {
	c, id := a.object()
	values := a.values(c, true, 1)
	r := gateRequest{Method: pick(a.gateMaker, "PATCH", "PATCH", "PUT"), Target: "/rest/crud/" + c.Name + "@§/" + id}
	if len(a.world.Rows) > 0 && a.chance(12) {
		values["id"] = pick(a.gateMaker, a.world.Rows...).ID
		r.Claims = true
	}
	a.handling(&r)
	a.guess(id, values, &r)
	if a.chance(20) {
		r.Header = append(r.Header, "If-Match: "+pick(a.gateMaker, "*", `"x"`, fmt.Sprintf("{etag:%s/%s}", c.Name, id)))
	}
	r.Body = apptest.JSON(values)
	return r
}

func (a *asker) create() gateRequest {
	c := a.class()
	values := a.values(c, false, 1)
	a.made++
	values["id"] = fmt.Sprintf("new%d-%d", a.account, a.made)
	r := gateRequest{Method: "POST", Target: "/rest/crud/" + c.Name + "@§"}
	if len(a.world.Rows) > 0 && a.chance(10) {
		values["id"] = pick(a.gateMaker, a.world.Rows...).ID
		r.Claims = true
	}
	a.handling(&r)
	r.Body = apptest.JSON(values)
	return r
}

func (a *asker) remove() gateRequest {
	c, id := a.object()
	return gateRequest{Method: "DELETE", Target: "/rest/crud/" + c.Name + "@§/" + id}
}

// batch generates a request to the acceptor.
func (a *asker) batch() gateRequest {
	var records []any
	r := gateRequest{Method: "POST", Target: "/rest/acceptor"}
	for range 1 + a.IntN(3) {
		c, id := a.object()
		row := a.world.row(id)
		if row == nil || a.chance(40) {
			a.made++
			id = fmt.Sprintf("new%d-%d", a.account, a.made)
		} else if a.world.gone(a.account, row) || !row.Class.below(c) {
			r.Claims = true
		}
		record := a.values(c, true, 1)
		record["_class"], record["_id"] = c.Name+"@§", id
		records = append(records, record)
	}
	a.handling(&r)
	if a.chance(50) {
		r.Header = append(r.Header, "Accept: application/problem+json")
	}
	r.Body = apptest.JSON(records)
	return r
}

// file requests the file of a random object.
func (a *asker) file() gateRequest {
	var all []string
	for _, row := range a.world.Rows {
		for _, p := range row.Class.kinds("file") {
			if row.Values[p.Name] != nil {
				all = append(all, fmt.Sprintf("/files/{file:%s/%s/%s}", row.Class.Name, row.ID, p.Name))
			}
		}
	}
	if len(all) == 0 {
		return a.one()
	}
	return gateRequest{Method: pick(a.gateMaker, "GET", "HEAD"), Target: pick(a.gateMaker, all...)}
}

// call generates a call of a repository method by a script.
func (a *asker) call() gateRequest {
	c, id := a.object()
	class := c.Name + "@§"
	item := map[string]any{"item": []any{class, id}}
	name, p := a.names(c)
	var call []any
	claims := false
	switch a.IntN(14) {
	case 0:
		call = []any{"getList", class, map[string]any{"filter": a.filter(c, 1), "sort": map[string]any{name: -1}, "countTotal": true, "nestingDepth": a.IntN(2)}}
	case 1:
		call = []any{"getCount", class, map[string]any{"filter": a.filter(c, 2)}}
	case 2:
		call = []any{"iterate", class, map[string]any{"filter": a.filter(c, 1), "sort": map[string]any{"id": 1}}}
	case 3:
		call = []any{"getItem", class, id, map[string]any{"nestingDepth": a.IntN(3)}}
	case 4, 5:
		call = []any{"aggregate", class, a.aggregation(c)}
	case 6:
		call = []any{"editItem", class, id, a.values(c, true, 1)}
	case 7:
		call = []any{"saveItem", class, id, a.values(c, true, 1)}
		row := a.world.row(id)
		claims = row == nil || a.world.gone(a.account, row) || !row.Class.below(c)
	case 8:
		call = []any{"deleteItem", class, id}
	case 9:
		plain := map[string]any{}
		for _, p := range c.kinds("text", "number") {
			if p.Details["unique"] == nil && a.chance(40) {
				plain[p.Name] = a.value(p)
			}
		}
		call = []any{"bulkEdit", class, plain, map[string]any{"filter": a.filter(c, 1)}}
	case 10:
		call = []any{"bulkDelete", class, map[string]any{"filter": a.filter(c, 1)}}
	case 11:
		call = []any{"read", map[string]any{"item": []any{class, id, map[string]any{"nestingDepth": 2}}}, name}
	default:
		if p == nil || p.Kind != "back" && p.Kind != "many" || strings.Contains(name, ".") {
			call = []any{"recache", item}
			break
		}
		switch a.IntN(4) {
		case 0:
			call = []any{"put", item, name, a.pointable(p.Target)[:1]}
		case 1:
			call = []any{"eject", item, name, []any{pick(a.gateMaker, a.pointable(p.Target)...)}}
		case 2:
			call = []any{"getAssociationsList", item, name, map[string]any{"filter": a.filter(p.Target, 1), "countTotal": true}}
		default:
			call = []any{"getAssociationsCount", item, name}
		}
	}
	return gateRequest{Method: "POST", Target: "/rest/probe", Body: apptest.JSON(map[string]any{"call": call}), Claims: claims}
}

func (a *asker) aggregation(c *gateClass) any {
	aggregation := map[string]any{}
	name, _ := a.names(c)
	if a.chance(70) {
		aggregation["fields"] = map[string]any{"x": "$" + name}
	}
	by, _ := a.names(c)
	if a.chance(70) {
		aggregation["aggregates"] = map[string]any{"n": map[string]any{"count": []any{}}, "y": map[string]any{pick(a.gateMaker, "min", "max", "sum", "count"): []any{"$" + by}}}
	}
	if a.chance(40) {
		aggregation["filter"] = a.filter(c, 1)
	}
	return aggregation
}
