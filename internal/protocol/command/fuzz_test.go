package command

import (
	"runtime/metrics"
	"slices"
	"testing"
)

// fuzzDecoders runs any of the named decoders over any body: no panic, nothing that does not come back, and
// no memory that the body did not pay for.
func fuzzDecoders(f *testing.F, names ...string) {
	slices.Sort(names)
	for i, name := range names {
		d, ok := decoders[name]
		if !ok {
			f.Fatalf("%s is not in the table", name)
		}
		for _, body := range d.samples {
			f.Add(uint8(i), body)
		}
		for _, body := range goldenBodies(f) {
			if _, err := d.decode(body); err == nil {
				f.Add(uint8(i), body)
			}
		}
	}
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	allocated := func() uint64 {
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		name := names[int(which)%len(names)]
		d := decoders[name]
		before := allocated()
		_, _ = d.decode(body)
		// The fuzzer allocates beside it, so that only an excess far above the body counts.
		if used := allocated() - before; used > 8<<20+memoryLimit(len(body)) {
			t.Fatalf("%s: %d bytes for a body of %d", name, used, len(body))
		}
		checkStable(t, name, d, body)
	})
}

// families split the decoders among the fuzz targets.
var families = map[string][]string{
	"messages": {
		"DecodeSendMessages", "DecodeConfirmations", "DecodePollMessages", "DecodePollReply", "DecodeFlush", "DecodeOffsetRef",
		"DecodeStoreOffset", "DecodeDeleteOffset", "DecodeOffsetReply",
	},
	"streams": {
		"DecodeTopicRef", "DecodeIdentifier", "DecodeCreateStream", "DecodeUpdateStream", "DecodeStreamDetails", "DecodeStreams",
		"DecodeCreateTopic", "DecodeUpdateTopic", "DecodeTopicDetails", "DecodeTopics", "DecodePartitionsChange", "DecodeDeleteSegments",
	},
	"groups": {
		"DecodeGroupRef", "DecodeCreateGroup", "DecodeGroupDetails", "DecodeGroups", "DecodeSyncReply",
	},
	"users": {
		"DecodePermissions", "DecodeLoginPrefix", "DecodeLogin", "DecodeLoginToken", "DecodeLoginReply", "DecodeCreateToken", "DecodeName",
		"DecodeTokens", "DecodeCreateUser", "DecodeUpdateUser", "DecodeUpdatePermissions", "DecodeChangePassword", "DecodeUserDetails",
		"DecodeUsers",
	},
	"system": {
		"DecodeStats", "DecodeSnapshot", "DecodeClusterMetadata", "DecodeClient", "DecodeClients", "DecodeOptionDescriptions", "DecodeU32",
		"DecodeU8",
	},
	"replicated": {
		"DecodeCreateTopicReplicated", "DecodeCreatePartitionsReplicated", "DecodeTruncatePartition", "DecodeJoinGroup", "DecodeLeaveGroup",
		"DecodeCreateTokenReplicated", "DecodeDeleteTokenReplicated",
	},
}

// FuzzMessages covers sending, polling and offsets.
func FuzzMessages(f *testing.F) { fuzzDecoders(f, families["messages"]...) }

// FuzzStreams covers streams, topics and partitions.
func FuzzStreams(f *testing.F) { fuzzDecoders(f, families["streams"]...) }

// FuzzGroups covers consumer groups.
func FuzzGroups(f *testing.F) { fuzzDecoders(f, families["groups"]...) }

// FuzzUsers covers users, permissions, tokens and signing in.
func FuzzUsers(f *testing.F) { fuzzDecoders(f, families["users"]...) }

// FuzzSystem covers the commands about the server.
func FuzzSystem(f *testing.F) { fuzzDecoders(f, families["system"]...) }

// FuzzReplicated covers the bodies that only servers write.
func FuzzReplicated(f *testing.F) { fuzzDecoders(f, families["replicated"]...) }

func TestFamilies_CoverEveryDecoder(t *testing.T) {
	fuzzed := map[string]int{}
	for _, names := range families {
		for _, name := range names {
			fuzzed[name]++
		}
	}
	for name := range decoders {
		if fuzzed[name] != 1 {
			t.Errorf("%s is in %d families", name, fuzzed[name])
		}
	}
	if len(fuzzed) != len(decoders) {
		t.Errorf("%d names, %d decoders", len(fuzzed), len(decoders))
	}
}
