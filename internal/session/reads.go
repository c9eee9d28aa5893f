package session

import (
	"github.com/galgolog/galgo/internal/metadata"
	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
	"github.com/galgolog/galgo/internal/transport"
)

// reading is one read of the applied state: it returns the body of the answer, or a code.
type reading func(s *session, view *metadata.View, b *binding, body []byte) ([]byte, protocol.Code)

var readings = map[protocol.CommandCode]reading{
	protocol.CmdStats:                   readStats,
	protocol.CmdSnapshot:                readSnapshot,
	protocol.CmdClusterMetadata:         readCluster,
	protocol.CmdOptionsDescribe:         readOptions,
	protocol.CmdMe:                      readMe,
	protocol.CmdClientGet:               readClient,
	protocol.CmdClientList:              readClients,
	protocol.CmdUserGet:                 readUser,
	protocol.CmdUserList:                readUsers,
	protocol.CmdPersonalAccessTokenList: readTokens,
	protocol.CmdStreamGet:               readStream,
	protocol.CmdStreamList:              readStreams,
	protocol.CmdTopicGet:                readTopic,
	protocol.CmdTopicList:               readTopics,
	protocol.CmdConsumerGroupGet:        readGroup,
	protocol.CmdConsumerGroupList:       readGroups,
	protocol.CmdConsumerGroupSync:       readSync,
}

// read serves a NonReplicated request of a signed-in client.
func (s *session) read(x *transport.Exchange, b *binding) {
	code := protocol.CommandCode(x.Header.CommandCode())
	switch code {
	case protocol.CmdPing:
		s.answer(x, nil)
		return
	case protocol.CmdUserLogin, protocol.CmdPersonalAccessTokenLogin:
		s.sendEviction(x, protocol.EvictMalformedLogin)
		return
	}
	view, current := s.view()
	if !current {
		s.deny(x, protocol.CodeTransientNotAccepted)
		return
	}
	switch code {
	case protocol.CmdMessagePoll:
		s.pollMessages(x, b, view)
		return
	case protocol.CmdConsumerOffsetGet:
		s.getOffset(x, b, view)
		return
	case protocol.CmdMessageFlushUnsavedBuffer:
		s.flush(x, b, view)
		return
	}
	if do := readings[code]; do != nil {
		body, refusal := do(s, view, b, x.Body.Bytes)
		if refusal != protocol.Success {
			s.deny(x, refusal)
			return
		}
		s.answer(x, body)
		return
	}
	info, known := code.Info()
	if known && info.Operation.IsKnown() && info.Operation >= 64 {
		s.deny(x, protocol.CodeFeatureUnavailable)
		return
	}
	s.deny(x, protocol.CodeInvalidCommand)
}

func readStats(s *session, view *metadata.View, b *binding, _ []byte) ([]byte, protocol.Code) {
	if !view.Allowed(b.user, protocol.CmdStats, metadata.Target{}) {
		return nil, protocol.CodeUnauthorized
	}
	stats := s.server.stats(view)
	return stats.Append(nil), protocol.Success
}

func readSnapshot(s *session, view *metadata.View, b *binding, body []byte) ([]byte, protocol.Code) {
	if !view.Allowed(b.user, protocol.CmdSnapshot, metadata.Target{}) {
		return nil, protocol.CodeUnauthorized
	}
	req, err := command.DecodeSnapshot(body)
	if err != nil {
		return nil, protocol.CodeInvalidCommand
	}
	return s.server.makeArchive(req)
}

func readCluster(s *session, _ *metadata.View, _ *binding, _ []byte) ([]byte, protocol.Code) {
	return s.server.o.Roster(uint16(s.server.tcpPort.Load())).Append(nil), protocol.Success
}

func readOptions(_ *session, _ *metadata.View, _ *binding, body []byte) ([]byte, protocol.Code) {
	scope, err := command.DecodeU8(body)
	if err != nil {
		return nil, protocol.CodeInvalidCommand
	}
	return metadata.AppendOptionsCatalogue(nil, scope)
}

func (s *session) connected() *metadata.ConnectedClient {
	c := &metadata.ConnectedClient{
		ID: uint32(s.conn.ID().Lo), User: metadata.AnonymousUser, Transport: command.TransportTCP, Address: s.conn.RemoteAddr().String(),
	}
	if b := s.binding.Load(); b != nil {
		c.User, c.Client = b.user, b.client
	}
	return c
}

func readMe(s *session, view *metadata.View, _ *binding, _ []byte) ([]byte, protocol.Code) {
	return view.AppendClient(nil, s.connected(), true), protocol.Success
}

func readClient(s *session, view *metadata.View, b *binding, body []byte) ([]byte, protocol.Code) {
	if !view.Allowed(b.user, protocol.CmdClientGet, metadata.Target{}) {
		return nil, protocol.CodeUnauthorized
	}
	id, err := command.DecodeU32(body)
	if err != nil {
		return nil, protocol.CodeInvalidCommand
	}
	var out []byte
	s.server.each(func(other *session) {
		if uint32(other.conn.ID().Lo) == id && out == nil {
			out = view.AppendClient(nil, other.connected(), true)
		}
	})
	return out, protocol.Success
}

