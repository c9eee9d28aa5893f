package protocol

import "strconv"

// Code is an error code of the protocol's one code space: the status of a reply header, the code of a
// result section and an error of a client. 0 is success. A Code is an error that can be compared.
type Code uint32

// Success is the absence of an error.
const Success Code = 0

// Kind sorts codes by what a caller can do about them.
type Kind uint8

// Kinds of error.
const (
	KindInternal    Kind = iota // a fault of the server, or unspecified
	KindInput                   // the request is wrong
	KindAuth                    // sign in, or ask for the right
	KindNotFound                // what the request names does not exist
	KindConflict                // what the request makes exists, or must not change
	KindLimit                   // a limit is reached
	KindTransient               // the same request may succeed later
	KindCorrupt                 // data failed its checks
	KindEnvironment             // disk, network or operating system
)

// CodeInfo describes a code.
type CodeInfo struct {
	Name string
	Kind Kind
	// Retriable tells that the identical request may be sent again.
	Retriable bool
	Text      string
}

// Info describes c; a code that is not assigned is described like code 1.
func (c Code) Info() CodeInfo {
	if i, ok := codeTable[c]; ok {
		return i
	}
	return codeTable[CodeError]
}

// Error returns the name, number and meaning.
func (c Code) Error() string {
	if c == Success {
		return "success"
	}
	i := c.Info()
	return i.Name + " (" + strconv.Itoa(int(c)) + "): " + i.Text
}
