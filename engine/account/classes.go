package account

import (
	"fmt"

	"restsrv/engine"
)

// Names of the system classes. They cannot collide with application classes,
// because a class name must not begin with #.
const (
	accountClass = "#account"
	tokenClass   = "#token"
	seenClass    = "#seen"
)

// Classes returns new system classes, in which this package stores accounts and tokens. Open the
// store with these classes and the classes of the application, and pass the same slice to New. No
// other package should use them: the MetaRepository of the application must not contain them.
func Classes() []*engine.Class {
	property, indexed := engine.SystemProperty, engine.SystemIndexed
	return []*engine.Class{
		engine.SystemClass(accountClass,
			property("id", engine.String),
			property("name", engine.String),
			property("pwd", engine.String), // the hash; a property of type Password would be hashed again
			property("pwdDate", engine.DateTime),
			property("disabled", engine.Boolean),
			property("ended", engine.DateTime), // when the account was last disabled: older tokens, sessions and grants are void
			property("needPwdReset", engine.Boolean),
			property("roles", engine.Text),      // role ids, one a line
			property("properties", engine.Text), // JSON object, or null
			indexed("folded", engine.String),    // see foldName; null in accounts of older versions
		),
		engine.SystemClass(tokenClass,
			property("id", engine.String),
			uniqueProperty(property("hash", engine.String)), // SHA-256, hex
			indexed("account", engine.String),
			property("name", engine.String),
			property("created", engine.DateTime),
			property("expires", engine.DateTime),
			property("pwdDate", engine.DateTime), // the account's validFrom when it was issued; null in tokens of older versions
		),
		engine.SystemClass(seenClass, property("id", engine.String)), // the names that Import used, as "account id"; older versions stored "role id" too
	}
}

func uniqueProperty(p *engine.Property) *engine.Property {
	p.Unique = true
	return p
}

// classSet holds the system classes, each in a field named after its items.
type classSet struct{ account, token, seen *engine.Class }

func findClasses(classes []*engine.Class) (classSet, error) {
	var s classSet
	for _, c := range classes {
		switch c.FullName {
		case accountClass:
			s.account = c
		case tokenClass:
			s.token = c
		case seenClass:
			s.seen = c
		}
	}
	if s.account == nil || s.token == nil || s.seen == nil {
		return s, fmt.Errorf("the system classes %s, %s and %s are needed, as account.Classes makes them",
			accountClass, tokenClass, seenClass)
	}
	return s, nil
}
