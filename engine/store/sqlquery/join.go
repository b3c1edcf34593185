package sqlquery

import (
	"strconv"
	"strings"

	"restsrv/engine"
	"restsrv/engine/store/layout"
)

// maxSources is the maximum number of tables in one statement. SQLite can join 64 tables.
const maxSources = 40

// Source is a table that a statement reads, under an alias.
type Source struct {
	Plan   *layout.Plan
	Alias  string // quoted
	From   *From
	joined map[*engine.Property]*Source // the joined table of each reference
}

// From is one element of the list after FROM: a table and the tables that are joined to it.
type From struct {
	Table string
	joins strings.Builder
}

// Text returns the text of the element.
func (f *From) Text() string { return f.Table + f.joins.String() }

// newAlias returns a new alias, which differs from the names of all tables.
func (b *Builder) newAlias() string {
	b.aliases++
	return `"#` + strconv.Itoa(b.aliases) + `"`
}

// newSource returns a new element after FROM, with the table of a plan.
func (b *Builder) newSource(p *layout.Plan) *Source {
	alias := b.newAlias()
	b.countSource()
	return &Source{Plan: p, Alias: alias, From: &From{Table: p.Table.Quoted + " AS " + alias}}
}

func (b *Builder) countSource() {
	if b.sources++; b.sources > maxSources {
		b.fail(engine.Errorf(engine.Invalid, "filter", "filter and order lead through more than %d references and collections", maxSources))
	}
}

