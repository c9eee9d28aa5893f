package metadata

import (
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

// Secrets makes what apply must never draw or compute. Its methods are called by Admit, on the goroutine of
// the caller, and may be slow.
type Secrets interface {
	// HashPassword returns the Argon2id hash of a password in PHC form, 1 to 255 bytes.
	HashPassword(password []byte) (string, error)
	// VerifyPassword reports whether a password is the one that was hashed.
	VerifyPassword(hash string, password []byte) bool
	// NewToken draws a token: its text, and the hash of the text as 64 lower-case hexadecimal digits.
	NewToken() (text, hash string, err error)
}

// Partitions answers what only the partitions of the serving node know.
type Partitions interface {
	// InFlight lists the partitions from which messages were polled for the group and not committed.
	InFlight(group GroupRef) []uint32
	// SealedUpTo returns the end offset of the count-th oldest sealed segment, or of the last sealed one if
	// there are fewer, or 0 without any. The code is 58 when this replica cannot tell.
	SealedUpTo(stream, topic, partition, count uint32) (uint64, protocol.Code)
}

// Entry is where a metadata request of a client comes in: the state it is looked at with, who sends it, and
// what it takes to prepare it. It is used outside of the owner.
type Entry struct {
	View    *View
	Client  protocol.Uint128 // bound to the connection
	Session uint64           // likewise
	User    uint32           // likewise
	// TokensMax is the number of personal access tokens that a user may have.
	TokensMax  int
	Secrets    Secrets
	Partitions Partitions
}

// Admitted is an operation as it is proposed. Body may be the body of the request itself.
type Admitted struct {
	Operation protocol.Operation
	Body      []byte
	// Token is the text of the token that is being created. It is in no replicated byte: the caller keeps
	// it and gives it to AppendToken when a success comes back. A replay has no text to give, which is why
	// the client table answers it with 51.
	Token string
}

// PartitionsPerRequestMax bounds the partitions of one create or delete.
const PartitionsPerRequestMax = 1000

// Admit turns the request of a client into the operation that is replicated: assignments are added, options
// resolved, passwords hashed, tokens replaced by their hash. What can be refused without the log is: 3, 52,
// 1019, 2015, 4041 and 4042 are answered in the status field, 58 like any transient refusal of the
// operation. Plain passwords and tokens never leave this function towards the log.
func (e *Entry) Admit(op protocol.Operation, body []byte) (Admitted, protocol.Code) {
	same := Admitted{Operation: op, Body: body}
	switch op {
	case protocol.OpLogout:
		same.Body = AppendLogout(nil, e.Session)
		return same, protocol.Success
	case protocol.OpCreateStream:
		req, err := command.DecodeCreateStream(body)
		return same, withoutOptions(req.Options, err)
	case protocol.OpUpdateStream:
		req, err := command.DecodeUpdateStream(body)
		return same, withoutOptions(req.Options, err)
	case protocol.OpUpdateUser:
		req, err := command.DecodeUpdateUser(body)
		return same, withoutOptions(req.Options, err)
	case protocol.OpDeleteStream, protocol.OpPurgeStream, protocol.OpDeleteUser:
		_, err := command.DecodeIdentifier(body)
		return same, decoded(err)
	case protocol.OpDeleteTopic, protocol.OpPurgeTopic:
		_, err := command.DecodeTopicRef(body)
		return same, decoded(err)
	case protocol.OpUpdatePermissions:
		_, err := command.DecodeUpdatePermissions(body)
		return same, decoded(err)
	case protocol.OpCreateConsumerGroup:
		_, err := command.DecodeCreateGroup(body)
		return same, decoded(err)
	case protocol.OpDeleteConsumerGroup:
		_, err := command.DecodeGroupRef(body)
		return same, decoded(err)
	case protocol.OpDeletePartitions:
		req, err := command.DecodePartitionsChange(body)
		return same, countedPartitions(req.Count, err)
	}
	return e.rewrite(op, body)
}

// rewrite admits the operations whose replicated body is not that of the client.
func (e *Entry) rewrite(op protocol.Operation, body []byte) (Admitted, protocol.Code) {
	switch op {
	case protocol.OpCreateTopic:
		return e.createTopic(body)
	case protocol.OpUpdateTopic:
		return e.updateTopic(body)
	case protocol.OpCreatePartitions:
		return e.createPartitions(body)
	case protocol.OpDeleteSegments:
		return e.deleteSegments(body)
	case protocol.OpCreateUser:
		return e.createUser(body)
	case protocol.OpChangePassword:
		return e.changePassword(body)
	case protocol.OpCreatePersonalAccessToken:
		return e.createToken(body)
	case protocol.OpDeletePersonalAccessToken:
		name, err := command.DecodeName(body)
		rewritten := command.DeleteTokenReplicated{User: e.User, Name: name}
		return Admitted{Operation: op, Body: rewritten.Append(nil)}, decoded(err)
	case protocol.OpJoinConsumerGroup:
		return e.joinGroup(body)
	case protocol.OpLeaveConsumerGroup:
		ref, err := command.DecodeGroupRef(body)
		rewritten := command.LeaveGroup{GroupRef: ref, Client: e.Client}
		return Admitted{Operation: op, Body: rewritten.Append(nil)}, decoded(err)
	}
	return Admitted{}, protocol.CodeInvalidCommand
}

// AppendToken appends the text of a created token to the body of the successful reply.
func AppendToken(reply []byte, token string) []byte { return protocol.AppendName(reply, token) }

func decoded(err error) protocol.Code {
	if err != nil {
		return protocol.CodeInvalidCommand
	}
	return protocol.Success
}

// withoutOptions checks the block of an entity that has no options: any key is unknown.
func withoutOptions(block []byte, err error) protocol.Code {
	if err == nil && len(block) > 0 {
		return protocol.CodeUnsupportedOptionKey
	}
	return decoded(err)
}

func countedPartitions(count uint32, err error) protocol.Code {
	if err == nil && (count == 0 || count > PartitionsPerRequestMax) {
		return protocol.CodeTooManyPartitions
	}
	return decoded(err)
}

func assignments(count uint32) []command.Assignment {
	all := make([]command.Assignment, count)
	for i := range all {
		all[i].Partition = uint32(i)
	}
	return all
}

// createTopic resolves the options. The group ids of the assignments stay 0: they follow from the id of the
// topic, which apply gives.
func (e *Entry) createTopic(body []byte) (Admitted, protocol.Code) {
	req, err := command.DecodeCreateTopic(body)
	if err != nil {
		return Admitted{}, protocol.CodeInvalidCommand
	}
	change, code := parseOptions(req.Options, false)
	if code != protocol.Success {
		return Admitted{}, code
	}
	options := change.over(standardOptions())
	code = options.checkBounds(req.PartitionsCount)
	switch {
	case code != protocol.Success:
		return Admitted{}, code
	case req.PartitionsCount > PartitionsPerRequestMax:
		return Admitted{}, protocol.CodeTooManyPartitions
	case options.MaxTopicSize() < options.SegmentSize():
		return Admitted{}, protocol.CodeInvalidTopicSize
	}
	req.Options = options.appendBlock(nil, true)
	rewritten := command.CreateTopicReplicated{
		CreateTopic: req, Derived: options.appendBlock(nil, false), Assignments: assignments(req.PartitionsCount),
	}
	return Admitted{Operation: protocol.OpCreateTopicWithAssignments, Body: rewritten.Append(nil)}, protocol.Success
}

func (e *Entry) updateTopic(body []byte) (Admitted, protocol.Code) {
	req, err := command.DecodeUpdateTopic(body)
	if err != nil {
		return Admitted{}, protocol.CodeInvalidCommand
	}
	change, code := parseOptions(req.Options, true)
	if code != protocol.Success {
		return Admitted{}, code
	}
	if _, t, _ := e.View.Topic(req.TopicRef); t != nil {
		if options := change.over(t.Options); options.MaxTopicSize() < options.SegmentSize() {
			return Admitted{}, protocol.CodeInvalidTopicSize
		}
	}
	only := TopicOptions{values: change.values, explicit: change.set}
	req.Options = only.appendBlock(nil, true)
	return Admitted{Operation: protocol.OpUpdateTopic, Body: req.Append(nil)}, protocol.Success
}

func (e *Entry) createPartitions(body []byte) (Admitted, protocol.Code) {
	req, err := command.DecodePartitionsChange(body)
	if code := countedPartitions(req.Count, err); code != protocol.Success {
		return Admitted{}, code
	}
	rewritten := command.CreatePartitionsReplicated{PartitionsChange: req, Assignments: assignments(req.Count)}
	return Admitted{Operation: protocol.OpCreatePartitionsWithAssignments, Body: rewritten.Append(nil)}, protocol.Success
}

// deleteSegments asks the partition how far its segments go. A target that does not exist, or that the
// caller has no right to, is proposed all the same, so that the refusal is recorded.
func (e *Entry) deleteSegments(body []byte) (Admitted, protocol.Code) {
	req, err := command.DecodeDeleteSegments(body)
	if err != nil {
		return Admitted{}, protocol.CodeInvalidCommand
	}
	rewritten := command.TruncatePartition{TopicRef: req.TopicRef, Partition: req.Partition}
	s, t, _ := e.View.Topic(req.TopicRef)
	if t != nil && req.Partition < t.PartitionsCount() && req.Count > 0 &&
		e.View.Allowed(e.User, protocol.CmdSegmentDelete, Target{Stream: s.ID, Topic: t.ID}) {
		var code protocol.Code
		rewritten.UpTo, code = e.Partitions.SealedUpTo(s.ID, t.ID, req.Partition, req.Count)
		if code != protocol.Success {
			return Admitted{Operation: protocol.OpTruncatePartition}, code
		}
	}
	return Admitted{Operation: protocol.OpTruncatePartition, Body: rewritten.Append(nil)}, protocol.Success
}

func (e *Entry) joinGroup(body []byte) (Admitted, protocol.Code) {
	ref, err := command.DecodeGroupRef(body)
	if err != nil {
		return Admitted{}, protocol.CodeInvalidCommand
	}
	rewritten := command.JoinGroup{GroupRef: ref, Client: e.Client}
	if s, t, _ := e.View.Topic(ref.TopicRef); t != nil {
		if g := t.Group(ref.Group); g != nil {
			rewritten.InFlight = e.Partitions.InFlight(GroupRef{s.ID, t.ID, g.ID})
		}
	}
	return Admitted{Operation: protocol.OpJoinConsumerGroup, Body: rewritten.Append(nil)}, protocol.Success
}

func passwordFits(password []byte) bool {
	return len(password) >= PasswordMin && len(password) <= PasswordMax
}

// createUser hashes the password. One of a length that is refused is not hashed, and neither is that of a
// caller without the right: apply finds an empty hash and answers 44, or 41 before it.
func (e *Entry) createUser(body []byte) (Admitted, protocol.Code) {
	req, err := command.DecodeCreateUser(body)
	if code := withoutOptions(req.Options, err); code != protocol.Success {
		return Admitted{}, code
	}
	password := req.Password
	req.Password = nil
	if passwordFits(password) && e.View.Allowed(e.User, protocol.CmdUserCreate, Target{}) {
		hash, err := e.Secrets.HashPassword(password)
		if err != nil {
			return Admitted{}, protocol.CodeTransientNotAccepted
		}
		req.Password = []byte(hash)
	}
	return Admitted{Operation: protocol.OpCreateUser, Body: req.Append(nil)}, protocol.Success
}

// changePassword checks the current password against the committed hash and hashes the new one. What is
// wrong with them travels as a code. A caller without the right, or a user that does not exist, costs no
// hashing: apply answers 41 or 20 before it looks at the code.
func (e *Entry) changePassword(body []byte) (Admitted, protocol.Code) {
	req, err := command.DecodeChangePassword(body)
	if err != nil {
		return Admitted{}, protocol.CodeInvalidCommand
	}
	rewritten := command.ChangePassword{User: req.User}
	u := e.View.User(req.User)
	failure := protocol.Success
	switch {
	case u == nil, !e.View.Allowed(e.User, protocol.CmdUserPassword, Target{User: u}),
		!e.Secrets.VerifyPassword(u.PasswordHash, req.Current):
		failure = protocol.CodeInvalidCredentials
	case !passwordFits(req.New):
		failure = protocol.CodeInvalidPassword
	}
	if failure != protocol.Success {
		rewritten.Current = []byte{byte(failure)}
	} else {
		hash, err := e.Secrets.HashPassword(req.New)
		if err != nil {
			return Admitted{}, protocol.CodeTransientNotAccepted
		}
		rewritten.New = []byte(hash)
	}
	return Admitted{Operation: protocol.OpChangePassword, Body: rewritten.Append(nil)}, protocol.Success
}

// createToken draws the token. The limit counts what this node knows; concurrent requests may overshoot.
func (e *Entry) createToken(body []byte) (Admitted, protocol.Code) {
	req, err := command.DecodeCreateToken(body)
	if err != nil {
		return Admitted{}, protocol.CodeInvalidCommand
	}
	if u := e.View.UserByID(e.User); u != nil && u.TokensCount() >= e.TokensMax {
		return Admitted{}, protocol.CodePersonalAccessTokensLimitReached
	}
	text, hash, err := e.Secrets.NewToken()
	if err != nil || len(hash) != command.TokenHashSize {
		return Admitted{}, protocol.CodeTransientNotAccepted
	}
	rewritten := command.CreateTokenReplicated{User: e.User, CreateToken: req, Hash: []byte(hash)}
	return Admitted{Operation: protocol.OpCreatePersonalAccessToken, Body: rewritten.Append(nil), Token: text}, protocol.Success
}
