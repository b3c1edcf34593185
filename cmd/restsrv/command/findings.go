package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"restsrv/engine"
	"restsrv/engine/deploy"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
	"restsrv/engine/server"
	"restsrv/engine/server/appdata"
)

// findings collects the results of restsrv check.
type findings struct {
	all     []finding
	notes   []string // lines that do not count as differences
	stops   bool     // a server would not start
	scripts int      // number of script files
}

// finding is a fault, or a line of text if it does not concern a file with settings.
type finding struct {
	engine.Fault
	text string // line to print; if "", the text of the fault
}

func (f finding) String() string { return first(f.text, f.Fault.String()) }

// MarshalJSON returns the object that check -json prints.
func (f finding) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		File       string `json:"file"`
		Line       int    `json:"line"`
		Column     int    `json:"column"`
		Path       string `json:"path"`
		Level      string `json:"level"`
		Code       string `json:"code"`
		Found      string `json:"found"`
		Expected   string `json:"expected"`
		Resolution string `json:"resolution"`
	}{f.File, f.Line, f.Column, f.Path, f.Level.String(), f.Code, f.Found, f.Expected, f.Resolution})
}

// printFindings prints each finding as a JSON object on one line. It returns errDiffers if there
// are any.
func printFindings(w io.Writer, all []finding) error {
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	for _, f := range all {
		if err := lines.Encode(f); err != nil {
			return err
		}
	}
	if len(all) > 0 {
		return ErrDiffers
	}
	return nil
}

func (f *findings) addFaults(all engine.Faults) {
	for _, fault := range all {
		f.all = append(f.all, finding{Fault: fault})
	}
}

// findingPlace matches file, line and column at the start of a line.
var findingPlace = regexp.MustCompile(`^([^\s:]+)(?::(\d+):(\d+))?: `)

// addText adds a finding with a line of text, which may start with a place.
func (f *findings) addText(level engine.Level, text string) {
	one := finding{text: text, Fault: engine.Fault{Level: level, Found: text}}
	if m := findingPlace.FindStringSubmatch(text); m != nil {
		one.File, one.Found = m[1], text[len(m[0]):]
		one.Line, _ = strconv.Atoi(m[2])
		one.Column, _ = strconv.Atoi(m[3])
	}
	f.all = append(f.all, one)
}

// addFatal adds an error that would prevent the start of a server.
func (f *findings) addFatal(err error) {
	var faults engine.Faults
	switch {
	case err == nil:
		return
	case errors.As(err, &faults):
		f.addFaults(faults)
	default:
		for _, line := range strings.Split(err.Error(), "\n") {
			f.addText(engine.Fatal, line)
		}
	}
	f.stops = true
}

// addFilling adds the accounts and objects that would be refused at the first start of a server.
func (f *findings) addFilling(c *deploy.Config, done appdata.Filled) {
	f.addFaults(done.Left)
	f.addFaults(done.Access.Faults)
	for _, line := range done.Access.Refused {
		f.addText(engine.Mistake, line+": "+mistake.ACLEntry.Resolution)
		one := &f.all[len(f.all)-1]
		one.Code, one.Resolution = mistake.ACLEntry.Code, mistake.ACLEntry.Resolution
	}
	if done.Report == nil {
		return
	}
	for _, r := range done.Report.Refused {
		fault := engine.Fault{File: path.Join(appdata.DataDir, r.Where), Line: r.Line, Column: r.Column, Found: r.Found, Expected: r.Expected}
		switch {
		case r.Found != "":
		case strings.HasPrefix(r.Reason, "malformed JSON "):
			fault.Found, fault.Expected = r.Reason, fits[r.Rule]
		case r.Attribute != "":
			fault.Found, fault.Expected = first(foundIn[r.Rule], "a value"), fits[r.Rule]+": "+r.Reason
		default:
			fault.Found, fault.Expected = first(foundIn[r.Rule], "an object"), fits[r.Rule]+": "+r.Reason
		}
		f.addInObject(c, r.Rule, fault, r.Attribute, r.Reason)
	}
	for _, name := range done.Report.IgnoredNames() {
		found := fmt.Sprintf("%s of attribute %s, which does not exist, from here on", countText(done.Report.Ignored[name], "value"), name)
		fault := engine.Fault{File: path.Join(appdata.DataDir, done.Report.IgnoredIn[name]), Found: found, Expected: "an attribute of the class"}
		f.addInObject(c, mistake.ValueUnknown, fault, name[strings.LastIndexByte(name, '.')+1:], "found "+found)
	}
}

// fits maps each rule about data files to the text of the expected value in findings.
var fits = map[*mistake.Rule]string{
	mistake.ObjectUnreadable: "a JSON object in a file named class@namespace@id.json",
	mistake.ObjectClass:      "an object of a class that can have objects",
	mistake.ObjectUnnamed:    "a file named class@namespace@id.json",
	mistake.ObjectKey:        "a key that the class can have",
	mistake.ObjectRefused:    "an object that the database takes",
	mistake.ValueMisfit:      "a value of the type of the attribute",
	mistake.ValueFile:        "a regular file in the data folder",
	mistake.ValueStage:       "a workflow of the class and one of its stages",
	mistake.DataArchive:      "a zip file of files named class@namespace@id.json",
	mistake.DataSequences:    "a whole number",
	mistake.DataOther:        "a file of an object",
}

