package access

import (
	"context"
	"log/slog"
	"slices"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
	"restsrv/engine/query"
)

// Limits of the search for the subjects of one account.
const (
	maxJumps    = 16     // levels of jumps, counted from the entries
	maxVisited  = 10_000 // items
	maxCoactors = 1000
)

// CoactorConfig holds the dependencies of a CoactorFinder.
type CoactorConfig struct {
	Data engine.Repository // unguarded
	Meta engine.MetaRepository
	// RolesOf returns the roles of the given subjects, which come from the data. If it is nil, the
	// roles of these subjects are not looked up.
	RolesOf func(ctx context.Context, subjects []string) ([]string, error)
	Log     *slog.Logger // if nil, warnings are not logged
}

// CoactorFinder finds the coactors of an account (aclMetaMap of IONDV). A coactor is a subject,
// such as a department, that the data assigns to the account: the account also has the
// permissions of its coactors. The search starts at the entries, which are items that name the
// account, and jumps along references and collections. Each item that the search reaches can name
// a subject.
type CoactorFinder struct {
	cfg     CoactorConfig
	entries []*stop
	stops   map[*engine.Class]*stop
}

// stop is a class with items that the search can reach.
type stop struct {
	class *engine.Class
	sid   *engine.Property // the attribute that names a subject; may be nil
	load  []*engine.Load   // the jumps from its items
}

// NewCoactorFinder reads the options of aclMetaMap, {map: {class: {isEntry,
// sidAttribute, jumps, createRole}}}. Jumps are names of references and
// collections, or an object that maps these names to conditions on the target
// items. createRole has no effect: a grant may name any subject. Mistakes are
// added to the faults of o.
func NewCoactorFinder(cfg CoactorConfig, o jsonfile.Object) *CoactorFinder {
	f := &CoactorFinder{cfg: cfg, stops: map[*engine.Class]*stop{}}
	o.WarnRepeated()
	o.WarnUnknown([]string{"map", "dataRepo", "acl", "accessManager", "log", "calculator"})
	classes, _ := o.Child("map")
	classes.WarnRepeated()
	own := map[*engine.Class]*stop{}
	for _, field := range classes.Fields {
		c, err := cfg.Meta.Class(field.Name)
		if err != nil {
			classes.Report(mistake.MetaMapClass, classes.At(field.Name), "class "+engine.Quote(field.Name)+", which does not exist", jsonfile.Choice(field.Name, classNames(cfg.Meta)))
			continue
		}
		child, ok := classes.Child(field.Name)
		if !ok {
			continue
		}
		own[c] = f.parseStop(c, child)
	}
	for _, c := range cfg.Meta.Classes() {
		for a := c; a != nil && f.stops[c] == nil; a = a.Ancestor {
			if own[a] != nil {
				f.stops[c] = own[a]
			}
		}
	}
	return f
}

func (f *CoactorFinder) parseStop(c *engine.Class, o jsonfile.Object) *stop {
	o.WarnRepeated()
	o.WarnUnknown([]string{"isEntry", "sidAttribute", "jumps", "createRole"})
	o.Flag("createRole", false)
	s := &stop{class: c}
	entry, isFlag := o.Value("isEntry").(bool)
	if v := o.Value("isEntry"); !isFlag && v != nil {
		o.Report(mistake.MetaMapSid, o.At("isEntry"), jsonfile.Describe(v), "true or false")
	}
	if v := o.Value("sidAttribute"); v != nil && v != "" {
		name, _ := v.(string)
		if _, err := query.NamesOneOf(c, name, nil); err != nil || c.Property(name) == nil {
			o.Report(mistake.MetaMapSid, o.At("sidAttribute"), jsonfile.Describe(v), "an attribute of class "+c.FullName+" that names an account or a role")
		} else {
			s.sid = c.Property(name)
		}
	}
	if entry && s.sid != nil {
		f.entries = append(f.entries, s)
	} else if sid := o.Value("sidAttribute"); entry && (sid == nil || sid == "") {
		o.Report(mistake.MetaMapSid, o.At("isEntry"), "no sidAttribute", "the attribute by which an entry names an account")
	}
	switch jumps := o.Value("jumps").(type) {
	case nil:
	case []any:
		for i, v := range jumps {
			name, _ := v.(string)
			s.addJump(o, jsonfile.Element(o.At("jumps"), i), name, nil)
		}
	case engine.Fields:
		for _, j := range jumps {
			s.addJump(o, jsonfile.Member(o.At("jumps"), j.Name), j.Name, j.Value)
		}
	default:
		o.Report(mistake.NotArray, o.At("jumps"), jsonfile.Describe(jumps), "an array of references and collections")
	}
	return s
}

