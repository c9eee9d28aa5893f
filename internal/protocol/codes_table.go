package protocol

// Error codes of the protocol. Ours are none: every code is one that clients of the protocol know.
const (
	CodeError                                      Code = 1
	CodeInvalidConfiguration                       Code = 2
	CodeInvalidCommand                             Code = 3
	CodeInvalidFormat                              Code = 4
	CodeFeatureUnavailable                         Code = 5
	CodeInvalidIdentifier                          Code = 6
	CodeInvalidVersion                             Code = 7
	CodeDisconnected                               Code = 8
	CodeCannotEstablishConnection                  Code = 9
	CodeCannotCreateBaseDirectory                  Code = 10
	CodeCannotCreateRuntimeDirectory               Code = 11
	CodeCannotRemoveRuntimeDirectory               Code = 12
	CodeCannotCreateStateDirectory                 Code = 13
	CodeStateFileNotFound                          Code = 14
	CodeStateFileCorrupted                         Code = 15
	CodeInvalidStateEntryChecksum                  Code = 16
	CodeCannotOpenDatabase                         Code = 19
	CodeResourceNotFound                           Code = 20
	CodeCannotCloseWebSocketConnection             Code = 21
	CodeStaleClient                                Code = 30
	CodeTcpError                                   Code = 31
	CodeQuicError                                  Code = 32
	CodeInvalidServerAddress                       Code = 33
	CodeInvalidClientAddress                       Code = 34
	CodeInvalidIpAddress                           Code = 35
	CodeHttpError                                  Code = 36
	CodeInvalidApiUrl                              Code = 37
	CodeUnauthenticated                            Code = 40
	CodeUnauthorized                               Code = 41
	CodeInvalidCredentials                         Code = 42
	CodeInvalidUsername                            Code = 43
	CodeInvalidPassword                            Code = 44
	CodeInvalidUserStatus                          Code = 45
	CodeUserAlreadyExists                          Code = 46
	CodeUserInactive                               Code = 47
	CodeCannotDeleteUser                           Code = 48
	CodeCannotChangePermissions                    Code = 49
	CodeInvalidPersonalAccessTokenName             Code = 50
	CodePersonalAccessTokenAlreadyExists           Code = 51
	CodePersonalAccessTokensLimitReached           Code = 52
	CodeInvalidPersonalAccessToken                 Code = 53
	CodePersonalAccessTokenExpired                 Code = 54
	CodeUsersLimitReached                          Code = 55
	CodeInvalidPersonalAccessTokenExpiry           Code = 56
	CodeTransientNotCommitted                      Code = 57
	CodeTransientNotAccepted                       Code = 58
	CodeRequestAlreadyApplied                      Code = 59
	CodeNotConnected                               Code = 61
	CodeClientShutdown                             Code = 63
	CodeInvalidTlsDomain                           Code = 64
	CodeInvalidTlsCertificatePath                  Code = 65
	CodeInvalidTlsCertificate                      Code = 66
	CodeFailedToAddCertificate                     Code = 67
	CodeInvalidEncryptionKey                       Code = 70
	CodeCannotEncryptData                          Code = 71
	CodeCannotDecryptData                          Code = 72
	CodeInvalidJwtAlgorithm                        Code = 73
	CodeInvalidJwtSecret                           Code = 74
	CodeJwtMissing                                 Code = 75
	CodeCannotGenerateJwt                          Code = 76
	CodeAccessTokenMissing                         Code = 77
	CodeInvalidAccessToken                         Code = 78
	CodeCannotFetchJwks                            Code = 79
	CodeInvalidSizeBytes                           Code = 80
	CodeInvalidUtf8                                Code = 81
	CodeInvalidNumberEncoding                      Code = 82
	CodeInvalidBooleanValue                        Code = 83
	CodeInvalidNumberValue                         Code = 84
	CodeClientNotFound                             Code = 100
	CodeInvalidClientId                            Code = 101
	CodeConnectionClosed                           Code = 206
	CodeCannotParseHeaderKind                      Code = 209
	CodeHttpResponseError                          Code = 300
	CodeInvalidHttpRequest                         Code = 301
	CodeInvalidJsonResponse                        Code = 302
	CodeInvalidBytesResponse                       Code = 303
	CodeEmptyResponse                              Code = 304
	CodeCannotCreateEndpoint                       Code = 305
	CodeCannotParseUrl                             Code = 306
	CodeWebSocketError                             Code = 400
	CodeWebSocketConnectionError                   Code = 401
	CodeWebSocketCloseError                        Code = 402
	CodeWebSocketReceiveError                      Code = 403
	CodeWebSocketSendError                         Code = 404
	CodeCannotCreateStreamsDirectory               Code = 1000
	CodeCannotCreateStreamDirectory                Code = 1001
	CodeCannotCreateStreamInfo                     Code = 1002
	CodeCannotUpdateStreamInfo                     Code = 1003
	CodeCannotOpenStreamInfo                       Code = 1004
	CodeCannotReadStreamInfo                       Code = 1005
	CodeCannotCreateStream                         Code = 1006
	CodeCannotDeleteStream                         Code = 1007
	CodeCannotDeleteStreamDirectory                Code = 1008
	CodeStreamIdNotFound                           Code = 1009
	CodeStreamNameNotFound                         Code = 1010
	CodeStreamDirectoryNotFound                    Code = 1011
	CodeStreamNameAlreadyExists                    Code = 1012
	CodeInvalidStreamName                          Code = 1013
	CodeInvalidStreamId                            Code = 1014
	CodeCannotReadStreams                          Code = 1015
	CodeInvalidTopicSize                           Code = 1019
	CodeTooManyStreams                             Code = 1020
	CodeCannotCreateTopicsDirectory                Code = 2000
	CodeCannotCreateTopicDirectory                 Code = 2001
	CodeCannotCreateTopicInfo                      Code = 2002
	CodeCannotUpdateTopicInfo                      Code = 2003
	CodeCannotOpenTopicInfo                        Code = 2004
	CodeCannotReadTopicInfo                        Code = 2005
	CodeCannotCreateTopic                          Code = 2006
	CodeCannotDeleteTopic                          Code = 2007
	CodeCannotDeleteTopicDirectory                 Code = 2008
	CodeCannotPollTopic                            Code = 2009
	CodeTopicIdNotFound                            Code = 2010
	CodeTopicNameNotFound                          Code = 2011
	CodeTopicNameAlreadyExists                     Code = 2013
	CodeInvalidTopicName                           Code = 2014
	CodeTooManyPartitions                          Code = 2015
	CodeInvalidTopicId                             Code = 2016
	CodeCannotReadTopics                           Code = 2017
	CodeInvalidReplicationFactor                   Code = 2018
	CodeInvalidPartitionsCount                     Code = 2019
	CodeTopicDirectoryNotFound                     Code = 2020
	CodeTooManyTopics                              Code = 2021
	CodeCannotCreatePartition                      Code = 3000
	CodeCannotCreatePartitionsDirectory            Code = 3001
	CodeCannotCreatePartitionDirectory             Code = 3002
	CodeCannotOpenPartitionLogFile                 Code = 3003
	CodeCannotReadPartitions                       Code = 3004
	CodeCannotDeletePartition                      Code = 3005
	CodeCannotDeletePartitionDirectory             Code = 3006
	CodePartitionNotFound                          Code = 3007
	CodeNoPartitions                               Code = 3008
	CodeTopicFull                                  Code = 3009
	CodeCannotDeleteConsumerOffsetsDirectory       Code = 3010
	CodeCannotDeleteConsumerOffsetFile             Code = 3011
	CodeCannotCreateConsumerOffsetsDirectory       Code = 3012
	CodePartitionIdSpaceExhausted                  Code = 3013
	CodeCannotReadConsumerOffsets                  Code = 3020
	CodeConsumerOffsetNotFound                     Code = 3021
	CodeNotResolvedConsumer                        Code = 3022
	CodeCannotOpenConsumerOffsetsFile              Code = 3023
	CodeSegmentNotFound                            Code = 4000
	CodeSegmentClosed                              Code = 4001
	CodeInvalidSegmentSize                         Code = 4002
	CodeCannotCreateSegmentLogFile                 Code = 4003
	CodeCannotCreateSegmentIndexFile               Code = 4004
	CodeCannotCreateSegmentTimeIndexFile           Code = 4005
	CodeCannotSaveMessagesToSegment                Code = 4006
	CodeCannotSaveIndexToSegment                   Code = 4007
	CodeCannotSaveTimeIndexToSegment               Code = 4008
	CodeInvalidMessagesCount                       Code = 4009
	CodeCannotAppendMessage                        Code = 4010
	CodeCannotReadMessage                          Code = 4011
	CodeCannotReadMessageId                        Code = 4012
	CodeCannotReadMessageState                     Code = 4013
	CodeCannotReadMessageTimestamp                 Code = 4014
	CodeCannotReadHeadersLength                    Code = 4015
	CodeCannotReadHeadersPayload                   Code = 4016
	CodeTooBigUserHeaders                          Code = 4017
	CodeInvalidHeaderKey                           Code = 4018
	CodeInvalidHeaderValue                         Code = 4019
	CodeCannotReadMessageLength                    Code = 4020
	CodeCannotReadMessagePayload                   Code = 4021
	CodeTooBigMessagePayload                       Code = 4022
	CodeTooManyMessages                            Code = 4023
	CodeEmptyMessagePayload                        Code = 4024
	CodeInvalidMessagePayloadLength                Code = 4025
	CodeCannotReadMessageChecksum                  Code = 4026
	CodeInvalidMessageChecksum                     Code = 4027
	CodeInvalidKeyValueLength                      Code = 4028
	CodeCommandLengthError                         Code = 4029
	CodeInvalidSegmentsCount                       Code = 4030
	CodeNonZeroOffset                              Code = 4031
	CodeNonZeroTimestamp                           Code = 4032
	CodeMissingIndex                               Code = 4033
	CodeInvalidIndexesByteSize                     Code = 4034
	CodeInvalidIndexesCount                        Code = 4035
	CodeInvalidMessagesSize                        Code = 4036
	CodeTooSmallMessage                            Code = 4037
	CodeInvalidMessageTimestampDelta               Code = 4038
	CodeInvalidBatchChecksum                       Code = 4039
	CodeInvalidHeaderKind                          Code = 4040
	CodeUnsupportedOptionKey                       Code = 4041
	CodeInvalidOptionValue                         Code = 4042
	CodeOptionsBlockTooLarge                       Code = 4043
	CodeCannotSendMessagesDueToClientDisconnection Code = 4050
	CodeBackgroundSendError                        Code = 4051
	CodeBackgroundSendTimeout                      Code = 4052
	CodeBackgroundSendBufferFull                   Code = 4053
	CodeBackgroundWorkerDisconnected               Code = 4054
	CodeBackgroundSendBufferOverflow               Code = 4055
	CodeProducerSendFailed                         Code = 4056
	CodeProducerClosed                             Code = 4057
	CodeInvalidOffset                              Code = 4100
	CodeInvalidReservedField                       Code = 4101
	CodeConsumerGroupIdNotFound                    Code = 5000
	CodeInvalidConsumerGroupId                     Code = 5002
	CodeConsumerGroupNameNotFound                  Code = 5003
	CodeConsumerGroupNameAlreadyExists             Code = 5004
	CodeInvalidConsumerGroupName                   Code = 5005
	CodeConsumerGroupMemberNotFound                Code = 5006
	CodeCannotCreateConsumerGroupInfo              Code = 5007
	CodeCannotDeleteConsumerGroupInfo              Code = 5008
	CodeConsumerGroupPartitionNotOwned             Code = 5009
	CodeMissingBaseOffsetRetainedMessageBatch      Code = 6000
	CodeMissingLastOffsetDeltaRetainedMessageBatch Code = 6001
	CodeMissingMaxTimestampRetainedMessageBatch    Code = 6002
	CodeMissingLengthRetainedMessageBatch          Code = 6003
	CodeMissingPayloadRetainedMessageBatch         Code = 6004
	CodeCannotReadBatchBaseOffset                  Code = 7000
	CodeCannotReadBatchLength                      Code = 7001
	CodeCannotReadLastOffsetDelta                  Code = 7002
	CodeCannotReadMaxTimestamp                     Code = 7003
	CodeCannotReadBatchPayload                     Code = 7004
	CodeInvalidConnectionString                    Code = 8000
	CodeSnapshotFileCompletionFailed               Code = 9000
	CodeCannotSerializeResource                    Code = 10000
	CodeCannotDeserializeResource                  Code = 10001
	CodeCannotReadFile                             Code = 10002
	CodeCannotReadFileMetadata                     Code = 10003
	CodeCannotSeekFile                             Code = 10004
	CodeCannotAppendToFile                         Code = 10005
	CodeCannotWriteToFile                          Code = 10006
	CodeCannotOverwriteFile                        Code = 10007
	CodeCannotDeleteFile                           Code = 10008
	CodeCannotSyncFile                             Code = 10009
	CodeCannotReadIndexOffset                      Code = 10010
	CodeCannotReadIndexPosition                    Code = 10011
	CodeCannotReadIndexTimestamp                   Code = 10012
	CodeTimestampOutOfRange                        Code = 10013
	CodeShardNotFound                              Code = 11000
	CodeShardCommunicationError                    Code = 11001
	CodeCannotBindToSocket                         Code = 12000
	CodeTaskTimeout                                Code = 12001
	CodeIoError                                    Code = 13000
	CodeAlreadyAuthenticated                       Code = 14000
	CodeInvalidSession                             Code = 14001
	CodeIncompatibleProtocolVersion                Code = 14003
)

