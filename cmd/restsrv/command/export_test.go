package command

// OpenForAccess is used by the tests of package command_test.
var OpenForAccess = openForAccess
