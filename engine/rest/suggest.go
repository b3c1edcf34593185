package rest

import (
	"context"
	"log/slog"
	"regexp"
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/suggest"
)

// suggestName adds the nearest known name to an error of a handler about an unknown class or
// attribute. It suggests only classes on which the account of ctx has a permission, and
// attributes that are not hidden from this account.
func (s *Server) suggestName(ctx context.Context, err error) error {
	e, ok := err.(*engine.Error)
	if !ok || s.cfg.Files.Meta == nil || s.cfg.Files.Data == nil {
		return err
	}
	var hint string
	switch e.Reason {
	case "unknown-class":
		hint = s.suggestClass(ctx, e.Class)
	case "unknown-attribute":
		hint = s.suggestAttribute(ctx, e.Class, e.Attribute)
	}
	if hint == "" {
		return err
	}
	suggesting := *e
	suggesting.Message += hint
	return &suggesting
}

// maxHidden is the maximum number of similar class names that suggestClass tries. It tries the
// next name if the account may not know about the class.
const maxHidden = 5

func (s *Server) suggestClass(ctx context.Context, name string) string {
	var names []string
	for _, c := range s.cfg.Files.Meta.Classes() {
		names = append(names, c.FullName)
	}
	for range maxHidden {
		near := suggest.Nearest(name, names)
		if near == "" {
			return ""
		}
		if c, err := s.cfg.Files.Meta.Class(near); err == nil && s.mayKnow(ctx, c) {
			return suggest.DidYouMean(name, []string{near})
		}
		names = slices.DeleteFunc(names, func(other string) bool { return other == near })
	}
	return ""
}

// mayKnow reports whether the account of ctx has a permission on objects of the class.
func (s *Server) mayKnow(ctx context.Context, c *engine.Class) bool {
	for _, p := range []engine.Permission{engine.MayRead, engine.MayWrite, engine.MayUse} {
		if engine.Allow(ctx, s.cfg.Files.Data, c, p) == nil {
			return true
		}
	}
	return false
}

func (s *Server) suggestAttribute(ctx context.Context, class, name string) string {
	c, err := s.cfg.Files.Meta.Class(class)
	if err != nil || !s.mayKnow(ctx, c) {
		return ""
	}
	view, err := engine.ViewOf(ctx, s.cfg.Files.Data, c)
	if err != nil {
		return ""
	}
	var names []string
	for _, p := range view.Properties {
		if !view.Hides(p) && !strings.Contains(p.Name, "$") {
			names = append(names, p.Name)
		}
	}
	return suggest.DidYouMean(name, names)
}

// suggestRoute returns the path of the service that is most similar to an unknown path. The
// caller must have passed the authentication of the service.
func (r *router) suggestRoute(path string) string {
	given := strings.Split(path, "/")
	var paths []string
	for i := range r.routes {
		if p := fillPattern(strings.Split(r.routes[i].Path, "/"), given); p != "" && p != path {
			paths = append(paths, p)
		}
	}
	return suggest.DidYouMean(path, paths)
}

// fillPattern returns a path that fits pattern and is similar to the given path. Each part of
// given must be equal or similar to the same part of the pattern, or be the value of a parameter.
// The part of the pattern replaces a similar part. If the path does not fit, or if the pattern
// contains special characters, the result is "".
func fillPattern(pattern, given []string) string {
	if len(pattern) != len(given) {
		return ""
	}
	parts := make([]string, len(given))
	for i, part := range pattern {
		switch {
		case strings.HasPrefix(part, ":") && given[i] != "":
			parts[i] = given[i]
		case strings.ContainsAny(part, "()*?+:"):
			return ""
		case part == given[i] || suggest.Nearest(given[i], []string{part}) != "":
			parts[i] = part
		default:
			return ""
		}
	}
	return strings.Join(parts, "/")
}

// advise logs advice for developers about a refused request.
func (o *responder) advise(e *engine.Error) {
	if !o.server.cfg.Advise || o.req.Account == nil {
		return
	}
	switch e.Reason {
	case "denied":
		resource := "c:::CLASS"
		if class := o.deniedClass(e); class != "" {
			resource = "c:::" + class
		}
		o.server.logAdvice("the account lacks a permission", "request", o.req.ID, "account", o.req.Account.ID, "path", o.req.Path, "to see why", ExplainCommand(o.req.Account.ID, resource))
	case "unknown-route", "unknown-method":
		o.server.logAdvice(e.Message, "request", o.req.ID)
	}
}

// deniedClass returns the full name of the class that a refused request concerns, or "".
func (o *responder) deniedClass(e *engine.Error) string {
	name := e.Class
	if name == "" {
		for _, p := range o.req.Params {
			if p.Name == "class" {
				name = p.Value
			}
		}
	}
	if name == "" || o.server.cfg.Files.Meta == nil {
		return ""
	}
	c, err := o.server.cfg.Files.Meta.Class(name)
	if err != nil {
		return ""
	}
	return c.FullName
}

// adviseService logs that a service does not exist, with the nearest name.
func (s *Server) adviseService(name string) {
	if !s.cfg.Advise {
		return
	}
	var known []string
	for k := range *s.services.Load() {
		known = append(known, k)
	}
	slices.Sort(known)
	s.logAdvice("there is no service " + engine.Quote(name) + suggest.DidYouMean(name, known))
}

func (s *Server) logAdvice(message string, args ...any) {
	s.cfg.Log.Log(context.Background(), slog.LevelInfo, message, args...)
}

// plainWord matches words that have no special meaning for a shell.
var plainWord = regexp.MustCompile(`^[\p{L}\p{N}@.:_/+-]+$`)

// ExplainCommand returns the command that explains the permissions of an account on a
// resource.
func ExplainCommand(account, resource string) string {
	words := []string{"restsrv", "acl", "explain", account, resource}
	for i, w := range words {
		if !plainWord.MatchString(w) {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}
