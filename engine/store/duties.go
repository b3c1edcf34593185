package store

import (
	"slices"
	"strings"

	"restsrv/engine"
)

// duties lists the work of a write of items of a class besides their rows. It is determined once.
// If a class has no duties, writing an item costs only the write of its row.
type duties struct {
	references  []*engine.Property // stored references; their values are keys
	restricted  bool               // some references allow only some classes
	collections []*engine.Property // includes references through an attribute of another class
	derived     []*engine.Property // calculated attributes: their input is ignored
	files       []*engine.Property
	numbers     []*engine.Property // autoassigned ints
	watched     bool               // cached attributes of other items depend on the class
	late        bool               // some defaults need the transaction
	computed    bool               // some defaults are formulas
	creation    *engine.Property   // trackers; nil if the class has none
	change      *engine.Property
	creator     *engine.Property
	editor      *engine.Property
	readonly    bool
	words       bool // search words of the table's items are stored
	journaled   bool // the class, or one below it, has a journal
}

// pointer is a column whose values are ids of items of a table: a reference, or one side of a table
// of links.
type pointer struct {
	table   string // quoted
	column  string // quoted
	other   string // the other side of a table of links; "" for a reference
	unique  string // name of the unique index of a table of links
	classes string // condition on the class of a row; "" if not needed
	plan    *plan  // plan of the root class of the table of a reference
	key     bool   // the reference is part of the key of its class

	// For a table of links: the table whose items have the collection, and the collection.
	// collection is nil if that side does not declare one.
	holders    *table
	collection *engine.Property
}

func newDuties(c *engine.Class, bound map[string]bool) duties {
	d := duties{
		creation: c.Property(c.CreationTracker), change: c.Property(c.ChangeTracker),
		creator: c.Property(c.CreatorTracker), editor: c.Property(c.EditorTracker),
	}
	for _, p := range c.Properties {
		switch {
		case p.Kept(): // only an import sets values
		case p.Formula != nil:
			d.derived = append(d.derived, p)
		case p.Type == engine.Collection || p.Back != nil:
			d.collections = append(d.collections, p)
		case p.Type == engine.Reference && !bound[declarationName(p)]:
			d.references = append(d.references, p)
			d.restricted = d.restricted || len(p.Subclasses) > 0
		case p.Type.IsFile():
			d.files = append(d.files, p)
		case p.Type == engine.Int && p.Autoassigned:
			d.numbers = append(d.numbers, p)
		}
		d.late = d.late || p.Computed != nil && p.Stored()
		d.readonly = d.readonly || p.Readonly
	}
	d.watched = len(c.Dependencies) > 0
	d.computed = d.late
	d.late = d.late || len(d.numbers) > 0
	return d
}

// declarationName identifies the declaration of a property; classes below have copies of it.
func declarationName(p *engine.Property) string { return p.Definition + "#" + p.Name }

// isPlain reports whether a write consists only of the row of an item, if all values are known
// before the transaction.
func (d *duties) isPlain() bool {
	return len(d.references) == 0 && len(d.collections) == 0 && len(d.derived) == 0 && len(d.files) == 0 &&
		!d.watched && !d.late && !d.hasTrackers() && !d.words && !d.journaled
}

// hasTrackers reports whether the class has trackers.
func (d *duties) hasTrackers() bool {
	return d.creation != nil || d.change != nil || d.creator != nil || d.editor != nil
}

// layOutDuties determines the duties of all classes. Call it when all tables are known.
func (s *Store) layOutDuties() {
	bound := map[string]bool{} // references that hold another attribute than the key
	for c := range s.plans {
		for _, p := range c.Properties {
			if p.Back != nil && p.Binding != nil {
				bound[declarationName(p.Back)] = true
			}
		}
	}
	for c, p := range s.plans {
		p.duties = newDuties(c, bound)
		p.duties.words = p.table.hasWords()
		p.table.staged = p.table.staged || c.Staged && s.plans[s.cfg.StageClass] != nil
		keepsGrants := s.cfg.PermissionClass != nil && s.plans[s.cfg.PermissionClass] != nil && s.plans[s.cfg.PolicyClass] != nil
		p.table.granted = keepsGrants && !strings.HasPrefix(p.table.name, "#")
		p.table.grants = keepsGrants && (c == s.cfg.PermissionClass || c == s.cfg.PolicyClass)
		p.table.filed = p.table.filed || len(p.duties.files) > 0 && s.plans[s.cfg.FileClass] != nil
	}
	for _, t := range s.tables {
		for _, c := range t.classes {
			s.layOutPointers(t, c, bound)
		}
	}
}

// layOutPointers adds pointers to the tables to which items of c refer, and to the tables on both
// sides of its collections.
func (s *Store) layOutPointers(t *table, c *engine.Class, bound map[string]bool) {
	for _, p := range c.Properties {
		if p.Target == nil || s.plans[p.Target] == nil {
			continue
		}
		target := s.plans[p.Target].table
		switch {
		case isLinked(p):
			l := s.linkNames.of(p)
			t.addPointer(pointer{table: l.quoted, column: l.owner, other: l.item, unique: l.uniqueIndex().Name, holders: target, collection: p.Mirror})
			target.addPointer(pointer{table: l.quoted, column: l.item, other: l.owner, unique: l.uniqueIndex().Name, holders: t, collection: p})
		case p.Type == engine.Reference && p.Stored() && p.Formula == nil && !bound[declarationName(p)]:
			target.addPointer(pointer{
				table: t.quoted, column: t.column(p).quoted, classes: s.sharingCondition(t, p, target),
				plan: s.plans[t.classes[0]], key: slices.Contains(c.Key, p.Name),
			})
		}
	}
}

// addPointer adds a pointer unless the table has it already.
func (t *table) addPointer(p pointer) {
	if !slices.ContainsFunc(t.pointers, func(q pointer) bool { return q.table == p.table && q.column == p.column }) {
		t.pointers = append(t.pointers, p)
	}
}

// sharingCondition returns the condition for the rows of t whose column of p refers to target, or "" if all
// rows do.
func (s *Store) sharingCondition(t *table, p *engine.Property, target *table) string {
	var names []string
	for _, c := range t.classes {
		q := c.Property(p.Name)
		if q != nil && t.column(q) == t.column(p) && q.Type == engine.Reference && q.Target != nil && s.plans[q.Target] != nil && s.plans[q.Target].table == target {
			names = append(names, quoteText(c.FullName))
		}
	}
	if len(names) == len(t.classes) {
		return ""
	}
	return " AND " + classColumn + " IN (" + strings.Join(names, ", ") + ")"
}
