package meta

import (
	"cmp"
	"strconv"
	"strings"

	"restsrv/engine"
	"restsrv/engine/mistake"
)

// chooseVersions selects one draft for each class:
//   - If files describe several versions of a class, it selects the latest version. Items of older versions are read
//     with the latest version.
//   - If several files have the same version, it selects the last file.
//
// It adds a warning for each file that is not selected. These files are not checked further.
func chooseVersions(all []*draft) []*draft {
	chosen := make(map[string]*draft, len(all))
	for _, d := range all {
		other := chosen[d.class.FullName]
		switch {
		case other == nil:
			chosen[d.class.FullName] = d
		case d.class.Version == other.class.Version && (d.inline || other.inline):
			d.Fault(d.At("name"), "class "+engine.Quote(d.class.FullName)+" again", "one class of that name: "+other.describePlace()+" has it")
		case compareVersions(d.class.Version, other.class.Version) >= 0:
			other.warnUnused(d)
			chosen[d.class.FullName] = d
		default:
			d.warnUnused(other)
		}
	}
	kept := make([]*draft, 0, len(chosen))
	for _, d := range all {
		if chosen[d.class.FullName] == d {
			kept = append(kept, d)
		}
	}
	return kept
}

// warnUnused warns that d is not used, because the draft other is used instead.
func (d *draft) warnUnused(other *draft) {
	name := "class " + engine.Quote(d.class.FullName)
	if d.class.Version == other.class.Version {
		d.Warn(d.At("name"), name+", which "+other.describePlace()+" describes again", "one file for a class: this one is not used")
		return
	}
	d.Warn(d.At("version"), name+" in version "+engine.Quote(d.class.Version)+", an older one than "+engine.Quote(other.class.Version)+" of "+other.describePlace(),
		"the latest version only: this one is not used, and its objects are read as the latest has them")
}

func (d *draft) describePlace() string {
	if d.Path == "" {
		return d.File
	}
	return d.File + " " + d.Path
}

// compareVersions compares versions part by part. Two parts are compared as numbers if both are numbers, so 1.9 comes
// before 1.10. The version "" comes before all others.
func compareVersions(a, b string) int {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(as), len(bs)) {
		n, errA := strconv.ParseUint(as[i], 10, 64)
		m, errB := strconv.ParseUint(bs[i], 10, 64)
		order := strings.Compare(as[i], bs[i])
		if errA == nil && errB == nil {
			order = cmp.Compare(n, m)
		}
		if order != 0 {
			return order
		}
	}
	if order := cmp.Compare(len(as), len(bs)); order != 0 {
		return order
	}
	return strings.Compare(a, b)
}

// checkCase reports classes with names that differ only in letter case. Tables are named after classes, and some
// databases ignore the case.
func checkCase(all []*draft) {
	first := make(map[string]*draft, len(all))
	for _, d := range all {
		folded := strings.ToLower(d.class.FullName)
		if other := first[folded]; other != nil {
			d.Report(mistake.ClassCase, d.At("name"), "class "+engine.Quote(d.class.FullName), "a name that differs from "+engine.Quote(other.class.FullName)+" in more than letter case")
			continue
		}
		first[folded] = d
	}
}
