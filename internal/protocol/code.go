package protocol

// Code is an error code of the protocol's one code space: the status of a reply header, the code of a
// result section and an error of our own client. 0 is success. The table in codes_table.go gives name,
// kind and retriability.
type Code uint32

// Success is the absence of an error.
const Success Code = 0
