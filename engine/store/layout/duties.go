package layout

import (
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/store/sqldb"
)

// duties lists the work that a write of an item does besides writing its row. It is determined once for each class.
// Writing an item of a class without duties costs only the write of the row.
type duties struct {
	References  []*engine.Property // stored references with keys as their values
	Restricted  bool               // some of the references allow only some descendants of their target class
	Collections []*engine.Property // collections, and references that are stored in another class as a reference to this class (Property.Back)
	Derived     []*engine.Property // calculated attributes; values that a client sends for them are ignored
	Files       []*engine.Property
	Numbers     []*engine.Property // ints that get their values from a counter
	watched     bool               // cached attributes of other items depend on the class
	Late        bool               // the values of some defaults can be determined only within the transaction
	Computed    bool               // some defaults are formulas
	creation    *engine.Property   // creation and the next three record the time and the account of the creation and of the last change; nil if the class has no such attribute
	change      *engine.Property
	Creator     *engine.Property
	Editor      *engine.Property
	Readonly    bool // the class has read-only attributes
	Words       bool // the table stores search words of its items
	Journaled   bool // the class or a descendant has a journal
}

// Pointer is a column that contains ids of items of a table. It is the column of a reference, or one of the two columns
// of a table of links (see Links).
type Pointer struct {
	Table   string // quoted
	Column  string // quoted
	Other   string // the other column of a table of links; "" for a reference
	Unique  string // name of the unique index, if Table is a table of links
	Classes string // condition on the class of a row; "" if all rows count
	Plan    *Plan  // plan of the root class of Table, if the pointer is a reference
	Key     bool   // the reference is part of the key of its class

	// Holders and Collection are set if Table is a table of links. Its column Other contains ids of items of the table
	// Holders. Collection is a collection of these items. Its members are the items to which Column refers. Collection
	// is nil if only the items in Column have a collection, that is, if their collection has no mirror.
	Holders    *Table
	Collection *engine.Property
}

func newDuties(c *engine.Class, bound map[string]bool) duties {
	d := duties{
		creation: c.Property(c.CreationTracker), change: c.Property(c.ChangeTracker),
		Creator: c.Property(c.CreatorTracker), Editor: c.Property(c.EditorTracker),
	}
	for _, p := range c.Properties {
		switch {
		case p.Kept(): // only an import sets values of the property
		case p.Formula != nil:
			d.Derived = append(d.Derived, p)
		case p.Type == engine.Collection || p.Back != nil:
			d.Collections = append(d.Collections, p)
		case p.Type == engine.Reference && !bound[declarationName(p)]:
			d.References = append(d.References, p)
			d.Restricted = d.Restricted || len(p.Subclasses) > 0
		case p.Type.IsFile():
			d.Files = append(d.Files, p)
		case p.Type == engine.Int && p.Autoassigned:
			d.Numbers = append(d.Numbers, p)
		}
		d.Late = d.Late || p.Computed != nil && p.Stored()
		d.Readonly = d.Readonly || p.Readonly
	}
	d.watched = len(c.Dependencies) > 0
	d.Computed = d.Late
	d.Late = d.Late || len(d.Numbers) > 0
	return d
}

// declarationName identifies the declaration of a property. Copies of the property in descendant classes have the same
// declarationName.
func declarationName(p *engine.Property) string { return p.Definition + "#" + p.Name }

// IsPlain reports whether the write of an item consists only of writing its row, with values that are all known before
// the transaction begins.
func (d *duties) IsPlain() bool {
	return len(d.References) == 0 && len(d.Collections) == 0 && len(d.Derived) == 0 && len(d.Files) == 0 &&
		!d.watched && !d.Late && !d.HasTrackers() && !d.Words && !d.Journaled
}

// HasTrackers reports whether the class has trackers: attributes for the time and the account of the creation and of
// the last change.
func (d *duties) HasTrackers() bool {
	return d.creation != nil || d.change != nil || d.Creator != nil || d.Editor != nil
}

// layOutDuties determines the duties of all classes. It must be called when all tables are known.
func (s *Layout) layOutDuties() {
	bound := map[string]bool{} // declarations of references that do not store the key of their target but another attribute (Property.Binding)
	for c := range s.Plans {
		for _, p := range c.Properties {
			if p.Back != nil && p.Binding != nil {
				bound[declarationName(p.Back)] = true
			}
		}
	}
	for c, p := range s.Plans {
		p.Duties = newDuties(c, bound)
		p.Duties.Words = p.Table.HasWords()
		p.Table.Staged = p.Table.Staged || c.Staged && s.Plans[s.cfg.Stages] != nil
		keepsGrants := s.cfg.Permissions != nil && s.Plans[s.cfg.Permissions] != nil && s.Plans[s.cfg.Policy] != nil
		p.Table.Granted = keepsGrants && !strings.HasPrefix(p.Table.Name, "#")
		p.Table.Grants = keepsGrants && (c == s.cfg.Permissions || c == s.cfg.Policy)
		p.Table.Filed = p.Table.Filed || len(p.Duties.Files) > 0 && s.Plans[s.cfg.Files] != nil
	}
	for _, t := range s.Tables {
		for _, c := range t.Classes {
			s.layOutPointers(t, c, bound)
		}
	}
}