func readClients(s *session, view *metadata.View, b *binding, _ []byte) ([]byte, protocol.Code) {
	if !view.Allowed(b.user, protocol.CmdClientList, metadata.Target{}) {
		return nil, protocol.CodeUnauthorized
	}
	var out []byte
	for _, c := range s.server.clients() {
		out = view.AppendClient(out, c, false)
	}
	return out, protocol.Success
}

func readUser(_ *session, view *metadata.View, b *binding, body []byte) ([]byte, protocol.Code) {
	id, err := command.DecodeIdentifier(body)
	if err != nil {
		return nil, protocol.CodeInvalidCommand
	}
	u := view.User(id)
	if !view.Allowed(b.user, protocol.CmdUserGet, metadata.Target{User: u}) {
		return nil, protocol.CodeUnauthorized
	}
	if u == nil {
		return nil, protocol.Success
	}
	return metadata.AppendUser(nil, u), protocol.Success
}

func readUsers(_ *session, view *metadata.View, b *binding, _ []byte) ([]byte, protocol.Code) {
	if !view.Allowed(b.user, protocol.CmdUserList, metadata.Target{}) {
		return nil, protocol.CodeUnauthorized
	}
	return view.AppendUsers(nil), protocol.Success
}

func readTokens(_ *session, view *metadata.View, b *binding, _ []byte) ([]byte, protocol.Code) {
	u := view.UserByID(b.user)
	if u == nil {
		return nil, protocol.CodeUnauthenticated
	}
	return metadata.AppendTokens(nil, u), protocol.Success
}

func readStream(s *session, view *metadata.View, b *binding, body []byte) ([]byte, protocol.Code) {
	id, err := command.DecodeIdentifier(body)
	if err != nil {
		return nil, protocol.CodeInvalidCommand
	}
	st := view.Stream(id)
	if st == nil {
		return nil, protocol.Success
	}
	if !view.Allowed(b.user, protocol.CmdStreamGet, metadata.Target{Stream: st.ID}) {
		return nil, protocol.CodeUnauthorized
	}
	return metadata.AppendStream(nil, st, s.server), protocol.Success
}

func readStreams(s *session, view *metadata.View, b *binding, _ []byte) ([]byte, protocol.Code) {
	if !view.Allowed(b.user, protocol.CmdStreamList, metadata.Target{}) {
		return nil, protocol.CodeUnauthorized
	}
	return view.AppendStreams(nil, s.server), protocol.Success
}

func readTopic(s *session, view *metadata.View, b *binding, body []byte) ([]byte, protocol.Code) {
	ref, err := command.DecodeTopicRef(body)
	if err != nil {
		return nil, protocol.CodeInvalidCommand
	}
	st, t, code := view.Topic(ref)
	if code != protocol.Success {
		return nil, protocol.Success
	}
	if !view.Allowed(b.user, protocol.CmdTopicGet, metadata.Target{Stream: st.ID, Topic: t.ID}) {
		return nil, protocol.CodeUnauthorized
	}
	return metadata.AppendTopic(nil, st, t, s.server), protocol.Success
}

func readTopics(s *session, view *metadata.View, b *binding, body []byte) ([]byte, protocol.Code) {
	id, err := command.DecodeIdentifier(body)
	if err != nil {
		return nil, protocol.CodeInvalidCommand
	}
	st := view.Stream(id)
	if st == nil {
		return []byte{0, 0, 0, 0}, protocol.Success
	}
	if !view.Allowed(b.user, protocol.CmdTopicList, metadata.Target{Stream: st.ID}) {
		return nil, protocol.CodeUnauthorized
	}
	return metadata.AppendTopics(nil, st, s.server), protocol.Success
}

func readGroup(_ *session, view *metadata.View, b *binding, body []byte) ([]byte, protocol.Code) {
	ref, err := command.DecodeGroupRef(body)
	if err != nil {
		return nil, protocol.CodeInvalidCommand
	}
	st, t, code := view.Topic(ref.TopicRef)
	if code != protocol.Success {
		return nil, code
	}
	if !view.Allowed(b.user, protocol.CmdConsumerGroupGet, metadata.Target{Stream: st.ID, Topic: t.ID}) {
		return nil, protocol.CodeUnauthorized
	}
	g := t.Group(ref.Group)
	if g == nil {
		return nil, protocol.Success
	}
	return metadata.AppendGroup(nil, t, g), protocol.Success
}

func readGroups(_ *session, view *metadata.View, b *binding, body []byte) ([]byte, protocol.Code) {
	ref, err := command.DecodeTopicRef(body)
	if err != nil {
		return nil, protocol.CodeInvalidCommand
	}
	st, t, code := view.Topic(ref)
	if code != protocol.Success {
		return nil, code
	}
	if !view.Allowed(b.user, protocol.CmdConsumerGroupList, metadata.Target{Stream: st.ID, Topic: t.ID}) {
		return nil, protocol.CodeUnauthorized
	}
	return metadata.AppendGroups(nil, t), protocol.Success
}

func readSync(_ *session, view *metadata.View, b *binding, body []byte) ([]byte, protocol.Code) {
	ref, err := command.DecodeGroupRef(body)
	if err != nil {
		return nil, protocol.CodeInvalidCommand
	}
	_, t, code := view.Topic(ref.TopicRef)
	if code != protocol.Success {
		return nil, protocol.Success
	}
	return metadata.AppendSync(nil, t.Group(ref.Group), b.client), protocol.Success
}