// addJump adds a jump along the named property; when is a condition on the target
// items.
func (s *stop) addJump(o jsonfile.Object, path, name string, when any) {
	p := s.class.Property(name)
	if p == nil || p.Target == nil {
		o.Report(mistake.MetaMapJump, path, engine.Quote(name), "a reference or a collection of class "+s.class.FullName)
		return
	}
	filter, err := parseCondition(p.Target, when)
	if err != nil {
		o.Report(mistake.MetaMapJump, path, jsonfile.Describe(when)+" ("+err.Error()+")", "a condition on class "+p.Target.FullName+" that can be evaluated")
		return
	}
	s.load = append(s.load, &engine.Load{Property: p, Filter: filter})
}

// Coactors returns the coactors of the account: the subjects named in the items that the search
// reaches, and the roles of these subjects.
func (f *CoactorFinder) Coactors(ctx context.Context, account string) ([]string, error) {
	if f == nil || len(f.entries) == 0 {
		return nil, nil
	}
	w := &tour{finder: f, account: account, seen: map[visit]bool{}, next: map[*stop][]string{}}
	for _, s := range f.entries {
		is, err := query.NamesOneOf(s.class, s.sid.Name, []any{account})
		if err != nil {
			continue // the account id is not a value of that type
		}
		if err := w.walk(ctx, s, is); err != nil {
			return nil, err
		}
	}
	for level := 0; len(w.next) > 0; level++ {
		if level == maxJumps || len(w.seen) >= maxVisited {
			f.warnCutOff(account)
			break
		}
		now := w.next
		w.next = map[*stop][]string{}
		for s, ids := range now {
			for some := range slices.Chunk(ids, maxAsked) {
				if err := w.walk(ctx, s, ofIDs(s.class, some)); err != nil {
					return nil, err
				}
			}
		}
	}
	return w.foundSubjects(ctx)
}

func (f *CoactorFinder) warnCutOff(account string) {
	if f.cfg.Log != nil {
		f.cfg.Log.Warn("the search for coactors of an account reached its limits: further coactors are ignored", "account", account)
	}
}

// tour is the search for the coactors of one account.
type tour struct {
	finder  *CoactorFinder
	account string
	seen    map[visit]bool
	next    map[*stop][]string // ids of reached items whose jumps come next
	sids    []string
}

type visit struct {
	root *engine.Class
	id   string
}

// walk reads the items of a stop that match the filter, with the targets of
// their jumps.
func (w *tour) walk(ctx context.Context, s *stop, which *engine.Filter) error {
	q := &engine.Query{Class: s.class, Filter: which, Load: s.load, Count: maxVisited}
	return w.finder.cfg.Data.List(engine.WithGuard(ctx, nil), q, func(it *engine.Item) error {
		w.reachItem(it, false)
		for _, l := range s.load {
			p := it.Class.Property(l.Property.Name)
			if p == nil {
				continue
			}
			link := it.Link(p)
			if link.Item != nil {
				w.reachItem(link.Item, true)
			}
			for _, member := range link.Items {
				w.reachItem(member, true)
			}
		}
		return nil
	})
}

// reachItem registers an item when it is reached for the first time. If on is set, the
// search continues with the jumps from the item.
func (w *tour) reachItem(it *engine.Item, on bool) {
	s, v := w.finder.stops[it.Class], visit{it.Class.Root(), it.ID}
	if s == nil || w.seen[v] || len(w.seen) >= maxVisited {
		return
	}
	w.seen[v] = true
	if s.sid != nil {
		for _, sid := range valueTexts(it.Get(s.sid.Name)) {
			w.addSubject(sid)
		}
	}
	if on && len(s.load) > 0 {
		w.next[s] = append(w.next[s], it.ID)
	}
}

// addSubject adds a subject. It ignores engine.Everyone, which data must not grant.
func (w *tour) addSubject(sid string) {
	if sid == "" || sid == engine.Everyone || sid == w.account || slices.Contains(w.sids, sid) {
		return
	}
	if len(w.sids) < maxCoactors {
		w.sids = append(w.sids, sid)
	}
}

// foundSubjects returns the subjects that were found, and their roles.
func (w *tour) foundSubjects(ctx context.Context) ([]string, error) {
	if len(w.sids) == maxCoactors {
		w.finder.warnCutOff(w.account)
	}
	if w.finder.cfg.RolesOf == nil || len(w.sids) == 0 {
		return w.sids, nil
	}
	roles, err := w.finder.cfg.RolesOf(ctx, slices.Clone(w.sids))
	for _, r := range roles {
		w.addSubject(r)
	}
	return w.sids, err
}

// valueTexts returns the value as text; if it is a set, the texts of its elements.
func valueTexts(v any) (all []string) {
	if text, ok := v.(engine.JSONText); ok {
		list, ok := text.Decode().([]any)
		for _, e := range list {
			all = append(all, engine.ValueText(e))
		}
		if ok {
			return all
		}
	}
	if v == nil {
		return nil
	}
	return []string{engine.ValueText(v)}
}