func (b *Builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// targetPlan returns the plan of the target class of a reference or a collection.
func (b *Builder) targetPlan(p *engine.Property) *layout.Plan {
	if t := b.plans[p.Target]; t != nil {
		return t
	}
	b.fail(engine.Errorf(engine.Internal, "internal", "the class that %s leads to is not stored", engine.Quote(p.Name)))
	return nil
}

// OfClass returns the condition that a row of s belongs to the class of the plan or a descendant, or "" if this is
// true for all rows.
func (s *Source) OfClass() string {
	if s.Plan.ClassCondition() == "" {
		return ""
	}
	return s.Alias + "." + s.Plan.ClassCondition()
}

// Column returns the column that holds a property.
func (s *Source) Column(p *engine.Property) string {
	switch p {
	case engine.ClassName:
		return s.Alias + "." + layout.ClassColumn
	case engine.ItemID:
		return s.ID()
	}
	return s.Alias + "." + s.Plan.Table.Column(p).Quoted
}

// ID returns the column with the ids of the items, which references and links contain.
func (s *Source) ID() string { return s.Alias + "." + s.Plan.Table.ID.Quoted }

// boundColumn returns the column of s to which the reference p.Back refers: the column of p.Binding if it is set,
// otherwise the id.
func (s *Source) boundColumn(p *engine.Property) string {
	if p.Binding != nil {
		return s.Column(p.Binding)
	}
	return s.ID()
}

// join adds the target table of reference p to src, and returns the table as a source. The join does not change the
// number of rows. The columns of the target are null if the reference is null or dangling, or if the account may not
// read the target.
func (b *Builder) join(src *Source, p *engine.Property) *Source {
	if j := src.joined[p]; j != nil {
		return j
	}
	t := b.targetPlan(p)
	if b.err != nil {
		return src
	}
	b.countSource()
	j := &Source{Plan: t, Alias: b.newAlias(), From: src.From}
	on := j.ID() + " = " + src.columnOrNull(p)
	if p.Back == nil {
		on += AndCondition(j.OfClass()) + AndCondition(b.ReadableRow(j))
	} else {
		first := &Source{Plan: t, Alias: b.newAlias()}
		on = j.Alias + "." + layout.SeqColumn + " = (SELECT min(" + first.Alias + "." + layout.SeqColumn + ") FROM " + t.Table.Quoted + " AS " + first.Alias +
			" WHERE " + first.Column(p.Back) + " = " + src.boundColumn(p) + AndCondition(first.OfClass()) + AndCondition(b.ReadableRow(first)) + ")" + AndCondition(j.OfClass())
	}
	src.From.joins.WriteString(" LEFT JOIN " + t.Table.Quoted + " AS " + j.Alias + " ON " + on)
	if src.joined == nil {
		src.joined = map[*engine.Property]*Source{}
	}
	src.joined[p] = j
	return j
}

func (s *Source) columnOrNull(p *engine.Property) string {
	if s.Plan.Table.Column(p) == nil {
		return "NULL"
	}
	return s.Column(p)
}

// AndCondition returns condition as a further condition after AND, or "" if condition is "".
func AndCondition(condition string) string {
	if condition == "" {
		return ""
	}
	return " AND " + condition
}

// memberSource describes the members of a collection: the elements of FROM that contain the members, and the condition
// that a member belongs to the owner.
type memberSource struct {
	member    *Source
	link      string // table of links as an element of FROM before the table of the members, or ""
	condition string
}

func (b *Builder) membersOf(owner *Source, p *engine.Property) (m memberSource) {
	t := b.targetPlan(p)
	if b.err != nil {
		return memberSource{member: owner}
	}
	m.member = b.newSource(t)
	if p.Back != nil {
		m.condition = m.member.Column(p.Back) + " = " + owner.boundColumn(p)
	} else {
		l := b.links.Of(p)
		alias := b.newAlias()
		m.link = l.Quoted + " AS " + alias + ", "
		m.condition = alias + "." + l.Owner + " = " + owner.ID() + " AND " + m.member.ID() + " = " + alias + "." + l.Item
	}
	m.condition += AndCondition(m.member.OfClass()) + AndCondition(b.AllowedRows(m.member, engine.MayRead))
	return m
}

// walkPath follows the references and collections of a path and returns the source at its end. Members of collections
// on the path are added to b.atom, the condition that is being written.
func (b *Builder) walkPath(src *Source, steps []*engine.Property) *Source {
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

// PathValue writes the value at the end of a path.
func (b *Builder) PathValue(src *Source, path []*engine.Property) string {
	if err := b.guard.CheckPath(src.Plan.Class, path); err != nil {
		b.fail(err)
		return "NULL"
	}
	last := path[len(path)-1]
	src = b.walkPath(src, path[:len(path)-1])
	if b.err != nil {
		return "NULL"
	}
	if last.Type == engine.Reference && last.Back != nil {
		return b.join(src, last).ID()
	}
	return src.Column(last)
}

// someMember returns the condition that a collection has a member. If inner is not nil, the member must satisfy inner.
func (b *Builder) someMember(src *Source, path []*engine.Property, inner *engine.Filter) string {
	m := b.collectionSource(src, path)
	if b.err != nil {
		return "1 = 0"
	}
	condition := ""
	if inner != nil {
		condition = " AND " + b.Capture(func() { b.Filter(m.member, inner, false) })
	}
	return "EXISTS (SELECT 1 FROM " + m.link + m.member.From.Text() + " WHERE " + m.condition + condition + ")"
}

func (b *Builder) memberCount(src *Source, path []*engine.Property) string {
	m := b.collectionSource(src, path)
	if b.err != nil {
		return "0"
	}
	return "(SELECT count(*) FROM " + m.link + m.member.From.Text() + " WHERE " + m.condition + ")"
}

func (b *Builder) collectionSource(src *Source, path []*engine.Property) memberSource {
	if err := b.guard.CheckPath(src.Plan.Class, path); err != nil {
		b.fail(err)
		return memberSource{member: src}
	}
	owner := b.walkPath(src, path[:len(path)-1])
	if b.err != nil {
		return memberSource{member: owner}
	}
	return b.membersOf(owner, path[len(path)-1])
}

// atom is the innermost condition that is being written. It collects the collections that the condition uses;
// writeQuantified then adds their members to the statement.
type atom struct {
	members    map[memberOf]*Source // the source of the members of each collection
	elements   []element            // the elements of FROM with the members
	conditions []string             // the conditions of the members (memberSource.condition)
}

// memberOf identifies a collection of a source.
type memberOf struct {
	owner      *Source
	collection *engine.Property
}

type element struct {
	link string
	from *From
}

func (a *atom) add(of memberOf, m memberSource) {
	a.elements = append(a.elements, element{m.link, m.member.From})
	a.conditions = append(a.conditions, m.condition)
	if a.members == nil {
		a.members = map[memberOf]*Source{}
	}
	a.members[of] = m.member
}

// writeQuantified calls write, which writes a condition. If the condition uses collections, writeQuantified wraps it
// in an EXISTS over their members: the result is true if the condition is true for at least one choice of members. If
// negated is true, writeQuantified writes the opposite of this result.
func (b *Builder) writeQuantified(negated bool, write func()) {
	outer := b.atom
	b.atom = &atom{}
	text := b.Capture(write)
	a := b.atom
	b.atom = outer
	if len(a.elements) == 0 {
		b.addNegated(negated, text)
		return
	}
	b.Add([]string{"EXISTS (SELECT 1 FROM ", "NOT EXISTS (SELECT 1 FROM "}[boolToInt(negated)])
	for i, e := range a.elements {
		b.Add([]string{"", ", "}[min(i, 1)], e.link, e.from.Text())
	}
	b.Add(" WHERE ", strings.Join(a.conditions, " AND "), " AND ", text, ")")
}

// addNegated writes a condition, or its opposite if negated is true. Null counts as false.
func (b *Builder) addNegated(negated bool, text string) {
	switch {
	case !negated:
		b.Add(text)
	case strings.HasPrefix(text, "EXISTS "):
		b.Add("NOT ", text)
	default:
		b.Add("(", text, ") IS NOT TRUE")
	}
}
