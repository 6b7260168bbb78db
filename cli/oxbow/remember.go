package main

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// rememberFlags are the properties of a memory besides its user and text.
type rememberFlags struct {
	memory                                oxbow.NewMemory
	kind, at, until, metadata, supersedes string
	reason                                string
	importance                            float64
	seq                                   int64
}

func newRememberCommand(a *app) *cobra.Command {
	var flags rememberFlags
	m := &flags.memory
	cmd := &cobra.Command{
		Use:   "remember USER TEXT",
		Short: "Store a memory and print its id",
		Long: `Store a memory of a user, with the job that makes it recallable, and print its id. TEXT is one argument; "-" reads it
from standard input.

Times may be given as 2024-05-17T08:00:00Z, or without a zone ("2024-05-17 08:00", 2024-05-17, 2024-05) in the user's.
With --external-id it can be repeated: the same memory is stored once. What is secret (--sensitivity 3) is better read from
standard input: a command line is seen by others on the machine, and kept by the shell.`,
		Example: `  oxbow remember ada "Ada is allergic to walnuts." --importance 0.9
  oxbow remember ada "艾达下周去京都。" --type episodic --at 2025-03-01
  oxbow remember ada "Ada works in Lund now." --supersedes 0198c2f6-7f0e-7bb2-9a52-0d7a51e9f5c1 --at 2025-05-05`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return a.remember(cmd, args[0], args[1], &flags) },
	}
	f := cmd.Flags()
	f.StringVar(&flags.kind, "type", string(oxbow.TypeFact), "fact, episodic or document")
	f.StringVar(&flags.at, "at", "", "when it was, or became, true (default: now)")
	f.StringVar(&flags.until, "until", "", "when it stopped, or stops, being true")
	f.StringVar(&m.SessionID, "session", "", "the conversation that it belongs to")
	f.Int64Var(&flags.seq, "seq", 0, "its place among the user's memories (default: the last)")
	f.StringVar(&m.Speaker, "speaker", "", "who said it")
	f.StringVar(&m.AgentID, "agent", "", "which of the application's agents it belongs to")
	f.StringVar(&m.ExternalID, "external-id", "", "the application's own name for it, unique per user and type")
	f.StringVar(&m.Source, "source", "", "where it came from")
	f.StringVar(&m.Category, "category", "", "what it is about")
	f.Float64Var(&flags.importance, "importance", 0.5, "0 to 1")
	f.IntVar(&m.Sensitivity, "sensitivity", 0, "0 to 3; the text of 3 is sealed with the keys of OXBOW_KEYSET")
	f.StringVar(&flags.metadata, "metadata", "", "a JSON object")
	f.StringVar(&flags.supersedes, "supersedes", "", "the id of the memory that this one replaces, whose other fields it keeps")
	f.StringVar(&flags.reason, "reason", "", "why, for the history (with --supersedes)")
	return cmd
}

func (a *app) remember(cmd *cobra.Command, userID, text string, flags *rememberFlags) error {
	given := cmd.Flags().Changed
	m := flags.memory
	m.UserID, m.Type = userID, oxbow.MemoryType(flags.kind)
	var err error
	if m.Content, err = a.text(cmd.Context(), text); err != nil {
		return err
	}
	if given("importance") {
		m.Importance = &flags.importance
	}
	if given("seq") {
		m.Seq = &flags.seq
	}
	if m.Metadata, err = jsonFlag("metadata", flags.metadata); err != nil {
		return err
	}
	superseded, err := idFlag("supersedes", flags.supersedes)
	if err != nil {
		return err
	}
	if superseded != uuid.Nil {
		for _, name := range []string{"type", "until", "session", "seq", "speaker", "agent", "external-id", "source", "category", "importance", "sensitivity"} {
			if given(name) {
				return usagef("--%s cannot be given with --supersedes: the new version keeps what the old one has", name)
			}
		}
	} else if given("reason") {
		return usagef("--reason is for --supersedes")
	}

	ctx := cmd.Context()
	var options []oxbow.Option
	if m.Sensitivity == store.Secret {
		if options, err = withKeys(ctx); err != nil {
			return err
		}
	}
	d, err := a.connect(ctx, options...)
	if err != nil {
		return err
	}
	defer d.close()
	if flags.at != "" || flags.until != "" {
		location, err := d.location(ctx, userID)
		if err != nil {
			return err
		}
		for _, t := range []struct {
			flag, text string
			to         *time.Time
		}{{"at", flags.at, &m.ValidAt}, {"until", flags.until, &m.InvalidAt}} {
			if t.text == "" {
				continue
			}
			at, err := parsePeriod(t.flag, t.text, location)
			if err != nil {
				return err
			}
			*t.to = at.begin
		}
	}
	var id uuid.UUID
	if superseded != uuid.Nil {
		id, err = d.client.Supersede(ctx, userID, superseded, oxbow.Replacement{
			Content: m.Content, ValidAt: m.ValidAt, Metadata: m.Metadata, Reason: flags.reason, Actor: "cli"})
	} else {
		id, err = d.client.Remember(ctx, m)
	}
	if err != nil {
		return err
	}
	a.printf("%s\n", id)
	return nil
}

// jsonFlag returns the flag's JSON object, or nil if the flag was not given.
func jsonFlag(name, text string) (any, error) {
	if text == "" {
		return nil, nil
	}
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
		return nil, usagef(`--%s must be a JSON object such as {"city": "Lund"}, got %q`, name, text)
	}
	return json.RawMessage(text), nil
}

// idFlag returns the flag's id, or uuid.Nil if the flag was not given.
func idFlag(name, text string) (uuid.UUID, error) {
	if text == "" {
		return uuid.Nil, nil
	}
	id, err := uuid.Parse(text)
	if err != nil || id == uuid.Nil {
		return uuid.Nil, usagef("--%s must be a memory's id, as remember prints it, got %q", name, text)
	}
	return id, nil
}

// idArgument parses an argument as an id.
func idArgument(text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil || id == uuid.Nil {
		return uuid.Nil, usagef("%q is no memory's id: it looks like 0198c2f6-7f0e-7bb2-9a52-0d7a51e9f5c1", text)
	}
	return id, nil
}