// layOutPointers records the references and the collections of class c as pointers. A reference becomes a pointer in
// the table of its target class. A collection that is stored in a table of links becomes a pointer in the tables of
// both sides.
func (s *Layout) layOutPointers(t *Table, c *engine.Class, bound map[string]bool) {
	for _, p := range c.Properties {
		if p.Target == nil || s.Plans[p.Target] == nil {
			continue
		}
		target := s.Plans[p.Target].Table
		switch {
		case IsLinked(p):
			l := s.LinkNames.Of(p)
			t.addPointer(Pointer{Table: l.Quoted, Column: l.Owner, Other: l.Item, Unique: l.uniqueIndex().Name, Holders: target, Collection: p.Mirror})
			target.addPointer(Pointer{Table: l.Quoted, Column: l.Item, Other: l.Owner, Unique: l.uniqueIndex().Name, Holders: t, Collection: p})
		case p.Type == engine.Reference && p.Stored() && p.Formula == nil && !bound[declarationName(p)]:
			target.addPointer(Pointer{
				Table: t.Quoted, Column: t.Column(p).Quoted, Classes: s.sharingCondition(t, p, target),
				Plan: s.Plans[t.Classes[0]], Key: slices.Contains(c.Key, p.Name),
			})
		}
	}
}

// addPointer adds a pointer if the table does not have it yet.
func (t *Table) addPointer(p Pointer) {
	if !slices.ContainsFunc(t.Pointers, func(q Pointer) bool { return q.Table == p.Table && q.Column == p.Column }) {
		t.Pointers = append(t.Pointers, p)
	}
}

// sharingCondition returns a condition on rows of t, for a pointer to items of table target. Several classes of t can
// declare p differently and still share its column, which then may contain ids of items of another table. The
// condition selects the rows of the classes in which the column refers to items of target. It is "" if these are all
// classes of t.
func (s *Layout) sharingCondition(t *Table, p *engine.Property, target *Table) string {
	var names []string
	for _, c := range t.Classes {
		q := c.Property(p.Name)
		if q != nil && t.Column(q) == t.Column(p) && q.Type == engine.Reference && q.Target != nil && s.Plans[q.Target] != nil && s.Plans[q.Target].Table == target {
			names = append(names, sqldb.QuoteText(c.FullName))
		}
	}
	if len(names) == len(t.Classes) {
		return ""
	}
	return " AND " + ClassColumn + " IN (" + strings.Join(names, ", ") + ")"
}

// layOutJournal determines the classes for which a write needs the previous values of items for the journal.
func (s *Layout) layOutJournal() {
	for c, p := range s.Plans {
		classes := append([]*engine.Class{c}, c.Descendants...)
		p.Duties.Journaled = s.cfg.Journaled && slices.ContainsFunc(classes, func(c *engine.Class) bool { return c.Journaling })
	}
}

// PropertyName returns the name of the property that holds the reference.
func (p Pointer) PropertyName() string {
	columns := p.Plan.Table.Columns
	return columns[slices.IndexFunc(columns, func(c *Column) bool { return c.Quoted == p.Column })].Property
}

// HasDependents reports whether links, files or stages of the table's items are stored in other tables.
func (t *Table) HasDependents() bool {
	for _, p := range t.Pointers {
		if p.Other != "" {
			return true
		}
	}
	return t.Filed || t.Staged
}

// JournaledClass returns the class of t with that name, or nil if the class is not journaled.
func (t *Table) JournaledClass(name string) *engine.Class {
	for _, c := range t.Classes {
		if c.FullName == name && c.Journaling {
			return c
		}
	}
	return nil
}

// OwnedBy returns a WHERE clause for a table that stores additional data of items, such as their files. The clause
// selects the rows that belong to items of t, by the column "class", which contains the class of the item.
func (t *Table) OwnedBy() string {
	names := make([]string, len(t.Classes))
	for i, c := range t.Classes {
		names[i] = sqldb.QuoteText(c.FullName)
	}
	return ` WHERE "class" IN (` + strings.Join(names, ", ") + ")"
}