// foundIn maps rules about data files to the text of the found value in findings. For other rules,
// the text is "a value" if the finding is about an attribute, and otherwise "an object".
var foundIn = map[*mistake.Rule]string{
	mistake.ObjectUnreadable: "a file",
	mistake.ValueFile:        "an object",
	mistake.ValueStage:       "text",
	mistake.DataArchive:      "a zip file",
	mistake.DataSequences:    "a value",
	mistake.DataOther:        "a file",
}

// addInObject adds a finding about an object in a data file. attribute is "" if the finding
// concerns the whole object. The finding has a line and column if they are known or can be found
// in the file.
func (f *findings) addInObject(c *deploy.Config, rule *mistake.Rule, fault engine.Fault, attribute, reason string) {
	fault.Level, fault.Code, fault.Resolution = rule.Level, rule.Code, rule.Resolution
	if fault.Path = attribute; attribute != "" && fault.Line == 0 {
		fault.Path = jsonfile.Member("", attribute)
	}
	fault = c.Locate(engine.Faults{fault})[0]
	place := fault.File
	if fault.Line > 0 {
		place = fmt.Sprintf("%s:%d:%d", fault.File, fault.Line, fault.Column)
	}
	f.all = append(f.all, finding{Fault: fault, text: place + ": " + reason + ": " + fault.Resolution})
}

// sortUnique returns the findings ordered by file and line, without repetitions.
func (f *findings) sortUnique(c *deploy.Config) []finding {
	slices.SortStableFunc(f.all, func(a, b finding) int { return appdata.CompareFaults(c, a.Fault, b.Fault) })
	told := map[string]bool{}
	return slices.DeleteFunc(f.all, func(one finding) bool {
		text := one.String()
		again := told[text]
		told[text] = true
		return again
	})
}

// unusedSettings returns a fault for each setting in deploy.json that has no effect. It leaves out
// a setting if its name occurs in a script, since the script may read it. It also leaves out the
// mistakes in options of built-in services, which the warnings of the application already contain.
func unusedSettings(a *appdata.App, scripts []string) engine.Faults {
	var texts [][]byte
	for _, file := range scripts {
		if text, err := os.ReadFile(file); err == nil {
			texts = append(texts, text)
		}
	}
	var faults engine.Faults
	for _, u := range a.Config.Unused {
		named := func(text []byte) bool { return bytes.Contains(text, []byte(u.Setting)) }
		if u.Setting == "" || !slices.ContainsFunc(texts, named) {
			faults = append(faults, u.Fault)
		}
	}
	reported := func(f engine.Fault) bool { // among the mistakes in options of built-in services
		return slices.ContainsFunc(a.Warnings, func(w engine.Fault) bool {
			return w.Code == mistake.ServiceOptions.Code && w.File == f.File && w.Path == f.Path
		})
	}
	return slices.DeleteFunc(a.Config.Locate(faults), reported)
}

// scriptFiles returns the paths of the scripts of all services.
func scriptFiles(a *appdata.App) []string {
	var files []string
	for _, svc := range a.Config.Services {
		if svc.Script != "" {
			files = append(files, a.Config.Abs(svc.Script))
		}
	}
	return files
}

// missingScripts returns a fault for each script that does not exist. Each fault points to the
// first service in deploy.json that uses the script.
func missingScripts(a *appdata.App) engine.Faults {
	var faults engine.Faults
	services := map[string][]string{}
	for _, svc := range a.Config.Services {
		if svc.Missing {
			services[svc.Script] = append(services[svc.Script], svc.Name)
		}
	}
	for _, svc := range a.Config.Services {
		if names := services[svc.Script]; svc.Missing && names[0] == svc.Name {
			answers := "service " + names[0] + " answers 503"
			if len(names) > 1 {
				answers = "services " + strings.Join(names, ", ") + " answer 503"
			}
			faults = append(faults, engine.Fault{File: a.Config.File, Path: svc.Path + ".module", Level: engine.Warning, Found: engine.Quote(svc.Script) + ", which is not there",
				Expected: "a script: " + answers})
		}
	}
	return a.Config.Locate(faults)
}

// withoutScripts returns the names of services with scripts that do not exist.
func withoutScripts(a *appdata.App) []string {
	var names []string
	for _, svc := range a.Config.Services {
		if svc.Missing {
			names = append(names, svc.Name)
		}
	}
	return names
}

// addPartlyRead adds a note for each cached attribute with stored values that a role cannot read.
func (f *findings) addPartlyRead(ctx context.Context, b *server.Sandbox) error {
	roles, err := b.Database().Policy.Roles(ctx)
	if err != nil {
		return err
	}
	for _, role := range roles {
		all, err := b.Checker().PartlyReads(ctx, &engine.Account{Name: role.ID, Roles: []string{role.ID}})
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
