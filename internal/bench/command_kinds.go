package bench

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// kindSpec describes the command of one kind of workload.
type kindSpec struct {
	kind    string // what runs
	use     string
	alias   string
	short   string
	actors  int
	actor   string // long name of the option for the number of actors
	letter  string
	single  bool // one message of 1024 bytes a batch unless told otherwise
	creates bool // creates topics
	window  bool
}

var kindSpecs = []kindSpec{
	{kind: kindProducer, use: kindProducer, alias: "pp", actors: 8, actor: "producers", letter: "p", creates: true,
		short: "producers, each on its own stream, one batch in flight"},
	{kind: kindConsumer, use: kindConsumer, alias: "pc", actors: 8, actor: "consumers", letter: "c",
		short: "consumers that read existing streams from the start"},
	{kind: kindEndToEnd, use: kindEndToEnd, alias: "e2e", actors: 8, actor: "producing-consumers", letter: "p",
		creates: true, short: "actors that send a batch and poll until it is back"},
	{kind: kindProducer, use: "single-producer", alias: "single", actors: 1, actor: "producers", letter: "p",
		single: true, creates: true, short: "producers of single messages, one in flight"},
	{kind: kindPipelined, use: kindPipelined, alias: "pipelined", actors: 1, actor: "producers", letter: "p",
		single: true, creates: true, window: true, short: "one producer of single messages with many in flight"},
}

// kindCommand makes the command of a kind under the options in front of it.
func kindCommand(s kindSpec, o *options, before *pflag.FlagSet) *cobra.Command {
	var k kindOptions
	cmd := &cobra.Command{
		Use:     s.use + " [kind options] [tcp [transport options]]",
		Aliases: []string{s.alias},
		Short:   s.short,
		Args:    transportArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if before.Changed("message-batches") && before.Changed("total-data") {
				return errors.New("-b and -T exclude each other")
			}
			if s.single {
				o.defaultSingle(before)
			}
			w, err := o.workload(s.kind, &k)
			if err != nil {
				return err
			}
			return o.run(cmd, w)
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return misplaced(cmd, before, err) })
	f := cmd.Flags()
	f.IntVarP(&k.streams, "streams", "s", 0, "number of streams (default: one for each actor)")
	f.IntVarP(&k.actors, s.actor, s.letter, s.actors, "number of "+s.actor)
	if s.creates {
		f.StringVarP(&k.maxSize, "max-topic-size", "T", "", "size limit of a topic")
		f.StringVarP(&k.expiry, "message-expiry", "e", "never_expire", "how long a topic keeps messages")
	}
	if s.window {
		f.IntVar(&k.window, "window", 1000, "messages in flight")
	}
	o.transport.bind(f)
	return cmd
}

// defaultSingle makes batches of one message of 1 KiB unless the command line says otherwise.
func (o *options) defaultSingle(before *pflag.FlagSet) {
	if !before.Changed("message-size") {
		o.messageSize = "1024"
	}
	if !before.Changed("messages-per-batch") {
		o.batchMessages = "1"
	}
}

// transportArgs accepts the name of the one transport that workloads use, or nothing.
func transportArgs(_ *cobra.Command, args []string) error {
	if len(args) == 0 || len(args) == 1 && args[0] == "tcp" {
		return nil
	}
	return fmt.Errorf("transport %q: workloads run over tcp only", args[0])
}
