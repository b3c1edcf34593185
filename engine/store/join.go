package store

import (
	"strconv"
	"strings"

	"restsrv/engine"
)

// maxSources is the maximum number of tables that one statement reads. SQLite can join 64.
const maxSources = 40

// source is a table that a statement reads, under an alias.
type source struct {
	plan   *plan
	alias  string // quoted
	from   *from
	joined map[*engine.Property]*source // the targets of its references
}

// from is an element of a FROM: a table and the tables joined to it.
type from struct {
	table string
	joins strings.Builder
}

func (f *from) text() string { return f.table + f.joins.String() }

// newAlias returns a name that no table has.
func (b *builder) newAlias() string {
	b.aliases++
	return `"#` + strconv.Itoa(b.aliases) + `"`
}

// newSource returns a new element of a FROM with the items of a plan.
func (b *builder) newSource(p *plan) *source {
	alias := b.newAlias()
	b.countSource()
	return &source{plan: p, alias: alias, from: &from{table: p.table.quoted + " AS " + alias}}
}

func (b *builder) countSource() {
	if b.sources++; b.sources > maxSources {
		b.fail(engine.Errorf(engine.Invalid, "filter", "filter and order lead through more than %d references and collections", maxSources))
	}
}

func (b *builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// targetPlan returns the plan of the target class of a reference or a collection.
func (b *builder) targetPlan(p *engine.Property) *plan {
	if t := b.plans[p.Target]; t != nil {
		return t
	}
	b.fail(engine.Errorf(engine.Internal, "internal", "the class that %s leads to is not stored", engine.Quote(p.Name)))
	return nil
}

// ofClass returns the condition that a row of src is of the class, or "" if all rows are.
func (s *source) ofClass() string {
	if s.plan.classCondition() == "" {
		return ""
	}
	return s.alias + "." + s.plan.classCondition()
}

func (s *source) column(p *engine.Property) string {
	switch p {
	case engine.ClassName:
		return s.alias + "." + classColumn
	case engine.ItemID:
		return s.id()
	}
	return s.alias + "." + s.plan.table.column(p).quoted
}

// id returns the column to which references and links refer.
func (s *source) id() string { return s.alias + "." + s.plan.table.id.quoted }

// boundColumn returns the column of the owner that the back reference of p stores.
func (s *source) boundColumn(p *engine.Property) string {
	if p.Binding != nil {
		return s.column(p.Binding)
	}
	return s.id()
}

// join returns the target table of a reference of src. There is one row for each row of src. It is
// null if the reference is null or dangling, or if the account may not read the target.
func (b *builder) join(src *source, p *engine.Property) *source {
	if j := src.joined[p]; j != nil {
		return j
	}
	t := b.targetPlan(p)
	if b.err != nil {
		return src
	}
	b.countSource()
	j := &source{plan: t, alias: b.newAlias(), from: src.from}
	on := j.id() + " = " + src.columnOrNull(p)
	if p.Back == nil {
		on += andCondition(j.ofClass()) + andCondition(b.readableRow(j))
	} else {
		first := &source{plan: t, alias: b.newAlias()}
		on = j.alias + "." + seqColumn + " = (SELECT min(" + first.alias + "." + seqColumn + ") FROM " + t.table.quoted + " AS " + first.alias +
			" WHERE " + first.column(p.Back) + " = " + src.boundColumn(p) + andCondition(first.ofClass()) + andCondition(b.readableRow(first)) + ")" + andCondition(j.ofClass())
	}
	src.from.joins.WriteString(" LEFT JOIN " + t.table.quoted + " AS " + j.alias + " ON " + on)
	if src.joined == nil {
		src.joined = map[*engine.Property]*source{}
	}
	src.joined[p] = j
	return j
}

func (s *source) columnOrNull(p *engine.Property) string {
	if s.plan.table.column(p) == nil {
		return "NULL"
	}
	return s.column(p)
}

func andCondition(condition string) string {
	if condition == "" {
		return ""
	}
	return " AND " + condition
}

// memberSource is a FROM of the members of a collection, with the condition that they belong to one
// owner.
type memberSource struct {
	member    *source
	link      string // element of the FROM before the member table, or ""
	condition string
}

func (b *builder) membersOf(owner *source, p *engine.Property) (m memberSource) {
	t := b.targetPlan(p)
	if b.err != nil {
		return memberSource{member: owner}
	}
	m.member = b.newSource(t)
	if p.Back != nil {
		m.condition = m.member.column(p.Back) + " = " + owner.boundColumn(p)
	} else {
		l := b.links.of(p)
		alias := b.newAlias()
		m.link = l.quoted + " AS " + alias + ", "
		m.condition = alias + "." + l.owner + " = " + owner.id() + " AND " + m.member.id() + " = " + alias + "." + l.item
	}
	m.condition += andCondition(m.member.ofClass()) + andCondition(b.allowedRows(m.member, engine.MayRead))
	return m
}

// walkPath follows the steps of a path and returns its last source. Members of collections become part
// of the condition that is being written.
func (b *builder) walkPath(src *source, steps []*engine.Property) *source {
	for _, p := range steps {
		if b.err != nil {
			return src
		}
		if p.Type != engine.Collection {
			src = b.join(src, p)
			continue
		}
		if b.atom == nil {
			b.fail(engine.Errorf(engine.Internal, "internal", "collection %s has no single value", engine.Quote(p.Name)))
			return src
		}
		next := b.atom.members[memberOf{src, p}]
		if next == nil {
			m := b.membersOf(src, p)
			if next = m.member; b.err != nil {
				return src
			}
			b.atom.add(memberOf{src, p}, m)
		}
		src = next
	}
	return src
}

// pathValue writes the value at the end of a path.
func (b *builder) pathValue(src *source, path []*engine.Property) string {
	if err := b.guard.checkPath(src.plan.class, path); err != nil {
		b.fail(err)
		return "NULL"
	}
	last := path[len(path)-1]
	src = b.walkPath(src, path[:len(path)-1])
	if b.err != nil {
		return "NULL"
	}
	if last.Type == engine.Reference && last.Back != nil {
		return b.join(src, last).id()
	}
	return src.column(last)
}

// someMember returns the condition that a collection has a member. If inner is not nil, the member must
// satisfy it.
func (b *builder) someMember(src *source, path []*engine.Property, inner *engine.Filter) string {
	m := b.collectionSource(src, path)
	if b.err != nil {
		return "1 = 0"
	}
	condition := ""
	if inner != nil {
		condition = " AND " + b.capture(func() { b.filter(m.member, inner, false) })
	}
	return "EXISTS (SELECT 1 FROM " + m.link + m.member.from.text() + " WHERE " + m.condition + condition + ")"
}

func (b *builder) memberCount(src *source, path []*engine.Property) string {
	m := b.collectionSource(src, path)
	if b.err != nil {
		return "0"
	}
	return "(SELECT count(*) FROM " + m.link + m.member.from.text() + " WHERE " + m.condition + ")"
}

func (b *builder) collectionSource(src *source, path []*engine.Property) memberSource {
	if err := b.guard.checkPath(src.plan.class, path); err != nil {
		b.fail(err)
		return memberSource{member: src}
	}
	owner := b.walkPath(src, path[:len(path)-1])
	if b.err != nil {
		return memberSource{member: owner}
	}
	return b.membersOf(owner, path[len(path)-1])
}

// atom is a condition that is being written, with the members of collections that it uses.
type atom struct {
	members    map[memberOf]*source
	elements   []element
	conditions []string
}

// memberOf is a collection of a source.
type memberOf struct {
	owner      *source
	collection *engine.Property
}

type element struct {
	link string
	from *from
}

func (a *atom) add(of memberOf, m memberSource) {
	a.elements = append(a.elements, element{m.link, m.member.from})
	a.conditions = append(a.conditions, m.condition)
	if a.members == nil {
		a.members = map[memberOf]*source{}
	}
	a.members[of] = m.member
}

// writeQuantified writes a condition that is true if the condition of write is true for any members of
// its collections.
func (b *builder) writeQuantified(negated bool, write func()) {
	outer := b.atom
	b.atom = &atom{}
	text := b.capture(write)
	a := b.atom
	b.atom = outer
	if len(a.elements) == 0 {
		b.addNegated(negated, text)
		return
	}
	b.add([]string{"EXISTS (SELECT 1 FROM ", "NOT EXISTS (SELECT 1 FROM "}[boolToInt(negated)])
	for i, e := range a.elements {
		b.add([]string{"", ", "}[min(i, 1)], e.link, e.from.text())
	}
	b.add(" WHERE ", strings.Join(a.conditions, " AND "), " AND ", text, ")")
}

// addNegated writes a condition, or its opposite if negated is true. Null counts as false.
func (b *builder) addNegated(negated bool, text string) {
	switch {
	case !negated:
		b.add(text)
	case strings.HasPrefix(text, "EXISTS "):
		b.add("NOT ", text)
	default:
		b.add("(", text, ") IS NOT TRUE")
	}
}
