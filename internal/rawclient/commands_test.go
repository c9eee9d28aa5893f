package rawclient

import (
	"testing"

	"github.com/galgolog/galgo/internal/protocol"
	"github.com/galgolog/galgo/internal/protocol/command"
)

func TestSignIn_TakesSessionAndStartsCounting(t *testing.T) {
	fs := startFake(t, func(i int, r seen) []byte {
		switch i {
		case 0:
			return replyTo(r, 0, registerBody())
		case 1:
			return replyTo(r, 0, nil)
		case 2:
			return evictionFrame(byte(protocol.EvictInvalidToken))
		}
		return replyTo(r, 0, append(u32(0, 3), make([]byte, 20)...)) // session 0
	})
	c := dialFake(t, fs, Options{})
	c.SetNextRequest(17)
	if err := c.SignIn("ann", "secret"); err != nil {
		t.Fatal(err)
	}
	if c.Session() != 44 || c.UserID() != 3 || c.NextRequest() != 1 {
		t.Errorf("session %d user %d next %d", c.Session(), c.UserID(), c.NextRequest())
	}
	if err := c.SignOut(); err != nil || c.Session() != 0 {
		t.Errorf("sign out: %v, session %d", err, c.Session())
	}
	err := c.SignInToken("tok")
	if reason, ok := ReasonOf(err); !ok || reason != protocol.EvictInvalidToken {
		t.Errorf("got %v, want eviction 10", err)
	}
	if _, ok := CodeOf(err); ok {
		t.Error("an eviction has no code")
	}
	if err := c.SignIn("ann", "secret"); err == nil {
		t.Error("a sign-in without session was taken")
	}
	got := fs.requests()
	login, err := command.DecodeLogin(got[0].body)
	if err != nil || string(login.Username) != "ann" || string(login.Password) != "secret" ||
		login.Version != protocol.Version || got[0].header.Check() != protocol.Success {
		t.Errorf("login %+v, %v, header %d", login, err, got[0].header.Check())
	}
	token, err := command.DecodeLoginToken(got[2].body)
	if err != nil || string(token.Token) != "tok" {
		t.Errorf("token login %+v, %v", token, err)
	}
}

// answerWell answers every request with a reply of its kind.
func answerWell(_ int, r seen) []byte {
	stream := command.StreamDetails{StreamHeader: command.StreamHeader{ID: 5, Name: []byte("orders")}}
	topic := command.TopicDetails{
		TopicHeader: command.TopicHeader{ID: 1, PartitionsCount: 1, Name: []byte("topic")},
		Partitions:  []command.PartitionRecord{{ID: 0, CurrentOffset: 9}},
	}
	group := command.GroupDetails{GroupHeader: command.GroupHeader{ID: 2, Name: []byte("g")}}
	section := u32(0)
	if code := r.header.Check(); code != protocol.Success {
		return replyTo(r, code, nil)
	}
	switch r.header.Operation() {
	case protocol.OpCreateStream:
		return replyTo(r, 0, stream.Append(section))
	case protocol.OpCreateTopic:
		r.header.SetOperation(protocol.OpCreateTopicWithAssignments)
		return replyTo(r, 0, topic.Append(section))
	case protocol.OpCreateConsumerGroup:
		return replyTo(r, 0, group.Append(section))
	case protocol.OpSendMessages:
		return replyTo(r, 0, command.AppendConfirmations(nil, command.Confirmation{Stream: 5, BaseOffset: 77}))
	case protocol.OpNonReplicated:
	default:
		return replyTo(r, 0, section)
	}
	switch protocol.CommandCode(r.header.CommandCode()) {
	case protocol.CmdStreamGet:
		return replyTo(r, 0, stream.Append(nil))
	case protocol.CmdTopicGet:
		return replyTo(r, 0, topic.Append(nil))
	case protocol.CmdConsumerOffsetGet:
		return replyTo(r, 0, command.OffsetReply{Partition: 3, CurrentOffset: 9, Stored: 4}.Append(nil))
	case protocol.CmdConsumerGroupSync:
		return replyTo(r, 0, command.SyncReply{Generation: 6, Partitions: []uint32{0, 2}}.Append(nil))
	case protocol.CmdMessagePoll:
		head := make([]byte, command.PollReplySize)
		command.PollReply{Partition: command.ResyncPartition}.Put(head)
		return replyTo(r, 0, head)
	}
	return replyTo(r, 0, nil)
}

