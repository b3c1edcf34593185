package oracle

import (
	"maps"
	"strings"
)

// Workflow is a workflow of a class.
type Workflow struct {
	Name, Caption, Class, Start string

	States      []State
	Transitions []Transition
}

// State is a state of a workflow. Holds is the condition that an object in this state must
// satisfy. An object that does not satisfy it is in no state of the workflow. A nil Holds accepts
// every object.
type State struct {
	Name, Caption string
	Holds         func(*World, *Object) bool
}

// Transition leads from one state to another state and assigns values. It is possible only for
// objects that satisfy the condition Holds. A nil Holds accepts every object.
type Transition struct {
	Name, Caption, From, To string
	Holds                   func(*World, *Object) bool
	Assign                  func(*World, *Object) Fields
}

func (f *Workflow) findState(name string) *State {
	for i := range f.States {
		if f.States[i].Name == name {
			return &f.States[i]
		}
	}
	return nil
}

// stageOf returns the state of an object in the workflow.
func (f *Workflow) stageOf(o *Object) *State {
	name := o.stages[f.Name]
	if name == "" {
		name = f.Start
	}
	return f.findState(name)
}

func conditionHolds(w *World, o *Object, condition func(*World, *Object) bool) bool {
	return condition == nil || condition(w, o)
}

// answerWorkflow executes a request to the service workflows. Each move in a list is atomic. The
// answer lists the refused moves.
func (w *World) answerWorkflow(r Request) Answer {
	c := w.Class(r.Class)
	if c == nil || w.Object(c, r.ID) == nil {
		return Answer{Status: 404, Code: "not-found"}
	}
	id := r.ID
	if r.Method == "GET" {
		return Answer{Status: 200, Body: w.workflowStatus(w.Object(c, id))}
	}
	refused := []any{}
	list, _ := r.Body.([]any)
	for _, e := range list {
		s := &saving{World: w.copy()}
		o := s.Object(c, id)
		workflow, name, _ := strings.Cut(e.(string), ".")
		if fault := s.tryMove(o, workflow, name, r.Method == "PUT"); fault != nil {
			refused = append(refused, fault)
			continue
		}
		*w = *s.World
		id = o.ID()
	}
	return Answer{Status: 200, Body: Encode(refused), Objects: []*Object{w.Object(c, id)}}
}

// tryMove moves an object by a transition or into a state. If the move is refused, it returns the
// entry for the answer.
func (s *saving) tryMove(o *Object, workflow, name string, byTransition bool) (fault any) {
	refused := func(code string, params ...any) any { return JSON("code", code, "params", JSON(params...)) }
	var f *Workflow
	for i := range s.Workflows {
		if s.Workflows[i].Name == workflow && isBelow(o.Class, s.Class(s.Workflows[i].Class)) {
			f = &s.Workflows[i]
		}
	}
	if f == nil {
		return refused("workflow.wnf", "workflow", workflow)
	}
	info := o.Class.FullName + "@" + o.ID()
	to := f.findState(name)
	if !byTransition && to == nil {
		return refused("workflow.snf", "state", name, "workflow", f.Caption)
	}
	if byTransition {
		var t *Transition
		for i := range f.Transitions {
			if f.Transitions[i].Name == name {
				t = &f.Transitions[i]
			}
		}
		at := f.stageOf(o)
		switch {
		case t == nil:
			return refused("workflow.tnf", "workflow", f.Caption, "trans", name)
		case !conditionHolds(s.World, o, at.Holds):
			return refused("workflow.nw", "workflow", f.Caption, "info", info)
		case t.From != at.Name || !conditionHolds(s.World, o, t.Holds):
			return refused("workflow.ti", "workflow", f.Caption, "trans", t.Caption)
		}
		if values := t.Assign(s.World, o); len(values) > 0 {
			in := s.bindRecord(o.Class, values, false)
			in.id = o.ID()
			s.save(in, updating)
		}
		to = f.findState(t.To)
	}
	if !conditionHolds(s.World, o, to.Holds) {
		return refused("workflow.cv", "workflow", f.Caption, "info", o.Class.FullName+"@"+o.ID(), "state", to.Caption)
	}
	stages := map[string]string{}
	maps.Copy(stages, o.stages)
	if stages[f.Name] = to.Name; !byTransition && to.Name == f.Start {
		delete(stages, f.Name) // the object is in the start state again, as if it was never moved
	}
	o.stages = stages
	return nil
}

// workflowStatus returns the answer about the states of an object. All times in it are the token
// Time.
func (w *World) workflowStatus(o *Object) string {
	var stages []string
	for i := range w.Workflows {
		f := &w.Workflows[i]
		at := f.stageOf(o)
		if !isBelow(o.Class, w.Class(f.Class)) || !conditionHolds(w, o, at.Holds) {
			continue
		}
		fields := JSON("stage", at.Name)
		if o.stages[f.Name] != "" { // set if it was moved there
			fields = append(fields, Field{"since", Time})
		}
		next := Fields{}
		for _, t := range f.Transitions {
			if t.From == at.Name && conditionHolds(w, o, t.Holds) {
				next = append(next, Field{t.Name, JSON("name", t.Name, "caption", t.Caption, "signBefore", false, "signAfter", false, "confirm", false, "confirmMessage", nil)})
			}
		}
		fields = append(fields, JSON("next", next, "workflowCaption", f.Caption, "stageCaption", at.Caption)...)
		stages = append(stages, Encode(f.Name)+":"+Encode(fields))
	}
	return `{"stages":{` + strings.Join(stages, ",") + `},"itemPermissions":{},"propertyPermissions":{},"selectionProviders":{}}`
}

// Time is the token for all times. Tokens for different times are equal.
const Time = "«time»"
