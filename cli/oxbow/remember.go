package main

import (
	"context"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

func rememberCommand(a *app) *cobra.Command {
	m := oxbow.NewMemory{Type: oxbow.TypeFact, Modality: oxbow.ModalityText}
	importance, seq := 0.5, int64(0)
	var supersedes uuid.UUID
	var reason string
	cmd := &cobra.Command{
		Use:   "remember USER TEXT",
		Short: "Store a memory and print its id",
		Long: `Store a memory of a user, with the job that makes it recallable, and print its id. TEXT is one argument; "-"
reads it from standard input.

Times are 2024-05-17T08:00:00Z, or in the user's time zone "2024-05-17 08:00", 2024-05-17 or 2024-05. With
--external-id, repeating the command stores the memory once. Read secrets (--sensitivity 3) from standard
input: other users of the machine can see a command line, and the shell records it. With OXBOW_KEYSET, a text in
which a secret is found, such as a password, is stored as sensitivity 3.`,
		Example: `  oxbow remember ada "Ada is allergic to walnuts." --importance 0.9
  oxbow remember ada "艾达下周去京都。" --type episodic --at 2025-03-01
  oxbow remember ada "Ada's parcel arrives on Friday." --expires 2099-06-01
  oxbow remember ada "Luna asleep on the sofa" --modality image --reference photos/luna.jpg
  oxbow remember ada "Ada works in Lund now." --supersedes 0198c2f6-7f0e-7bb2-9a52-0d7a51e9f5c1 --at 2025-05-05`,
		Args: cobra.ExactArgs(2),
	}
	f := cmd.Flags()
	typeFlag(f, &m.Type, "type of the memory")
	at := momentFlag(f, "at", "when it became true or happened (default: now)")
	until := momentFlag(f, "until", "when it stopped or stops being true")
	expires := momentFlag(f, "expires", "when it expires: from then on it is not recalled")
	f.StringVar(&m.SessionID, "session", "", "conversation that it belongs to")
	f.Int64Var(&seq, "seq", 0, "position among the user's memories, any integer (default: the last)")
	f.StringVar(&m.Speaker, "speaker", "", "person who said it")
	f.StringVar(&m.AgentID, "agent", "", "the application's agent that it belongs to")
	f.StringVar(&m.ExternalID, "external-id", "", "the application's id for it, unique per user and type")
	f.StringVar(&m.Source, "source", "", "where it came from")
	choiceFlag(f, &m.Category, "category", "what it is about", store.Categories()...)
	choiceFlag(f, &m.Modality, "modality", "what TEXT is or describes", store.Modalities()...)
	f.StringVar(&m.Reference, "reference", "", "URI or path of what TEXT describes")
	f.Float64Var(&importance, "importance", 0.5, "importance, 0 to 1")
	intFlag(f, &m.Sensitivity, "sensitivity", "", 0, 3, "sensitivity; 3 is sealed with the keys in OXBOW_KEYSET")
	objectFlag(f, &m.Metadata, "metadata", "metadata, a JSON object")
	idFlag(f, &supersedes, "supersedes", "memory that this one replaces; its other fields are kept")
	f.StringVar(&reason, "reason", "", "reason for the history, with --supersedes")
	exclude(f, "supersedes", "type", "until", "expires", "session", "seq", "speaker", "agent", "external-id", "source",
		"category", "modality", "reference", "importance", "sensitivity") // the new version keeps them
	seal := func(ctx context.Context) (oxbow.Option, error) {
		if m.Sensitivity != store.Secret {
			return withLazyKeys(ctx)
		}
		return withKeys(ctx)
	}
	run := a.onUser(func(ctx context.Context, u *user, args []string) (err error) {
		m.UserID, m.ValidAt, m.InvalidAt = u.id, at.begin(u.zone), until.begin(u.zone)
		m.ExpiresAt = expires.begin(u.zone)
		if m.Content, err = u.text(ctx, args[0]); err != nil {
			return err
		}
		if f.Changed("importance") {
			m.Importance = &importance
		}
		if f.Changed("seq") {
			m.Seq = &seq
		}
		var id uuid.UUID
		if supersedes != uuid.Nil {
			id, err = u.client.Supersede(ctx, u.id, supersedes, oxbow.Replacement{
				Content: m.Content, ValidAt: m.ValidAt, Metadata: m.Metadata, Reason: reason, Actor: "cli"})
		} else {
			id, err = u.client.Remember(ctx, m)
		}
		if err == nil {
			u.printf("%s\n", id)
		}
		return err
	}, seal)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if reason != "" && supersedes == uuid.Nil {
			return usagef("--reason requires --supersedes")
		}
		return run(cmd, args)
	}
	return cmd
}
