// Package units reads and writes byte sizes and durations the way configuration files, environment
// variables and command lines spell them: "10 MB", "1.5 GiB", "unlimited", "5 s", "1day 2h".
//
// Parsing is strict about meaning and lenient about spelling: spaces between number and unit are free, words
// may be in any case, but a bare number is not a duration and an unknown unit is never guessed. What Format
// and String write, the parsers read back to the same value.
//
// Every refusal is an *Error that names the text and wraps one of the Err values. All functions are pure.
package units
