package meta

import (
	"cmp"
	"slices"

	"restsrv/engine"
	"restsrv/engine/mistake"
)

// masksDir and validatorsDir are the folders of masks and validators. Each of these has a file, such as
// phone.mask.json or phone.valid.json.
const (
	masksDir      = "masks"
	validatorsDir = "validators"
)

// described is a mask or a validator. The server reads only the name, and sends everything to clients.
type described struct {
	name string
	said engine.Fields
}

func readMasks(r *presentationReader) []described { return readNamed(r, masksDir, "an input mask") }

func readNamed(r *presentationReader, dir, what string) []described {
	var all []described
	r.walkDir(dir, func(file string, _ []string) {
		o, ok := r.readObject(file, what, mistake.PresentationFile)
		if !ok {
			return
		}
		one := described{r.readName(o, "name"), o.Fields}
		if one.name == "" {
			return
		}
		if i := slices.IndexFunc(all, func(n described) bool { return n.name == one.name }); i >= 0 {
			o.Warn("name", "the name "+engine.Quote(one.name)+" again", "each name once: this file counts")
			all = slices.Delete(all, i, i+1)
		}
		all = append(all, one)
	})
	slices.SortFunc(all, func(a, b described) int { return cmp.Compare(a.name, b.name) })
	return all
}

// builtinValidators returns the checks that the server applies to all written values. For forms, each check is a
// JavaScript expression, in which viewValue is the value that the user has entered.
func builtinValidators() []described {
	var all []described
	for _, v := range []struct{ name, caption, expression string }{
		{"required", "A value is required", "viewValue != null && viewValue !== ''"},
		{"integer", "A whole number", `viewValue == null || viewValue === '' || /^[-+]?\d+$/.test(viewValue)`},
		{"number", "A number", `viewValue == null || viewValue === '' || isFinite(viewValue)`},
		{"date", "A date", `viewValue == null || viewValue === '' || !isNaN(new Date(viewValue))`},
	} {
		all = append(all, described{v.name, engine.Fields{
			{Name: "name", Value: v.name}, {Name: "caption", Value: v.caption}, {Name: "assignByContainer", Value: false},
			{Name: "validationExpression", Value: v.expression}, {Name: "mask", Value: nil}, {Name: "builtin", Value: true},
		}})
	}
	return all
}

func readValidators(r *presentationReader) []described {
	all := readNamed(r, validatorsDir, "a validator of input")
	for _, v := range builtinValidators() {
		if !slices.ContainsFunc(all, func(n described) bool { return n.name == v.name }) {
			all = append(all, v)
		}
	}
	slices.SortFunc(all, func(a, b described) int { return cmp.Compare(a.name, b.name) })
	return all
}

// Mask implements service.Presentation.
func (p *Presentation) Mask(name string) (engine.Fields, error) {
	all, err := p.masks.get(p, "the masks of the application", readMasks)
	for _, m := range all {
		if m.name == name {
			return m.said, err
		}
	}
	return engine.Fields{}, err
}

// Validators implements service.Presentation.
func (p *Presentation) Validators() ([]engine.Fields, error) {
	all, err := p.validators.get(p, "the validators of the application", readValidators)
	if err != nil {
		return nil, err
	}
	list := make([]engine.Fields, len(all))
	for i, v := range all {
		list[i] = v.said
	}
	return list, nil
}
