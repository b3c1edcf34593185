// Package query parses queries: filters in their two languages and in the lists of conditions of class files, sort
// orders, searches, aggregations, cursors, and the references to load. The resulting types are part of the model,
// because repositories use them: engine.Filter, engine.Expr, engine.Sort, engine.Load, engine.Position and
// engine.Aggregation.
//
// Use ParseFilter for the filters of clients. For a condition in a file, use ParseOwnFilter if it is on the item
// itself, ParseAccountFilter if it depends on the account, and ParseMemberFilter if it selects the members of a
// collection.
//
// Reading order: condition.go (the entry points and the state of a parser), operand.go, function.go and
// datefunction.go (the values that conditions compare), mongo.go and conditionlist.go (the other ways to write
// conditions), compare.go and convert.go (types of operands), path.go (paths through references).
//
// Every parser checks its input against a class. If the class is a view (see engine.Views), hidden attributes do not
// exist for the parser. Errors for clients have the code Invalid.
package query
