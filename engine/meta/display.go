package meta

import (
	"regexp"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/suggest"
)

// piece matches a part of a display string that has the form of an attribute path, such as name or name[0,1]. The
// parts of a display string are separated by |.
var piece = regexp.MustCompile(`^\s*([A-Za-z0-9_.]{2,})(?:\[\d+(?:,\d+)?\])?\s*$`)

// checkDisplay checks a display string for items of class c, such as "name| |city". It adds a warning if a part looks
// like the name of an attribute but will be displayed as literal text.
func (l *linker) checkDisplay(a *attribute, c *engine.Class, source string) {
	if source == "" {
		return
	}
	for part := range strings.SplitSeq(source, "|") {
		name := strings.TrimSpace(part)
		m := piece.FindStringSubmatch(part)
		if m == nil {
			if c.Property(name) != nil {
				l.warn(a, a.At("semantic"), engine.Quote(name), "a name of at least two of A-Z, a-z, 0-9 and _: this one is shown as it is written, not as a value")
			}
			continue
		}
		if c.Path(m[1]) != nil || c.Nowhere(m[1]) {
			continue
		}
		first, _, dotted := strings.Cut(m[1], ".")
		switch p := c.Property(first); {
		case dotted && p != nil:
			l.warn(a, a.At("semantic"), engine.Quote(m[1])+", which leads nowhere and is shown as it is written", "a path through references to an attribute")
		case !dotted:
			if near := suggest.Nearest(m[1], attributeNames(c)); near != "" {
				l.warn(a, a.At("semantic"), engine.Quote(m[1])+", which is no attribute and shown as it is written", engine.Quote(near))
			}
		}
	}
}

// compileDisplays checks the display strings of classes. It compiles the display strings that references and
// collections declare for their target objects.
func (l *linker) compileDisplays(usable []*draft) {
	for _, d := range usable {
		source, _ := d.Value("semantic").(string) // an inherited display string is checked in the class that declares it
		l.checkDisplay(&attribute{Object: d.Object}, d.class, source)
		for _, p := range d.class.Properties {
			a := l.attributeOf(p)
			source, text := a.Value("semantic").(string)
			switch {
			case isEmpty(a.Value("semantic")):
			case !text:
				l.warn(a, a.At("semantic"), jsonfile.Describe(a.Value("semantic")), `text such as "name| |city": the objects are shown as their own class says`)
			case p.Nowhere || p.Type == engine.Custom && a.target != "": // the class does not exist; this is already reported
			case p.Type != engine.Reference && p.Type != engine.Collection:
				l.warn(a, a.At("semantic"), jsonfile.Describe(source), "nothing: it has a meaning for references and collections only")
			case p.Target != nil && !l.byName[p.Target.FullName].faulty:
				l.checkDisplay(a, p.Target, source)
				p.Display = engine.CompileSemantic(p.Target, source)
			}
		}
	}
}
