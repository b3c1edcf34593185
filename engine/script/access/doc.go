// Package access implements the JavaScript objects for accounts and permissions: req.user, and the components auth,
// wsAuth and aclProvider, which a service names in its options.
package access
