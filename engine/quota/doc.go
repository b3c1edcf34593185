// Package quota limits the data that clients can make the server store. Quota counts rows
// and bytes per owner and in total, Bound deletes the oldest rows of an account, and
// Sweeper deletes expired rows.
package quota
