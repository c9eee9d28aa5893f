package protocol

import "strconv"

// CommandCode names a command. On the wire it travels with NonReplicated requests only; replicated commands are
// named by their operation.
type CommandCode uint32

// Command codes.
const (
	CmdPing                      CommandCode = 1
	CmdStats                     CommandCode = 10
	CmdSnapshot                  CommandCode = 11
	CmdClusterMetadata           CommandCode = 12
	CmdOptionsDescribe           CommandCode = 13
	CmdMe                        CommandCode = 20
	CmdClientGet                 CommandCode = 21
	CmdClientList                CommandCode = 22
	CmdUserGet                   CommandCode = 31
	CmdUserList                  CommandCode = 32
	CmdUserCreate                CommandCode = 33
	CmdUserDelete                CommandCode = 34
	CmdUserUpdate                CommandCode = 35
	CmdUserPermissions           CommandCode = 36
	CmdUserPassword              CommandCode = 37
	CmdUserLogin                 CommandCode = 38
	CmdUserLogout                CommandCode = 39
	CmdUserLoginRegister         CommandCode = 40
	CmdPersonalAccessTokenList   CommandCode = 41
	CmdPersonalAccessTokenCreate CommandCode = 42
	CmdPersonalAccessTokenDelete CommandCode = 43
	CmdPersonalAccessTokenLogin  CommandCode = 44
	CmdUserLoginRegisterWithPat  CommandCode = 45
	CmdMessagePoll               CommandCode = 100
	CmdMessageSend               CommandCode = 101
	CmdMessageFlushUnsavedBuffer CommandCode = 102
	CmdConsumerOffsetGet         CommandCode = 120
	CmdConsumerOffsetStore       CommandCode = 121
	CmdConsumerOffsetDelete      CommandCode = 122
	CmdStreamGet                 CommandCode = 200
	CmdStreamList                CommandCode = 201
	CmdStreamCreate              CommandCode = 202
	CmdStreamDelete              CommandCode = 203
	CmdStreamUpdate              CommandCode = 204
	CmdStreamPurge               CommandCode = 205
	CmdTopicGet                  CommandCode = 300
	CmdTopicList                 CommandCode = 301
	CmdTopicCreate               CommandCode = 302
	CmdTopicDelete               CommandCode = 303
	CmdTopicUpdate               CommandCode = 304
	CmdTopicPurge                CommandCode = 305
	CmdPartitionCreate           CommandCode = 402
	CmdPartitionDelete           CommandCode = 403
	CmdSegmentDelete             CommandCode = 503
	CmdConsumerGroupGet          CommandCode = 600
	CmdConsumerGroupList         CommandCode = 601
	CmdConsumerGroupCreate       CommandCode = 602
	CmdConsumerGroupDelete       CommandCode = 603
	CmdConsumerGroupJoin         CommandCode = 604
	CmdConsumerGroupLeave        CommandCode = 605
	CmdConsumerGroupSync         CommandCode = 606
)

// CommandInfo describes a command.
type CommandInfo struct {
	Name      string
	Operation Operation // OpNonReplicated for reads; OpReserved for the refused legacy sign-ins
	PreAuth   bool      // served before sign-in
	Checked   bool      // needs a permission
}

var commandTable = map[CommandCode]CommandInfo{
	CmdPing:                      {"ping", 2, true, false},
	CmdStats:                     {"stats", 2, false, true},
	CmdSnapshot:                  {"snapshot", 2, false, true},
	CmdClusterMetadata:           {"cluster.metadata", 2, false, false},
	CmdOptionsDescribe:           {"options.describe", 2, false, false},
	CmdMe:                        {"me", 2, false, false},
	CmdClientGet:                 {"client.get", 2, false, true},
	CmdClientList:                {"client.list", 2, false, true},
	CmdUserGet:                   {"user.get", 2, false, true},
	CmdUserList:                  {"user.list", 2, false, true},
	CmdUserCreate:                {"user.create", 141, false, true},
	CmdUserDelete:                {"user.delete", 143, false, true},
	CmdUserUpdate:                {"user.update", 142, false, true},
	CmdUserPermissions:           {"user.permissions", 145, false, true},
	CmdUserPassword:              {"user.password", 144, false, true},
	CmdUserLogin:                 {"user.login", 0, false, false},
	CmdUserLogout:                {"user.logout", 3, false, false},
	CmdUserLoginRegister:         {"user.login_register", 1, true, false},
	CmdPersonalAccessTokenList:   {"personal_access_token.list", 2, false, false},
	CmdPersonalAccessTokenCreate: {"personal_access_token.create", 146, false, false},
	CmdPersonalAccessTokenDelete: {"personal_access_token.delete", 147, false, false},
	CmdPersonalAccessTokenLogin:  {"personal_access_token.login", 0, false, false},
	CmdUserLoginRegisterWithPat:  {"user.login_register_with_pat", 1, true, false},
	CmdMessagePoll:               {"message.poll", 2, false, true},
	CmdMessageSend:               {"message.send", 160, false, true},
	CmdMessageFlushUnsavedBuffer: {"message.flush_unsaved_buffer", 2, false, true},
	CmdConsumerOffsetGet:         {"consumer_offset.get", 2, false, true},
	CmdConsumerOffsetStore:       {"consumer_offset.store", 161, false, true},
	CmdConsumerOffsetDelete:      {"consumer_offset.delete", 162, false, true},
	CmdStreamGet:                 {"stream.get", 2, false, true},
	CmdStreamList:                {"stream.list", 2, false, true},
	CmdStreamCreate:              {"stream.create", 128, false, true},
	CmdStreamDelete:              {"stream.delete", 130, false, true},
	CmdStreamUpdate:              {"stream.update", 129, false, true},
	CmdStreamPurge:               {"stream.purge", 131, false, true},
	CmdTopicGet:                  {"topic.get", 2, false, true},
	CmdTopicList:                 {"topic.list", 2, false, true},
	CmdTopicCreate:               {"topic.create", 132, false, true},
	CmdTopicDelete:               {"topic.delete", 134, false, true},
	CmdTopicUpdate:               {"topic.update", 133, false, true},
	CmdTopicPurge:                {"topic.purge", 135, false, true},
	CmdPartitionCreate:           {"partition.create", 136, false, true},
	CmdPartitionDelete:           {"partition.delete", 137, false, true},
	CmdSegmentDelete:             {"segment.delete", 138, false, true},
	CmdConsumerGroupGet:          {"consumer_group.get", 2, false, true},
	CmdConsumerGroupList:         {"consumer_group.list", 2, false, true},
	CmdConsumerGroupCreate:       {"consumer_group.create", 139, false, true},
	CmdConsumerGroupDelete:       {"consumer_group.delete", 140, false, true},
	CmdConsumerGroupJoin:         {"consumer_group.join", 148, false, true},
	CmdConsumerGroupLeave:        {"consumer_group.leave", 149, false, true},
	CmdConsumerGroupSync:         {"consumer_group.sync", 2, false, false},
}

// Info describes c; false when c is not a command.
func (c CommandCode) Info() (CommandInfo, bool) {
	i, ok := commandTable[c]
	return i, ok
}

// String returns the name of a known command and "command N" for any other value.
func (c CommandCode) String() string {
	if i, ok := commandTable[c]; ok {
		return i.Name
	}
	return "command " + strconv.Itoa(int(c))
}
