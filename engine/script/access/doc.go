// Package access has the objects for accounts and permissions: req.user, and the components auth, wsAuth and
// aclProvider that options of a service can name.
package access