var codeTable = map[Code]CodeInfo{
	CodeError:                                      {"Error", KindInternal, false, "unspecified failure"},
	CodeInvalidConfiguration:                       {"InvalidConfiguration", KindInput, false, "configuration invalid or an internal size overflow"},
	CodeInvalidCommand:                             {"InvalidCommand", KindInput, false, "malformed header or body, unknown command or wrong command for the path, request number reused for another body"},
	CodeInvalidFormat:                              {"InvalidFormat", KindInput, false, "bytes do not have the expected format"},
	CodeFeatureUnavailable:                         {"FeatureUnavailable", KindInput, false, "replicated command sent as NonReplicated"},
	CodeInvalidIdentifier:                          {"InvalidIdentifier", KindInput, false, "identifier malformed or out of range"},
	CodeInvalidVersion:                             {"InvalidVersion", KindInput, false, "version string malformed"},
	CodeDisconnected:                               {"Disconnected", KindEnvironment, false, "connection lost while a request was outstanding"},
	CodeCannotEstablishConnection:                  {"CannotEstablishConnection", KindEnvironment, false, "could not connect"},
	CodeCannotCreateBaseDirectory:                  {"CannotCreateBaseDirectory", KindEnvironment, false, "base directory could not be created"},
	CodeCannotCreateRuntimeDirectory:               {"CannotCreateRuntimeDirectory", KindEnvironment, false, "runtime directory could not be created"},
	CodeCannotRemoveRuntimeDirectory:               {"CannotRemoveRuntimeDirectory", KindEnvironment, false, "runtime directory could not be removed"},
	CodeCannotCreateStateDirectory:                 {"CannotCreateStateDirectory", KindEnvironment, false, "state directory could not be created"},
	CodeStateFileNotFound:                          {"StateFileNotFound", KindNotFound, false, "state file missing"},
	CodeStateFileCorrupted:                         {"StateFileCorrupted", KindCorrupt, false, "state file damaged"},
	CodeInvalidStateEntryChecksum:                  {"InvalidStateEntryChecksum", KindCorrupt, false, "state entry checksum wrong"},
	CodeCannotOpenDatabase:                         {"CannotOpenDatabase", KindEnvironment, false, "database could not be opened"},
	CodeResourceNotFound:                           {"ResourceNotFound", KindNotFound, false, "resource not found: user or token in metadata rejections"},
	CodeCannotCloseWebSocketConnection:             {"CannotCloseWebSocketConnection", KindEnvironment, false, "WebSocket close failed"},
	CodeStaleClient:                                {"StaleClient", KindAuth, false, "client missed its heartbeats"},
	CodeTcpError:                                   {"TcpError", KindEnvironment, false, "TCP I/O error"},
	CodeQuicError:                                  {"QuicError", KindEnvironment, false, "QUIC I/O error"},
	CodeInvalidServerAddress:                       {"InvalidServerAddress", KindInput, false, "server address malformed"},
	CodeInvalidClientAddress:                       {"InvalidClientAddress", KindInput, false, "client address malformed"},
	CodeInvalidIpAddress:                           {"InvalidIpAddress", KindInput, false, "IP address or port malformed"},
	CodeHttpError:                                  {"HttpError", KindEnvironment, false, "HTTP failure"},
	CodeInvalidApiUrl:                              {"InvalidApiUrl", KindInput, false, "API URL malformed"},
	CodeUnauthenticated:                            {"Unauthenticated", KindAuth, false, "not signed in, or the session is gone"},
	CodeUnauthorized:                               {"Unauthorized", KindAuth, false, "signed in but lacking permission"},
	CodeInvalidCredentials:                         {"InvalidCredentials", KindAuth, false, "wrong user name or password"},
	CodeInvalidUsername:                            {"InvalidUsername", KindInput, false, "user name violates its limits"},
	CodeInvalidPassword:                            {"InvalidPassword", KindInput, false, "password violates its limits"},
	CodeInvalidUserStatus:                          {"InvalidUserStatus", KindInput, false, "unknown user status"},
	CodeUserAlreadyExists:                          {"UserAlreadyExists", KindConflict, false, "user name already taken"},
	CodeUserInactive:                               {"UserInactive", KindAuth, false, "user account is disabled"},
	CodeCannotDeleteUser:                           {"CannotDeleteUser", KindConflict, false, "this user must not be deleted"},
	CodeCannotChangePermissions:                    {"CannotChangePermissions", KindConflict, false, "this user's permissions must not change"},
	CodeInvalidPersonalAccessTokenName:             {"InvalidPersonalAccessTokenName", KindInput, false, "token name violates its limits"},
	CodePersonalAccessTokenAlreadyExists:           {"PersonalAccessTokenAlreadyExists", KindConflict, false, "token name already used by this user"},
	CodePersonalAccessTokensLimitReached:           {"PersonalAccessTokensLimitReached", KindLimit, false, "user owns the maximum number of tokens"},
	CodeInvalidPersonalAccessToken:                 {"InvalidPersonalAccessToken", KindAuth, false, "token unknown"},
	CodePersonalAccessTokenExpired:                 {"PersonalAccessTokenExpired", KindAuth, false, "token expired"},
	CodeUsersLimitReached:                          {"UsersLimitReached", KindLimit, false, "maximum number of users reached"},
	CodeInvalidPersonalAccessTokenExpiry:           {"InvalidPersonalAccessTokenExpiry", KindInput, false, "token expiry not acceptable"},
	CodeTransientNotCommitted:                      {"TransientNotCommitted", KindTransient, true, "outcome unknown, retry the same request on the same session"},
	CodeTransientNotAccepted:                       {"TransientNotAccepted", KindTransient, true, "not admitted, retry anywhere"},
	CodeRequestAlreadyApplied:                      {"RequestAlreadyApplied", KindConflict, false, "request number already executed and its reply is no longer kept"},
	CodeNotConnected:                               {"NotConnected", KindEnvironment, false, "client is not connected"},
	CodeClientShutdown:                             {"ClientShutdown", KindEnvironment, false, "client was shut down"},
	CodeInvalidTlsDomain:                           {"InvalidTlsDomain", KindInput, false, "TLS domain malformed"},
	CodeInvalidTlsCertificatePath:                  {"InvalidTlsCertificatePath", KindInput, false, "TLS certificate path wrong"},
	CodeInvalidTlsCertificate:                      {"InvalidTlsCertificate", KindInput, false, "TLS certificate malformed"},
	CodeFailedToAddCertificate:                     {"FailedToAddCertificate", KindEnvironment, false, "TLS certificate could not be added"},
	CodeInvalidEncryptionKey:                       {"InvalidEncryptionKey", KindInput, false, "encryption key malformed"},
	CodeCannotEncryptData:                          {"CannotEncryptData", KindEnvironment, false, "encryption failed"},
	CodeCannotDecryptData:                          {"CannotDecryptData", KindEnvironment, false, "decryption failed"},
	CodeInvalidJwtAlgorithm:                        {"InvalidJwtAlgorithm", KindInput, false, "JWT algorithm unsupported"},
	CodeInvalidJwtSecret:                           {"InvalidJwtSecret", KindInput, false, "JWT secret malformed"},
	CodeJwtMissing:                                 {"JwtMissing", KindAuth, false, "JWT absent"},
	CodeCannotGenerateJwt:                          {"CannotGenerateJwt", KindEnvironment, false, "JWT could not be issued"},
	CodeAccessTokenMissing:                         {"AccessTokenMissing", KindAuth, false, "access token absent"},
	CodeInvalidAccessToken:                         {"InvalidAccessToken", KindAuth, false, "access token refused"},
	CodeCannotFetchJwks:                            {"CannotFetchJwks", KindEnvironment, false, "key set could not be fetched"},
	CodeInvalidSizeBytes:                           {"InvalidSizeBytes", KindInput, false, "byte-size text malformed"},
	CodeInvalidUtf8:                                {"InvalidUtf8", KindInput, false, "bytes are not UTF-8"},
	CodeInvalidNumberEncoding:                      {"InvalidNumberEncoding", KindInput, false, "number bytes malformed"},
	CodeInvalidBooleanValue:                        {"InvalidBooleanValue", KindInput, false, "boolean value malformed"},
	CodeInvalidNumberValue:                         {"InvalidNumberValue", KindInput, false, "number text malformed"},
	CodeClientNotFound:                             {"ClientNotFound", KindNotFound, false, "connected client id unknown"},
	CodeInvalidClientId:                            {"InvalidClientId", KindInput, false, "client id malformed"},
	CodeConnectionClosed:                           {"ConnectionClosed", KindEnvironment, false, "peer closed the connection"},
	CodeCannotParseHeaderKind:                      {"CannotParseHeaderKind", KindInput, false, "header kind text unknown"},
	CodeHttpResponseError:                          {"HttpResponseError", KindEnvironment, false, "HTTP answered with an error status"},
	CodeInvalidHttpRequest:                         {"InvalidHttpRequest", KindInput, false, "HTTP request could not be built"},
	CodeInvalidJsonResponse:                        {"InvalidJsonResponse", KindInput, false, "HTTP body is not the expected JSON"},
	CodeInvalidBytesResponse:                       {"InvalidBytesResponse", KindInput, false, "HTTP body is not the expected bytes"},
	CodeEmptyResponse:                              {"EmptyResponse", KindEnvironment, false, "reply shorter than a header"},
	CodeCannotCreateEndpoint:                       {"CannotCreateEndpoint", KindEnvironment, false, "QUIC endpoint could not be created"},
	CodeCannotParseUrl:                             {"CannotParseUrl", KindInput, false, "URL malformed"},
	CodeWebSocketError:                             {"WebSocketError", KindEnvironment, false, "WebSocket failure"},
	CodeWebSocketConnectionError:                   {"WebSocketConnectionError", KindEnvironment, false, "WebSocket connect failed"},
	CodeWebSocketCloseError:                        {"WebSocketCloseError", KindEnvironment, false, "WebSocket close frame not sent"},
	CodeWebSocketReceiveError:                      {"WebSocketReceiveError", KindEnvironment, false, "WebSocket receive failed"},
	CodeWebSocketSendError:                         {"WebSocketSendError", KindEnvironment, false, "WebSocket send failed"},
	CodeCannotCreateStreamsDirectory:               {"CannotCreateStreamsDirectory", KindEnvironment, false, "streams directory could not be created"},
	CodeCannotCreateStreamDirectory:                {"CannotCreateStreamDirectory", KindEnvironment, false, "stream directory could not be created"},
	CodeCannotCreateStreamInfo:                     {"CannotCreateStreamInfo", KindEnvironment, false, "stream info file not created"},
	CodeCannotUpdateStreamInfo:                     {"CannotUpdateStreamInfo", KindEnvironment, false, "stream info file not updated"},
	CodeCannotOpenStreamInfo:                       {"CannotOpenStreamInfo", KindEnvironment, false, "stream info file not opened"},
	CodeCannotReadStreamInfo:                       {"CannotReadStreamInfo", KindEnvironment, false, "stream info file not read"},
	CodeCannotCreateStream:                         {"CannotCreateStream", KindEnvironment, false, "stream not created"},
	CodeCannotDeleteStream:                         {"CannotDeleteStream", KindEnvironment, false, "stream not deleted"},
	CodeCannotDeleteStreamDirectory:                {"CannotDeleteStreamDirectory", KindEnvironment, false, "stream directory not deleted"},
	CodeStreamIdNotFound:                           {"StreamIdNotFound", KindNotFound, false, "stream unknown"},
	CodeStreamNameNotFound:                         {"StreamNameNotFound", KindNotFound, false, "stream name unknown"},
	CodeStreamDirectoryNotFound:                    {"StreamDirectoryNotFound", KindNotFound, false, "stream directory missing"},
	CodeStreamNameAlreadyExists:                    {"StreamNameAlreadyExists", KindConflict, false, "stream name already taken"},
	CodeInvalidStreamName:                          {"InvalidStreamName", KindInput, false, "stream name violates its limits"},
	CodeInvalidStreamId:                            {"InvalidStreamId", KindInput, false, "stream id malformed"},
	CodeCannotReadStreams:                          {"CannotReadStreams", KindEnvironment, false, "streams not readable"},
	CodeInvalidTopicSize:                           {"InvalidTopicSize", KindInput, false, "topic size cap smaller than one segment"},
	CodeTooManyStreams:                             {"TooManyStreams", KindLimit, false, "stream id space full"},
	CodeCannotCreateTopicsDirectory:                {"CannotCreateTopicsDirectory", KindEnvironment, false, "topics directory not created"},
	CodeCannotCreateTopicDirectory:                 {"CannotCreateTopicDirectory", KindEnvironment, false, "topic directory not created"},
	CodeCannotCreateTopicInfo:                      {"CannotCreateTopicInfo", KindEnvironment, false, "topic info file not created"},
	CodeCannotUpdateTopicInfo:                      {"CannotUpdateTopicInfo", KindEnvironment, false, "topic info file not updated"},
	CodeCannotOpenTopicInfo:                        {"CannotOpenTopicInfo", KindEnvironment, false, "topic info file not opened"},
	CodeCannotReadTopicInfo:                        {"CannotReadTopicInfo", KindEnvironment, false, "topic info file not read"},
	CodeCannotCreateTopic:                          {"CannotCreateTopic", KindEnvironment, false, "topic not created"},
	CodeCannotDeleteTopic:                          {"CannotDeleteTopic", KindEnvironment, false, "topic not deleted"},
	CodeCannotDeleteTopicDirectory:                 {"CannotDeleteTopicDirectory", KindEnvironment, false, "topic directory not deleted"},
	CodeCannotPollTopic:                            {"CannotPollTopic", KindEnvironment, false, "topic not pollable"},
	CodeTopicIdNotFound:                            {"TopicIdNotFound", KindNotFound, false, "topic unknown in this stream"},
	CodeTopicNameNotFound:                          {"TopicNameNotFound", KindNotFound, false, "topic name unknown"},
	CodeTopicNameAlreadyExists:                     {"TopicNameAlreadyExists", KindConflict, false, "topic name already taken in this stream"},
	CodeInvalidTopicName:                           {"InvalidTopicName", KindInput, false, "topic name violates its limits"},
	CodeTooManyPartitions:                          {"TooManyPartitions", KindLimit, false, "partition count outside 0/1...1000 for this command"},
	CodeInvalidTopicId:                             {"InvalidTopicId", KindInput, false, "topic id malformed"},
	CodeCannotReadTopics:                           {"CannotReadTopics", KindEnvironment, false, "topics not readable"},
	CodeInvalidReplicationFactor:                   {"InvalidReplicationFactor", KindInput, false, "replication factor not acceptable"},
	CodeInvalidPartitionsCount:                     {"InvalidPartitionsCount", KindInput, false, "partition count not applicable to the topic's current state"},
	CodeTopicDirectoryNotFound:                     {"TopicDirectoryNotFound", KindNotFound, false, "topic directory missing"},
	CodeTooManyTopics:                              {"TooManyTopics", KindLimit, false, "topic id space of the stream full"},
	CodeCannotCreatePartition:                      {"CannotCreatePartition", KindEnvironment, false, "partition not created"},
	CodeCannotCreatePartitionsDirectory:            {"CannotCreatePartitionsDirectory", KindEnvironment, false, "partitions directory not created"},
	CodeCannotCreatePartitionDirectory:             {"CannotCreatePartitionDirectory", KindEnvironment, false, "partition directory not created"},
	CodeCannotOpenPartitionLogFile:                 {"CannotOpenPartitionLogFile", KindEnvironment, false, "partition log not opened"},
	CodeCannotReadPartitions:                       {"CannotReadPartitions", KindCorrupt, false, "partition fenced: its data or consensus state cannot be trusted"},
	CodeCannotDeletePartition:                      {"CannotDeletePartition", KindEnvironment, false, "partition not deleted"},
	CodeCannotDeletePartitionDirectory:             {"CannotDeletePartitionDirectory", KindEnvironment, false, "partition directory not deleted"},
	CodePartitionNotFound:                          {"PartitionNotFound", KindNotFound, false, "partition unknown in this topic"},
	CodeNoPartitions:                               {"NoPartitions", KindNotFound, false, "topic has no partitions"},
	CodeTopicFull:                                  {"TopicFull", KindLimit, false, "topic full"},
	CodeCannotDeleteConsumerOffsetsDirectory:       {"CannotDeleteConsumerOffsetsDirectory", KindEnvironment, false, "consumer-offset directory not deleted"},
	CodeCannotDeleteConsumerOffsetFile:             {"CannotDeleteConsumerOffsetFile", KindEnvironment, false, "consumer-offset file not deleted"},
	CodeCannotCreateConsumerOffsetsDirectory:       {"CannotCreateConsumerOffsetsDirectory", KindEnvironment, false, "consumer-offset directory not created"},
	CodePartitionIdSpaceExhausted:                  {"PartitionIdSpaceExhausted", KindLimit, false, "partition id space of the topic used up"},
	CodeCannotReadConsumerOffsets:                  {"CannotReadConsumerOffsets", KindEnvironment, false, "consumer offsets not readable"},
	CodeConsumerOffsetNotFound:                     {"ConsumerOffsetNotFound", KindNotFound, false, "no offset stored for this consumer"},
	CodeNotResolvedConsumer:                        {"NotResolvedConsumer", KindNotFound, false, "consumer not resolvable"},
	CodeCannotOpenConsumerOffsetsFile:              {"CannotOpenConsumerOffsetsFile", KindEnvironment, false, "consumer-offset file not opened"},
	CodeSegmentNotFound:                            {"SegmentNotFound", KindNotFound, false, "segment unknown"},
	CodeSegmentClosed:                              {"SegmentClosed", KindConflict, false, "segment sealed"},
	CodeInvalidSegmentSize:                         {"InvalidSegmentSize", KindInput, false, "segment size not acceptable"},
	CodeCannotCreateSegmentLogFile:                 {"CannotCreateSegmentLogFile", KindEnvironment, false, "segment log file not created"},
	CodeCannotCreateSegmentIndexFile:               {"CannotCreateSegmentIndexFile", KindEnvironment, false, "segment index file not created"},
	CodeCannotCreateSegmentTimeIndexFile:           {"CannotCreateSegmentTimeIndexFile", KindEnvironment, false, "segment time-index file not created"},
	CodeCannotSaveMessagesToSegment:                {"CannotSaveMessagesToSegment", KindEnvironment, false, "messages not saved"},
	CodeCannotSaveIndexToSegment:                   {"CannotSaveIndexToSegment", KindEnvironment, false, "index not saved"},
	CodeCannotSaveTimeIndexToSegment:               {"CannotSaveTimeIndexToSegment", KindEnvironment, false, "time index not saved"},
	CodeInvalidMessagesCount:                       {"InvalidMessagesCount", KindInput, false, "number of messages not acceptable"},
	CodeCannotAppendMessage:                        {"CannotAppendMessage", KindEnvironment, false, "message not appended"},
	CodeCannotReadMessage:                          {"CannotReadMessage", KindEnvironment, false, "message not readable"},
	CodeCannotReadMessageId:                        {"CannotReadMessageId", KindEnvironment, false, "message id not readable"},
	CodeCannotReadMessageState:                     {"CannotReadMessageState", KindEnvironment, false, "message state not readable"},
	CodeCannotReadMessageTimestamp:                 {"CannotReadMessageTimestamp", KindEnvironment, false, "message timestamp not readable"},
	CodeCannotReadHeadersLength:                    {"CannotReadHeadersLength", KindEnvironment, false, "headers length not readable"},
	CodeCannotReadHeadersPayload:                   {"CannotReadHeadersPayload", KindEnvironment, false, "headers not readable"},
	CodeTooBigUserHeaders:                          {"TooBigUserHeaders", KindLimit, false, "user headers exceed 100 000 bytes"},
	CodeInvalidHeaderKey:                           {"InvalidHeaderKey", KindInput, false, "header key malformed"},
	CodeInvalidHeaderValue:                         {"InvalidHeaderValue", KindInput, false, "header value malformed"},
	CodeCannotReadMessageLength:                    {"CannotReadMessageLength", KindEnvironment, false, "message length not readable"},
	CodeCannotReadMessagePayload:                   {"CannotReadMessagePayload", KindEnvironment, false, "message payload not readable"},
	CodeTooBigMessagePayload:                       {"TooBigMessagePayload", KindLimit, false, "payload too large"},
	CodeTooManyMessages:                            {"TooManyMessages", KindLimit, false, "too many messages"},
	CodeEmptyMessagePayload:                        {"EmptyMessagePayload", KindInput, false, "payload empty"},
	CodeInvalidMessagePayloadLength:                {"InvalidMessagePayloadLength", KindInput, false, "payload length malformed"},
	CodeCannotReadMessageChecksum:                  {"CannotReadMessageChecksum", KindEnvironment, false, "message checksum not readable"},
	CodeInvalidMessageChecksum:                     {"InvalidMessageChecksum", KindCorrupt, false, "frame checksum mismatch"},
	CodeInvalidKeyValueLength:                      {"InvalidKeyValueLength", KindInput, false, "partitioning key length outside 1...255"},
	CodeCommandLengthError:                         {"CommandLengthError", KindInput, false, "command length malformed"},
	CodeInvalidSegmentsCount:                       {"InvalidSegmentsCount", KindInput, false, "number of segments malformed"},
	CodeNonZeroOffset:                              {"NonZeroOffset", KindInput, false, "producer set an offset"},
	CodeNonZeroTimestamp:                           {"NonZeroTimestamp", KindInput, false, "producer set a timestamp"},
	CodeMissingIndex:                               {"MissingIndex", KindInput, false, "message index missing"},
	CodeInvalidIndexesByteSize:                     {"InvalidIndexesByteSize", KindInput, false, "index bytes not a multiple of 16"},
	CodeInvalidIndexesCount:                        {"InvalidIndexesCount", KindInput, false, "index count mismatch"},
	CodeInvalidMessagesSize:                        {"InvalidMessagesSize", KindInput, false, "message bytes mismatch"},
	CodeTooSmallMessage:                            {"TooSmallMessage", KindInput, false, "message shorter than its header"},
	CodeInvalidMessageTimestampDelta:               {"InvalidMessageTimestampDelta", KindInput, false, "message too far after the earliest of its batch"},
	CodeInvalidBatchChecksum:                       {"InvalidBatchChecksum", KindCorrupt, false, "batch checksum mismatch"},
	CodeInvalidHeaderKind:                          {"InvalidHeaderKind", KindInput, false, "header kind code unknown"},
	CodeUnsupportedOptionKey:                       {"UnsupportedOptionKey", KindInput, false, "option key not supported"},
	CodeInvalidOptionValue:                         {"InvalidOptionValue", KindInput, false, "option value malformed or out of range"},
	CodeOptionsBlockTooLarge:                       {"OptionsBlockTooLarge", KindLimit, false, "option block exceeds its limits"},
	CodeCannotSendMessagesDueToClientDisconnection: {"CannotSendMessagesDueToClientDisconnection", KindEnvironment, false, "producer lost its connection"},
	CodeBackgroundSendError:                        {"BackgroundSendError", KindEnvironment, false, "background send failed"},
	CodeBackgroundSendTimeout:                      {"BackgroundSendTimeout", KindEnvironment, false, "background send timed out"},
	CodeBackgroundSendBufferFull:                   {"BackgroundSendBufferFull", KindLimit, false, "background buffer full"},
	CodeBackgroundWorkerDisconnected:               {"BackgroundWorkerDisconnected", KindEnvironment, false, "background worker gone"},
	CodeBackgroundSendBufferOverflow:               {"BackgroundSendBufferOverflow", KindLimit, false, "background buffer overflow"},
	CodeProducerSendFailed:                         {"ProducerSendFailed", KindEnvironment, false, "producer gave up after its retries"},
	CodeProducerClosed:                             {"ProducerClosed", KindEnvironment, false, "producer closed"},
	CodeInvalidOffset:                              {"InvalidOffset", KindInput, false, "offset beyond the last committed message, or partition empty"},
	CodeInvalidReservedField:                       {"InvalidReservedField", KindInput, false, "reserved field not zero"},
	CodeConsumerGroupIdNotFound:                    {"ConsumerGroupIdNotFound", KindNotFound, false, "consumer group unknown"},
	CodeInvalidConsumerGroupId:                     {"InvalidConsumerGroupId", KindInput, false, "group id malformed"},
	CodeConsumerGroupNameNotFound:                  {"ConsumerGroupNameNotFound", KindNotFound, false, "group name unknown"},
	CodeConsumerGroupNameAlreadyExists:             {"ConsumerGroupNameAlreadyExists", KindConflict, false, "group name already taken in this topic"},
	CodeInvalidConsumerGroupName:                   {"InvalidConsumerGroupName", KindInput, false, "group name violates its limits"},
	CodeConsumerGroupMemberNotFound:                {"ConsumerGroupMemberNotFound", KindNotFound, false, "caller is not a member of the group"},
	CodeCannotCreateConsumerGroupInfo:              {"CannotCreateConsumerGroupInfo", KindEnvironment, false, "group info file not created"},
	CodeCannotDeleteConsumerGroupInfo:              {"CannotDeleteConsumerGroupInfo", KindEnvironment, false, "group info file not deleted"},
	CodeConsumerGroupPartitionNotOwned:             {"ConsumerGroupPartitionNotOwned", KindConflict, false, "member does not own the partition at this generation"},
	CodeMissingBaseOffsetRetainedMessageBatch:      {"MissingBaseOffsetRetainedMessageBatch", KindCorrupt, false, "batch base offset missing"},
	CodeMissingLastOffsetDeltaRetainedMessageBatch: {"MissingLastOffsetDeltaRetainedMessageBatch", KindCorrupt, false, "batch last-offset delta missing"},
	CodeMissingMaxTimestampRetainedMessageBatch:    {"MissingMaxTimestampRetainedMessageBatch", KindCorrupt, false, "batch max timestamp missing"},
	CodeMissingLengthRetainedMessageBatch:          {"MissingLengthRetainedMessageBatch", KindCorrupt, false, "batch length missing"},
	CodeMissingPayloadRetainedMessageBatch:         {"MissingPayloadRetainedMessageBatch", KindCorrupt, false, "batch payload missing"},
	CodeCannotReadBatchBaseOffset:                  {"CannotReadBatchBaseOffset", KindEnvironment, false, "batch base offset not readable"},
	CodeCannotReadBatchLength:                      {"CannotReadBatchLength", KindEnvironment, false, "batch length not readable"},
	CodeCannotReadLastOffsetDelta:                  {"CannotReadLastOffsetDelta", KindEnvironment, false, "batch last-offset delta not readable"},
	CodeCannotReadMaxTimestamp:                     {"CannotReadMaxTimestamp", KindEnvironment, false, "batch max timestamp not readable"},
	CodeCannotReadBatchPayload:                     {"CannotReadBatchPayload", KindEnvironment, false, "batch payload not readable"},
	CodeInvalidConnectionString:                    {"InvalidConnectionString", KindInput, false, "connection string malformed"},
	CodeSnapshotFileCompletionFailed:               {"SnapshotFileCompletionFailed", KindInternal, false, "snapshot archive failed or exceeds the frame limit"},
	CodeCannotSerializeResource:                    {"CannotSerializeResource", KindInternal, false, "serialisation failed"},
	CodeCannotDeserializeResource:                  {"CannotDeserializeResource", KindCorrupt, false, "deserialisation failed"},
	CodeCannotReadFile:                             {"CannotReadFile", KindEnvironment, false, "file not readable"},
	CodeCannotReadFileMetadata:                     {"CannotReadFileMetadata", KindEnvironment, false, "file metadata not readable"},
	CodeCannotSeekFile:                             {"CannotSeekFile", KindEnvironment, false, "file seek failed"},
	CodeCannotAppendToFile:                         {"CannotAppendToFile", KindEnvironment, false, "file append failed"},
	CodeCannotWriteToFile:                          {"CannotWriteToFile", KindEnvironment, false, "file write failed"},
	CodeCannotOverwriteFile:                        {"CannotOverwriteFile", KindEnvironment, false, "file overwrite failed"},
	CodeCannotDeleteFile:                           {"CannotDeleteFile", KindEnvironment, false, "file delete failed"},
	CodeCannotSyncFile:                             {"CannotSyncFile", KindEnvironment, false, "file sync failed"},
	CodeCannotReadIndexOffset:                      {"CannotReadIndexOffset", KindEnvironment, false, "index offset not readable"},
	CodeCannotReadIndexPosition:                    {"CannotReadIndexPosition", KindEnvironment, false, "index position not readable"},
	CodeCannotReadIndexTimestamp:                   {"CannotReadIndexTimestamp", KindEnvironment, false, "index timestamp not readable"},
	CodeTimestampOutOfRange:                        {"TimestampOutOfRange", KindInput, false, "timestamp out of range"},
	CodeShardNotFound:                              {"ShardNotFound", KindNotFound, false, "no owner for the partition"},
	CodeShardCommunicationError:                    {"ShardCommunicationError", KindEnvironment, false, "internal hand-over failed"},
	CodeCannotBindToSocket:                         {"CannotBindToSocket", KindEnvironment, false, "address could not be bound"},
	CodeTaskTimeout:                                {"TaskTimeout", KindEnvironment, false, "task timed out"},
	CodeIoError:                                    {"IoError", KindEnvironment, false, "I/O error"},
	CodeAlreadyAuthenticated:                       {"AlreadyAuthenticated", KindConflict, false, "client session already bound"},
	CodeInvalidSession:                             {"InvalidSession", KindInput, false, "session fence is zero"},
	CodeIncompatibleProtocolVersion:                {"IncompatibleProtocolVersion", KindInput, false, "protocol version outside the server's window"},
}
