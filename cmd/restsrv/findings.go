package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"restsrv/engine"
	"restsrv/engine/deploy"
	"restsrv/engine/jsonfile"
)

// findings are what check finds.
type findings struct {
	texts   []string
	notes   []string // lines that are printed and do not count as differences
	stops   bool     // a server would not start
	scripts int      // files that services are made of
}

func (f *findings) faults(all engine.Faults) {
	for _, fault := range all {
		f.texts = append(f.texts, fault.String())
	}
}

// stop adds an error that keeps a server from starting.
func (f *findings) stop(err error) {
	if err != nil {
		f.stops = true
		f.texts = append(f.texts, strings.Split(err.Error(), "\n")...)
	}
}

// filling tells what the first start of a server would not take.
func (f *findings) filling(c *deploy.Config, done filled) {
	for _, line := range done.access.refused {
		f.texts = append(f.texts, line+": it is not taken")
	}
	if done.report == nil {
		return
	}
	for _, r := range done.report.Refused {
		f.texts = append(f.texts, inObject(c, r.Where, r.Attribute)+": "+r.Reason+": the object is not taken")
	}
	for _, name := range done.report.IgnoredNames() {
		attribute := name[strings.LastIndexByte(name, '.')+1:]
		f.texts = append(f.texts, fmt.Sprintf("%s: found %s of attribute %s, which does not exist, from here on: passed over",
			inObject(c, done.report.IgnoredIn[name], attribute), counted(done.report.Ignored[name], "value"), name))
	}
}

// inObject is where an attribute of an object of the folder data stands: with
// line and column when it is there.
func inObject(c *deploy.Config, where, attribute string) string {
	at := engine.Fault{File: path.Join(dataDir, where), Path: jsonfile.Member("", attribute)}
	if at = c.Locate(engine.Faults{at})[0]; at.Line == 0 {
		return at.File
	}
	return fmt.Sprintf("%s:%d:%d", at.File, at.Line, at.Column)
}

// sorted are the findings in the order of files, the configuration first, and
// lines, each once.
func (f *findings) sorted(c *deploy.Config) []string {
	type place struct {
		rank         int
		file         string
		line, column int
	}
	of := func(text string) (p place) {
		m := findingPlace.FindStringSubmatch(text)
		if m == nil {
			return place{rank: 2}
		}
		p.file = m[1]
		p.line, _ = strconv.Atoi(m[2])
		p.column, _ = strconv.Atoi(m[3])
		if p.file != c.File && !deploy.IsSource(p.file) {
			p.rank = 1
		}
		return p
	}
	slices.SortStableFunc(f.texts, func(a, b string) int {
		p, q := of(a), of(b)
		return cmp.Or(cmp.Compare(p.rank, q.rank), cmp.Compare(p.file, q.file), cmp.Compare(p.line, q.line), cmp.Compare(p.column, q.column))
	})
	told := map[string]bool{}
	return slices.DeleteFunc(f.texts, func(text string) bool {
		again := told[text]
		told[text] = true
		return again
	})
}

// findingPlace is the file, line and column that a finding begins with.
var findingPlace = regexp.MustCompile(`^([^\s:]+)(?::(\d+):(\d+))?: `)

// unused is what of deploy.json has no effect, but for settings that a script
// names.
func (a *app) unused(scripts []string) engine.Faults {
	var texts [][]byte
	for _, file := range scripts {
		if text, err := os.ReadFile(file); err == nil {
			texts = append(texts, text)
		}
	}
	var faults engine.Faults
	for _, u := range a.config.Unused {
		named := func(text []byte) bool { return bytes.Contains(text, []byte(u.Setting)) }
		if u.Setting == "" || !slices.ContainsFunc(texts, named) {
			faults = append(faults, u.Fault)
		}
	}
	return a.config.Locate(faults)
}

// scripts are the files of the services.
func (a *app) scripts() []string {
	var files []string
	for _, svc := range a.config.Services {
		if svc.Script != "" {
			files = append(files, a.config.Abs(svc.Script))
		}
	}
	return files
}

// missingScripts names the scripts that are not there, once each, at the first
// service that they are of.
func (a *app) missingScripts() engine.Faults {
	var faults engine.Faults
	services := map[string][]string{}
	for _, svc := range a.config.Services {
		if svc.Missing {
			services[svc.Script] = append(services[svc.Script], svc.Name)
		}
	}
	for _, svc := range a.config.Services {
		if names := services[svc.Script]; svc.Missing && names[0] == svc.Name {
			answers := "service " + names[0] + " answers 503"
			if len(names) > 1 {
				answers = "services " + strings.Join(names, ", ") + " answer 503"
			}
			faults = append(faults, engine.Fault{File: a.config.File, Path: svc.Path + ".module", Found: engine.Quote(svc.Script) + ", which is not there",
				Expected: "a script: " + answers})
		}
	}
	return a.config.Locate(faults)
}

// withoutScripts are the services whose scripts are not there.
func (a *app) withoutScripts() []string {
	var names []string
	for _, svc := range a.config.Services {
		if svc.Missing {
			names = append(names, svc.Name)
		}
	}
	return names
}

// partlyRead adds a note for each cached attribute whose stored values are withheld
// from a role of the application.
func (f *findings) partlyRead(ctx context.Context, e *edition) error {
	roles, err := e.db.policy.Roles(ctx)
	if err != nil {
		return err
	}
	for _, role := range roles {
		all, err := e.checker.PartlyReads(ctx, &engine.Account{Name: role.ID, Roles: []string{role.ID}})
		if err != nil {
			return err
		}
		for _, one := range all {
			name := one.Class.FullName + "." + one.Property.Name
			if len(one.Classes) == 0 {
				f.notes = append(f.notes, fmt.Sprintf("note: cached attribute %s is hidden from role %s, which may not read attributes that it is computed from", name, role.ID))
				continue
			}
			var classes []string
			for _, c := range one.Classes {
				classes = append(classes, c.FullName)
			}
			f.notes = append(f.notes, fmt.Sprintf("note: cached attribute %s is computed for role %s when it is read, and it cannot filter or sort by it: it may not read all objects of %s",
				name, role.ID, strings.Join(classes, ", ")))
		}
	}
	return nil
}
