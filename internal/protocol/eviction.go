package protocol

import "strconv"

// EvictionReason says why a session ended (byte 255 of an eviction frame). 0 is never sent.
type EvictionReason uint8

// Eviction reasons (spec: client wire protocol, eviction reasons). This server sends EvictNoSession and those
// from EvictInvalidCredentials on; the others belong to the protocol and may come from another server.
const (
	EvictNoSession               EvictionReason = 1
	EvictClientReleaseTooLow     EvictionReason = 2
	EvictClientReleaseTooHigh    EvictionReason = 3
	EvictInvalidRequestOperation EvictionReason = 4
	EvictInvalidRequestBody      EvictionReason = 5
	EvictInvalidRequestBodySize  EvictionReason = 6
	EvictSessionTooLow           EvictionReason = 7
	EvictSessionReleaseMismatch  EvictionReason = 8
	EvictInvalidCredentials      EvictionReason = 9
	EvictInvalidToken            EvictionReason = 10
	EvictUserInactive            EvictionReason = 11
	EvictSessionError            EvictionReason = 12
	EvictStaleClient             EvictionReason = 13
	EvictIncompatibleProtocol    EvictionReason = 14
	EvictMalformedLogin          EvictionReason = 15
)

var evictions = [...]struct {
	name string
	code Code
}{
	EvictNoSession:               {"NoSession", CodeUnauthenticated},
	EvictClientReleaseTooLow:     {"ClientReleaseTooLow", CodeInvalidCommand},
	EvictClientReleaseTooHigh:    {"ClientReleaseTooHigh", CodeInvalidCommand},
	EvictInvalidRequestOperation: {"InvalidRequestOperation", CodeInvalidCommand},
	EvictInvalidRequestBody:      {"InvalidRequestBody", CodeInvalidCommand},
	EvictInvalidRequestBodySize:  {"InvalidRequestBodySize", CodeInvalidCommand},
	EvictSessionTooLow:           {"SessionTooLow", CodeUnauthenticated},
	EvictSessionReleaseMismatch:  {"SessionReleaseMismatch", CodeUnauthenticated},
	EvictInvalidCredentials:      {"InvalidCredentials", CodeInvalidCredentials},
	EvictInvalidToken:            {"InvalidToken", CodeInvalidPersonalAccessToken},
	EvictUserInactive:            {"UserInactive", CodeUnauthenticated},
	EvictSessionError:            {"SessionError", CodeUnauthenticated},
	EvictStaleClient:             {"StaleClient", CodeStaleClient},
	EvictIncompatibleProtocol:    {"IncompatibleProtocol", CodeIncompatibleProtocolVersion},
	EvictMalformedLogin:          {"MalformedLogin", CodeInvalidFormat},
}

// String returns the name of a known reason and "eviction N" for any other value.
func (r EvictionReason) String() string {
	if r > 0 && int(r) < len(evictions) {
		return evictions[r].name
	}
	return "eviction " + strconv.Itoa(int(r))
}

// Code is the error that clients of the protocol raise for r; a reason that is not known means
// CodeUnauthenticated.
func (r EvictionReason) Code() Code {
	if r > 0 && int(r) < len(evictions) {
		return evictions[r].code
	}
	return CodeUnauthenticated
}
