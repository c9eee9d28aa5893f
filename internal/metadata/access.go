package metadata

import "github.com/galgolog/galgo/internal/protocol"

// rule lists the flags of which any one is enough. A command whose rule is all zero is denied to everybody
// who is not exempt.
type rule struct {
	global, stream, topic uint16
	// open: every signed-in user passes; what is reached belongs to the caller.
	open bool
	// self: passes without flags when the target user is the caller.
	self bool
}

// The rules by name. Those further down contain those above that they extend.
var (
	ruleOpen        = rule{open: true}
	ruleServerInfo  = rule{global: globalManageServers | globalReadServers}
	ruleManageUsers = rule{global: globalManageUsers}
	ruleReadUsers   = rule{global: globalManageUsers | globalReadUsers}

	ruleCreateStream = rule{global: globalManageStreams}
	ruleReadStreams  = rule{global: globalManageStreams | globalReadStreams}
	ruleReadStream   = ruleReadStreams.or(rule{stream: streamManageStream | streamReadStream})
	ruleManageStream = rule{global: globalManageStreams, stream: streamManageStream}

	ruleCreateTopic = rule{
		global: globalManageStreams | globalManageTopics,
		stream: streamManageStream | streamManageTopics,
	}
	ruleManageTopic = ruleCreateTopic.or(rule{topic: topicManageTopic})
	ruleReadTopics  = ruleCreateTopic.or(rule{
		global: globalReadStreams | globalReadTopics,
		stream: streamReadStream | streamReadTopics,
	})
	ruleReadTopic = ruleReadTopics.or(rule{topic: topicManageTopic | topicReadTopic})
	rulePoll      = ruleReadTopic.or(rule{globalPollMessages, streamPollMessages, topicPollMessages, false, false})
	ruleSend      = ruleManageTopic.or(rule{globalSendMessages, streamSendMessages, topicSendMessages, false, false})
)

func (r rule) or(o rule) rule {
	return rule{r.global | o.global, r.stream | o.stream, r.topic | o.topic, r.open || o.open, r.self || o.self}
}

func (r rule) orSelf() rule {
	r.self = true
	return r
}

// commandCodeLimit is one above the highest command code.
const commandCodeLimit = protocol.CmdConsumerGroupSync + 1

// accessRules maps a command code to its rule. What is not listed is denied.
var accessRules = [commandCodeLimit]rule{
	protocol.CmdPing: ruleOpen,

	protocol.CmdStats:           ruleServerInfo,
	protocol.CmdSnapshot:        ruleServerInfo,
	protocol.CmdClusterMetadata: ruleOpen,
	protocol.CmdOptionsDescribe: ruleOpen,

	protocol.CmdMe:         ruleOpen,
	protocol.CmdClientGet:  ruleServerInfo,
	protocol.CmdClientList: ruleServerInfo,

	protocol.CmdUserGet:         ruleReadUsers.orSelf(),
	protocol.CmdUserList:        ruleReadUsers,
	protocol.CmdUserCreate:      ruleManageUsers,
	protocol.CmdUserDelete:      ruleManageUsers,
	protocol.CmdUserUpdate:      ruleManageUsers,
	protocol.CmdUserPermissions: ruleManageUsers,
	protocol.CmdUserPassword:    ruleManageUsers.orSelf(),

	protocol.CmdPersonalAccessTokenList:   ruleOpen,
	protocol.CmdPersonalAccessTokenCreate: ruleOpen,
	protocol.CmdPersonalAccessTokenDelete: ruleOpen,

	protocol.CmdMessagePoll:               rulePoll,
	protocol.CmdMessageSend:               ruleSend,
	protocol.CmdMessageFlushUnsavedBuffer: ruleSend,

	protocol.CmdConsumerOffsetGet:    rulePoll,
	protocol.CmdConsumerOffsetStore:  rulePoll,
	protocol.CmdConsumerOffsetDelete: rulePoll,

	protocol.CmdStreamGet:    ruleReadStream,
	protocol.CmdStreamList:   ruleReadStreams,
	protocol.CmdStreamCreate: ruleCreateStream,
	protocol.CmdStreamDelete: ruleManageStream,
	protocol.CmdStreamUpdate: ruleManageStream,
	protocol.CmdStreamPurge:  ruleManageStream,

	protocol.CmdTopicGet:    ruleReadTopic,
	protocol.CmdTopicList:   ruleReadTopics,
	protocol.CmdTopicCreate: ruleCreateTopic,
	protocol.CmdTopicDelete: ruleManageTopic,
	protocol.CmdTopicUpdate: ruleManageTopic,
	protocol.CmdTopicPurge:  ruleManageTopic,

	protocol.CmdPartitionCreate: ruleManageTopic,
	protocol.CmdPartitionDelete: ruleManageTopic,
	protocol.CmdSegmentDelete:   ruleManageTopic,

	protocol.CmdConsumerGroupGet:    ruleReadTopic,
	protocol.CmdConsumerGroupList:   ruleReadTopic,
	protocol.CmdConsumerGroupCreate: ruleReadTopic,
	protocol.CmdConsumerGroupDelete: ruleReadTopic,
	protocol.CmdConsumerGroupJoin:   ruleReadTopic,
	protocol.CmdConsumerGroupLeave:  ruleReadTopic,
	protocol.CmdConsumerGroupSync:   ruleOpen,
}

