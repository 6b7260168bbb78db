package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

func contextCommand(a *app) *cobra.Command {
	var embedding embeddingFlags
	q := oxbow.ContextQuery{MaxTokens: 1000}
	cmd := &cobra.Command{
		Use:   "context USER [QUERY]",
		Short: "Print what a model should know about a user, for a prompt",
		Long: `Print what a model should know about a user before the next turn, as text for a prompt: core traits,
preferences, behaviors, then the facts and episodes that match the query, within a token limit. "-" reads the
query from standard input.

Tokens are estimated as one per Chinese, Japanese or Korean character and one per four bytes of other text.
The embedding flags must select the model of the database's vectors.`,
		Example: `  oxbow context ada "What shall I cook tonight?"
  oxbow context ada --max-tokens 300
  oxbow context 林 "周末去哪里玩" --json`,
		Args: cobra.RangeArgs(1, 2),
	}
	f := cmd.Flags()
	intFlag(f, &q.MaxTokens, "max-tokens", "", 1, 1_000_000, "maximum length in tokens")
	typesFlag(f, &q.Types, "only these types, of fact, episodic and trait by default", store.MemoryTypes()...)
	f.StringSliceVar(&q.Contexts, "context", nil, "only these contexts, and general traits: work, personal, …")
	f.StringVar(&q.AgentID, "agent", "", "only facts and episodes of this agent")
	f.StringVar(&q.SessionID, "session", "", "the conversation, for instructions that hold in it alone")
	now := momentFlag(f, "now", "reference time for decay and recency, in the user's time zone (default: now)")
	f.BoolVar(&q.WordsOnly, "words-only", false, "do not search vectors")
	a.jsonFlag(f)
	embedding.add(f)
	cmd.RunE = a.onUser(func(ctx context.Context, u *user, args []string) (err error) {
		q.UserID, q.Now = u.id, now.end(u.zone)
		if len(args) > 0 {
			if q.Text, err = u.text(ctx, args[0]); err != nil {
				return err
			}
		}
		found, err := u.client.Context(ctx, q)
		if err != nil {
			return err
		}
		u.sayDegraded(found.Degraded)
		printed := printedContext{found.Text, found.Tokens, append([]oxbow.ContextPart{}, found.Parts...)}
		return u.output(printed, func() {
			if found.Text == "" {
				u.say("User %q has nothing to show within %s.", u.id, count(q.MaxTokens, "token"))
				return
			}
			u.printf("%s\n", found.Text)
		})
	}, embedding.option)
	return cmd
}

// printedContext is the output of --json.
type printedContext struct {
	Text   string              `json:"text"`
	Tokens int                 `json:"tokens"`
	Parts  []oxbow.ContextPart `json:"parts"`
}
