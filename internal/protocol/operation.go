package protocol

import "strconv"

// Operation tells what a replicated request does (spec: client wire protocol, operations). The values
// are part of the wire and of every log.
type Operation uint8

// Operations. Those from 64 to 127 originate inside a server and are refused when a client sends them.
const (
	OpReserved      Operation = 0
	OpRegister      Operation = 1
	OpNonReplicated Operation = 2
	OpLogout        Operation = 3

	OpCreateTopicWithAssignments      Operation = 64
	OpCreatePartitionsWithAssignments Operation = 65
	OpRemoveConsumerGroupMember       Operation = 66
	OpCompleteConsumerGroupRevocation Operation = 67
	OpTruncatePartition               Operation = 68
	OpPurgeBarrier                    Operation = 69
	OpBootstrap                       Operation = 70 // first operation of a metadata group: root and fixed limits

	OpCreateStream              Operation = 128
	OpUpdateStream              Operation = 129
	OpDeleteStream              Operation = 130
	OpPurgeStream               Operation = 131
	OpCreateTopic               Operation = 132
	OpUpdateTopic               Operation = 133
	OpDeleteTopic               Operation = 134
	OpPurgeTopic                Operation = 135
	OpCreatePartitions          Operation = 136
	OpDeletePartitions          Operation = 137
	OpDeleteSegments            Operation = 138
	OpCreateConsumerGroup       Operation = 139
	OpDeleteConsumerGroup       Operation = 140
	OpCreateUser                Operation = 141
	OpUpdateUser                Operation = 142
	OpDeleteUser                Operation = 143
	OpChangePassword            Operation = 144
	OpUpdatePermissions         Operation = 145
	OpCreatePersonalAccessToken Operation = 146
	OpDeletePersonalAccessToken Operation = 147
	OpJoinConsumerGroup         Operation = 148
	OpLeaveConsumerGroup        Operation = 149

	OpSendMessages         Operation = 160
	OpStoreConsumerOffset  Operation = 161
	OpDeleteConsumerOffset Operation = 162
)

var operationNames = map[Operation]string{
	OpReserved: "Reserved", OpRegister: "Register", OpNonReplicated: "NonReplicated", OpLogout: "Logout",
	OpCreateTopicWithAssignments: "CreateTopicWithAssignments", OpCreatePartitionsWithAssignments: "CreatePartitionsWithAssignments",
	OpRemoveConsumerGroupMember: "RemoveConsumerGroupMember", OpCompleteConsumerGroupRevocation: "CompleteConsumerGroupRevocation",
	OpTruncatePartition: "TruncatePartition", OpPurgeBarrier: "PurgeBarrier", OpBootstrap: "Bootstrap",
	OpCreateStream: "CreateStream", OpUpdateStream: "UpdateStream", OpDeleteStream: "DeleteStream", OpPurgeStream: "PurgeStream",
	OpCreateTopic: "CreateTopic", OpUpdateTopic: "UpdateTopic", OpDeleteTopic: "DeleteTopic", OpPurgeTopic: "PurgeTopic",
	OpCreatePartitions: "CreatePartitions", OpDeletePartitions: "DeletePartitions", OpDeleteSegments: "DeleteSegments",
	OpCreateConsumerGroup: "CreateConsumerGroup", OpDeleteConsumerGroup: "DeleteConsumerGroup",
	OpCreateUser: "CreateUser", OpUpdateUser: "UpdateUser", OpDeleteUser: "DeleteUser",
	OpChangePassword: "ChangePassword", OpUpdatePermissions: "UpdatePermissions",
	OpCreatePersonalAccessToken: "CreatePersonalAccessToken", OpDeletePersonalAccessToken: "DeletePersonalAccessToken",
	OpJoinConsumerGroup: "JoinConsumerGroup", OpLeaveConsumerGroup: "LeaveConsumerGroup",
	OpSendMessages: "SendMessages", OpStoreConsumerOffset: "StoreConsumerOffset", OpDeleteConsumerOffset: "DeleteConsumerOffset",
}

// String returns the name of a known operation and "operation N" for any other value.
func (o Operation) String() string {
	if name, ok := operationNames[o]; ok {
		return name
	}
	return "operation " + strconv.Itoa(int(o))
}

// IsKnown reports whether o is a defined operation other than Reserved.
func (o Operation) IsKnown() bool {
	switch {
	case o >= OpRegister && o <= OpLogout, o >= OpCreateTopicWithAssignments && o <= OpBootstrap,
		o >= OpCreateStream && o <= OpLeaveConsumerGroup, o >= OpSendMessages && o <= OpDeleteConsumerOffset:
		return true
	}
	return false
}

// IsInternal reports whether only a server may originate o: 64 to 127, defined or not.
func (o Operation) IsInternal() bool { return o >= 64 && o <= 127 }

// IsPartition reports whether o belongs to the log of a partition group.
func (o Operation) IsPartition() bool { return o >= OpSendMessages || o == OpPurgeBarrier }

// IsMetadata reports whether o is applied by the metadata state machine; Register and Logout, which only
// touch the client table, and DeleteSegments, which is rewritten to TruncatePartition, are not.
func (o Operation) IsMetadata() bool {
	return o.IsInternal() && o != OpPurgeBarrier ||
		o >= OpCreateStream && o <= OpLeaveConsumerGroup && o != OpDeleteSegments
}

// IsResultFramed reports whether the body of a reply to o begins with a result section.
func (o Operation) IsResultFramed() bool {
	return o.IsMetadata() || o == OpStoreConsumerOffset || o == OpDeleteConsumerOffset
}
