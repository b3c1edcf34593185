package account

import (
	"context"
	"strings"

	"restsrv/engine"
)

// buildAccount converts a stored account to an engine.Account and calls Config.Enrich for
// it. Errors: Unavailable if Enrich fails, Timeout when ctx ends.
func (s *directory) buildAccount(ctx context.Context, item *engine.Item) (*engine.Account, error) {
	a := &engine.Account{
		ID: item.ID, Name: item.Text("name"), Roles: splitRoles(item.Text("roles")), Revision: item.Revision,
		Properties: storedProperties(item),
	}
	if s.enrich == nil {
		return a, nil
	}
	err := s.enrich(engine.AsServer(ctx), a)
	switch {
	case err == nil:
		return a, nil
	case ctx.Err() != nil:
		return nil, timeoutError(ctx.Err())
	}
	if code := engine.CodeOf(err); code == engine.Unavailable || code == engine.Timeout {
		return nil, err
	}
	e := engine.Errorf(engine.Unavailable, "account-data", "what belongs to the account could not be found out, try again later")
	e.Err = err
	return nil, e
}

func splitRoles(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

func isDisabled(item *engine.Item) bool {
	off, _ := item.Get("disabled").(bool)
	return off
}

// storedProperties returns the stored properties of an account.
func storedProperties(item *engine.Item) engine.Fields {
	fields, _ := engine.JSONText(item.Text("properties")).Decode().(engine.Fields)
	return fields
}

// propertiesText returns properties as they are stored; nil if there are no
// properties.
func propertiesText(p engine.Fields) any {
	if len(p) == 0 {
		return nil
	}
	return string(engine.AppendValue(nil, p))
}

// SetProperties replaces the properties of an account. Only applications use these properties.
// Errors: NotFound.
func (s *Store) SetProperties(ctx context.Context, id string, p engine.Fields) error {
	return s.changeAccount(ctx, id, "properties", engine.Named("properties", propertiesText(p)))
}
