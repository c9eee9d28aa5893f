package command

import "github.com/galgolog/galgo/internal/protocol"

// CreateToken is the body of command 42. ExpiryMicros counts from now; 0 and 2^64-1 mean never.
type CreateToken struct {
	Name         []byte
	ExpiryMicros uint64
}

// DecodeCreateToken reads a CreateToken.
func DecodeCreateToken(body []byte) (CreateToken, error) {
	r := protocol.NewReader(body)
	c := CreateToken{r.Name("name"), r.U64("expiry")}
	return c, r.Err()
}

// Append encodes c.
func (c CreateToken) Append(dst []byte) []byte {
	return le.AppendUint64(protocol.AppendName(dst, c.Name), c.ExpiryMicros)
}

// TokenHashSize is the length of the hexadecimal hash of a token.
const TokenHashSize = 64

// CreateTokenReplicated is the replicated form of CreateToken: the secret is replaced by its hash.
type CreateTokenReplicated struct {
	User uint32
	CreateToken
	Hash []byte // TokenHashSize bytes
}

// DecodeCreateTokenReplicated reads a CreateTokenReplicated.
func DecodeCreateTokenReplicated(body []byte) (CreateTokenReplicated, error) {
	r := protocol.NewReader(body)
	c := CreateTokenReplicated{r.U32("user"), CreateToken{r.Name("name"), r.U64("expiry")}, r.Bytes(TokenHashSize, "hash")}
	r.End()
	return c, r.Err()
}

// Append encodes c.
func (c CreateTokenReplicated) Append(dst []byte) []byte {
	return append(c.CreateToken.Append(le.AppendUint32(dst, c.User)), c.Hash...)
}

// DecodeName reads the body of command 43 and of others that hold a name alone.
func DecodeName(body []byte) ([]byte, error) {
	r := protocol.NewReader(body)
	n := r.Name("name")
	return n, r.Err()
}

// DeleteTokenReplicated is the replicated form of command 43.
type DeleteTokenReplicated struct {
	User          uint32
	Name          []byte
	OnlyIfExpired bool
}

// DecodeDeleteTokenReplicated reads a DeleteTokenReplicated.
func DecodeDeleteTokenReplicated(body []byte) (DeleteTokenReplicated, error) {
	r := protocol.NewReader(body)
	d := DeleteTokenReplicated{r.U32("user"), r.Name("name"), r.U8("only if expired") != 0}
	r.End()
	return d, r.Err()
}

// Append encodes d.
func (d DeleteTokenReplicated) Append(dst []byte) []byte {
	return appendBool(protocol.AppendName(le.AppendUint32(dst, d.User), d.Name), d.OnlyIfExpired)
}

// TokenRecord describes a token in the reply to command 41.
type TokenRecord struct {
	Name      []byte
	ExpiresAt uint64 // microseconds since the Unix epoch, 0 = never
}

// Append encodes t.
func (t TokenRecord) Append(dst []byte) []byte {
	return le.AppendUint64(protocol.AppendName(dst, t.Name), t.ExpiresAt)
}

// DecodeTokens reads the reply to command 41.
func DecodeTokens(payload []byte) ([]TokenRecord, error) {
	r := protocol.NewReader(payload)
	var all []TokenRecord
	for r.Len() > 0 && r.Err() == nil {
		all = append(all, TokenRecord{r.Name("name"), r.U64("expires at")})
	}
	return all, r.Err()
}
