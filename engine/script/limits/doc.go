// Package limits defines the limits for scripts: time, memory, and the size of values. All packages below
// engine/script use it.
package limits