// Target is what a command addresses, by resolved ids. Fields that the command's rule does not look at are
// ignored.
type Target struct {
	Stream, Topic uint32
	// User is the addressed user, for get user and change password; nil when there is no such user.
	User *User
}

// Allowed reports whether the user may run the command with that code on target, by the permissions of this
// View. Users that do not exist, users that are not active and commands that have no rule are denied. Root
// may run everything that has a rule. It does not allocate.
func (v *View) Allowed(user uint32, code protocol.CommandCode, target Target) bool {
	if code >= commandCodeLimit {
		return false
	}
	return v.passes(user, accessRules[code], target)
}

func (v *View) passes(user uint32, r rule, target Target) bool {
	u := v.UserByID(user)
	if u == nil || u.Status != UserActive || r == (rule{}) {
		return false
	}
	if r.open || u.ID == RootUser || r.self && target.User != nil && target.User.ID == u.ID {
		return true
	}
	if u.grants == nil {
		return false
	}
	g, s, t := u.grants.on(target.Stream, target.Topic)
	return g&r.global|s&r.stream|t&r.topic != 0
}

// commandOf maps a replicated metadata operation to the command whose rule guards it; 0 for operations
// that only the server originates.
func commandOf(op protocol.Operation) protocol.CommandCode {
	if int(op) < len(operationCommands) {
		return operationCommands[op]
	}
	return 0
}

var operationCommands = [...]protocol.CommandCode{
	protocol.OpCreateTopicWithAssignments:      protocol.CmdTopicCreate,
	protocol.OpCreatePartitionsWithAssignments: protocol.CmdPartitionCreate,
	protocol.OpTruncatePartition:               protocol.CmdSegmentDelete,
	protocol.OpCreateStream:                    protocol.CmdStreamCreate,
	protocol.OpUpdateStream:                    protocol.CmdStreamUpdate,
	protocol.OpDeleteStream:                    protocol.CmdStreamDelete,
	protocol.OpPurgeStream:                     protocol.CmdStreamPurge,
	protocol.OpUpdateTopic:                     protocol.CmdTopicUpdate,
	protocol.OpDeleteTopic:                     protocol.CmdTopicDelete,
	protocol.OpPurgeTopic:                      protocol.CmdTopicPurge,
	protocol.OpDeletePartitions:                protocol.CmdPartitionDelete,
	protocol.OpCreateConsumerGroup:             protocol.CmdConsumerGroupCreate,
	protocol.OpDeleteConsumerGroup:             protocol.CmdConsumerGroupDelete,
	protocol.OpCreateUser:                      protocol.CmdUserCreate,
	protocol.OpUpdateUser:                      protocol.CmdUserUpdate,
	protocol.OpDeleteUser:                      protocol.CmdUserDelete,
	protocol.OpChangePassword:                  protocol.CmdUserPassword,
	protocol.OpUpdatePermissions:               protocol.CmdUserPermissions,
	protocol.OpCreatePersonalAccessToken:       protocol.CmdPersonalAccessTokenCreate,
	protocol.OpDeletePersonalAccessToken:       protocol.CmdPersonalAccessTokenDelete,
	protocol.OpJoinConsumerGroup:               protocol.CmdConsumerGroupJoin,
	protocol.OpLeaveConsumerGroup:              protocol.CmdConsumerGroupLeave,
}
