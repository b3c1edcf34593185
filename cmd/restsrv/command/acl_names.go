package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/acl"
	"restsrv/engine/suggest"
)

func aclRoleAdd(ctx context.Context, r *aclRun, args []string) error {
	if err := r.policy.AddRole(ctx, args[0], first(r.name, args[0])); err != nil {
		return err
	}
	fmt.Fprintf(r.io.Out, "role %s added\n", args[0])
	return nil
}

func aclRoleRemove(ctx context.Context, r *aclRun, args []string) error {
	if err := r.policy.RemoveRole(ctx, args[0]); err != nil {
		return err
	}
	fmt.Fprintf(r.io.Out, "role %s removed\n", args[0])
	all, err := r.accounts.List(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, a := range all {
		if slices.Contains(a.Roles, args[0]) {
			names = append(names, tableCell(a.ID))
		}
	}
	if len(names) > 0 {
		r.warn("these accounts still have the role, which gives no permissions any more: %s (restsrv user role remove)", strings.Join(names, ", "))
	}
	return nil
}

func aclRoleList(ctx context.Context, r *aclRun, _ []string) error {
	all, err := r.policy.Roles(ctx)
	if err != nil {
		return err
	}
	rows := make([][]string, len(all))
	for i, role := range all {
		rows[i] = []string{role.ID, role.Name}
	}
	return r.printTable([]string{"ROLE", "NAME"}, rows)
}

func aclResourceDeclare(ctx context.Context, r *aclRun, args []string) error {
	if err := r.checkResource(args[0]); err != nil {
		return err
	}
	grants, err := r.policy.Grants(ctx)
	if err != nil {
		return err
	}
	if err := r.policy.DeclareResource(ctx, args[0], r.name); err != nil {
		return err
	}
	fmt.Fprintf(r.io.Out, "resource %s declared\n", args[0])
	if strings.HasPrefix(args[0], engine.AttributeResource) && !grants.Known(args[0]) {
		r.warn("%s", protectionWarning(args[0]))
	}
	return nil
}

func aclResourceRemove(ctx context.Context, r *aclRun, args []string) error {
	if err := r.policy.RemoveResource(ctx, args[0]); err != nil {
		return err
	}
	fmt.Fprintf(r.io.Out, "resource %s removed\n", args[0])
	if strings.HasPrefix(args[0], engine.AttributeResource) {
		r.warn("%s is not protected any more: accounts that may read its objects can read it", tableCell(args[0]))
	}
	return nil
}

func aclResourceList(ctx context.Context, r *aclRun, _ []string) error {
	all, err := r.policy.Resources(ctx)
	if err != nil {
		return err
	}
	rows := make([][]string, len(all))
	for i, resource := range all {
		rows[i] = []string{resource.ID, resource.Name}
	}
	return r.printTable([]string{"RESOURCE", "NAME"}, rows)
}

// checkResource returns an error if a resource has an invalid form. It prints a warning if the
// application does not have its class or attribute.
func (r *aclRun) checkResource(resource string) error {
	warning, err := acl.CheckResource(resource)
	if err != nil {
		return err
	}
	if warning == "" && r.meta != nil {
		warning = r.unknownNames(resource)
	}
	if warning != "" {
		r.warn("%s", warning)
	}
	return nil
}

// unknownNames returns a warning if the application does not have the class or attribute in a
// resource. Otherwise it returns "".
func (r *aclRun) unknownNames(resource string) string {
	prefix, rest, _ := strings.Cut(resource, ":::")
	switch prefix + ":::" {
	case engine.ClassResource:
		_, warning := r.findClass(rest)
		return warning
	case engine.ItemResource:
		parts := strings.SplitN(rest, "@", 3)
		_, warning := r.findClass(strings.Join(parts[:min(2, len(parts))], "@"))
		return warning
	case engine.AttributeResource:
		for i := range rest { // the name of an attribute in a structure contains dots
			if rest[i] != '.' {
				continue
			}
			if c, err := r.meta.Class(rest[:i]); err == nil {
				return attributeWarning(c, rest[i+1:])
			}
		}
		_, warning := r.findClass(rest[:strings.LastIndexByte(rest, '.')])
		return warning
	}
	return ""
}

func (r *aclRun) findClass(name string) (*engine.Class, string) {
	c, err := r.meta.Class(name)
	if err == nil {
		return c, ""
	}
	var names []string
	for _, c := range r.meta.Classes() {
		names = append(names, c.FullName)
	}
	return nil, fmt.Sprintf("the application has no class %s%s", engine.Quote(name), nearestHint(name, names))
}

func attributeWarning(c *engine.Class, name string) string {
	inner := strings.ReplaceAll(name, ".", "$")
	p := c.Property(inner)
	if i := slices.IndexFunc(c.Properties, func(p *engine.Property) bool { return strings.HasPrefix(p.Name, inner+"$") }); p == nil && i >= 0 {
		p = c.Properties[i] // any attribute of the structure
	}
	switch {
	case p == nil:
		var names []string
		for _, p := range c.Properties {
			names = append(names, p.Name)
		}
		return fmt.Sprintf("class %s has no attribute %s%s", c.FullName, engine.Quote(name), nearestHint(name, names))
	case slices.Contains(c.KeyProperties(), p):
		return fmt.Sprintf("attribute %s is of the key of class %s: the ids of its objects show it", engine.Quote(name), c.FullName)
	case p.Definition != "" && p.Definition != c.FullName:
		return fmt.Sprintf("attribute %s is declared by class %s: it is protected in all classes that inherit it", engine.Quote(name), p.Definition)
	}
	return ""
}

func nearestHint(name string, names []string) string {
	if near := suggest.Nearest(name, names); near != "" {
		return ": is " + engine.Quote(near) + " meant?"
	}
	return ""
}