func TestWrappers_SendWhatTheServerDecodes(t *testing.T) {
	fs := startFake(t, answerWell)
	c := dialFake(t, fs, Options{})
	c.session = 44
	ref := command.OffsetRef{
		Consumer: protocol.Consumer{Kind: protocol.ConsumerSingle, ID: protocol.NumericID(9)}, TopicRef: orders,
		Partition: 3, HasPartition: true,
	}
	members := command.GroupRef{TopicRef: orders, Group: protocol.NamedID("g")}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(c.Ping())
	created, err := c.CreateStream("orders")
	must(err)
	found, ok, err := c.GetStream(protocol.NamedID("orders"))
	must(err)
	if created.ID != 5 || !ok || string(found.Name) != "orders" {
		t.Errorf("streams %+v %+v", created, found)
	}
	made, err := c.CreateTopic(orders.Stream, "topic", 1, command.BoolOption("enforce_fsync", true))
	must(err)
	got, ok, err := c.GetTopic(orders)
	must(err)
	if string(made.Name) != "topic" || !ok || got.Partitions[0].CurrentOffset != 9 {
		t.Errorf("topics %+v %+v", made, got)
	}
	where, err := c.SendMessages(orders, third, makeRecord(t, 2, 5))
	must(err)
	if !where.Known || where.BaseOffset != 77 {
		t.Errorf("confirmation %+v", where)
	}
	polled, err := c.Poll(command.PollMessages{Consumer: ref.Consumer, TopicRef: orders, Strategy: command.FromNext})
	must(err)
	if !polled.Resync() {
		t.Errorf("poll %+v", polled)
	}
	must(c.StoreOffset(ref, 4, protocol.AckQuorum))
	stored, ok, err := c.GetOffset(ref)
	must(err)
	if !ok || stored.Stored != 4 {
		t.Errorf("offset %+v %v", stored, ok)
	}
	must(c.DeleteOffset(ref, protocol.AckNone))
	_, err = c.CreateGroup(orders, "g")
	must(err)
	must(c.JoinGroup(members))
	synced, ok, err := c.SyncGroup(members)
	must(err)
	if !ok || synced.Generation != 6 || len(synced.Partitions) != 2 {
		t.Errorf("sync %+v", synced)
	}
	must(c.LeaveGroup(members))
	must(c.Flush(orders, 3, true))
	must(c.DeleteTopic(orders))
	must(c.DeleteStream(protocol.NumericID(5)))
	checkBodies(t, fs.requests())
}

// checkBodies decodes every request as a server would.
func checkBodies(t *testing.T, all []seen) {
	t.Helper()
	decode := map[protocol.Operation]func([]byte) error{
		protocol.OpCreateStream: func(b []byte) error { _, err := command.DecodeCreateStream(b); return err },
		protocol.OpDeleteStream: func(b []byte) error { _, err := command.DecodeIdentifier(b); return err },
		protocol.OpCreateTopic:  func(b []byte) error { _, err := command.DecodeCreateTopic(b); return err },
		protocol.OpDeleteTopic:  func(b []byte) error { _, err := command.DecodeTopicRef(b); return err },
		protocol.OpSendMessages: func(b []byte) error {
			s, err := command.DecodeSendMessages(b)
			if err == nil && (s.MessagesCount != 2 || s.Partitioning.ID != 3 || len(b)-s.BatchAt != 256+2*(48+5)) {
				t.Errorf("send %+v", s)
			}
			return err
		},
		protocol.OpStoreConsumerOffset: func(b []byte) error {
			s, err := command.DecodeStoreOffset(b)
			if err == nil && (s.Offset != 4 || !s.HasPartition || s.Partition != 3) {
				t.Errorf("store %+v", s)
			}
			return err
		},
		protocol.OpDeleteConsumerOffset: func(b []byte) error { _, err := command.DecodeDeleteOffset(b); return err },
		protocol.OpCreateConsumerGroup:  func(b []byte) error { _, err := command.DecodeCreateGroup(b); return err },
		protocol.OpJoinConsumerGroup:    func(b []byte) error { _, err := command.DecodeGroupRef(b); return err },
		protocol.OpLeaveConsumerGroup:   func(b []byte) error { _, err := command.DecodeGroupRef(b); return err },
	}
	seenOps := map[protocol.Operation]bool{}
	for _, r := range all {
		op := r.header.Operation()
		seenOps[op] = true
		if f := decode[op]; f != nil {
			if err := f(r.body); err != nil {
				t.Errorf("%s: %v", op, err)
			}
		}
	}
	for op := range decode {
		if !seenOps[op] {
			t.Errorf("%s was never sent", op)
		}
	}
}

func TestPollFrame_OffsetAndNumbersAreCurrent(t *testing.T) {
	head := make([]byte, command.PollReplySize)
	fs := startFake(t, func(_ int, r seen) []byte { return replyTo(r, 0, head) })
	c := dialFake(t, fs, Options{})
	p := c.NewPollFrame(command.PollMessages{
		Consumer: protocol.Consumer{Kind: protocol.ConsumerSingle, ID: protocol.NamedID("me")}, TopicRef: orders,
		Partition: 3, HasPartition: true, Strategy: command.FromOffset, Count: 12, AutoCommit: true,
	})
	c.session, c.number = 44, 9
	p.SetOffset(1 << 40)
	if _, err := c.PollFrame(p); err != nil {
		t.Fatal(err)
	}
	r := fs.requests()[0]
	got, err := command.DecodePollMessages(r.body)
	if err != nil || got.Value != 1<<40 || got.Count != 12 || !got.AutoCommit || got.Strategy != command.FromOffset {
		t.Errorf("%+v, %v", got, err)
	}
	if r.header.Session() != 44 || r.header.Request() != 9 {
		t.Errorf("session %d request %d", r.header.Session(), r.header.Request())
	}
}
