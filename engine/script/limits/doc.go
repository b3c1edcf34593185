// Package limits has the limits of scripts: time, memory, and sizes of the values that a script can make. Every package
// of the script room uses them.
package limits
