package cli

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/galgolog/galgo/internal/config"
)

// newConfig looks at the configuration without starting anything.
func newConfig(p *program) *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Check and explain the configuration", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(newConfigCheck(p),
		printer("default", "Print the defaults as a configuration file with explanations", func(w io.Writer) error {
			_, err := w.Write(config.DefaultTOML())
			return err
		}),
		printer("keys", "List every key with its environment variable and default", printKeys),
		printer("reference", "Print the reference of all keys as Markdown", func(w io.Writer) error {
			_, err := w.Write(config.Reference())
			return err
		}))
	return cmd
}

// newConfigCheck reads the configuration exactly as serve would.
func newConfigCheck(p *program) *cobra.Command {
	flags := &serveFlags{}
	cmd := &cobra.Command{Use: "check", Short: "Check the configuration that serve would use, and print it", Args: noArguments}
	addSourceFlags(cmd, flags)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		loaded, err := config.Load(flags.sources(cmd, p))
		if err != nil {
			return err
		}
		for _, warning := range loaded.Warnings {
			_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s\n", warning)
		}
		_, err = cmd.OutOrStdout().Write(loaded.TOML())
		return err
	}
	return cmd
}

func printer(name, short string, print func(io.Writer) error) *cobra.Command {
	return &cobra.Command{Use: name, Short: short, Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return print(cmd.OutOrStdout()) }}
}

func printKeys(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for _, s := range config.Default().Settings() {
		if _, err := fmt.Fprintf(table, "%s\t%s\t%s\n", s.Key, config.Variable(s.Key), s.Value); err != nil {
			return err
		}
	}
	return table.Flush()
}
