package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
)

// contextFlags are the flags of context.
type contextFlags struct {
	embedding embeddingFlags
	query     oxbow.ContextQuery
	types     []string
	now       string
	json      bool
}

func newContextCommand(a *app) *cobra.Command {
	var flags contextFlags
	cmd := &cobra.Command{
		Use:   "context USER [QUERY]",
		Short: "Print what a model should know of a user, as a block for a prompt",
		Long: `Print what a model should know of a user before the next turn, as a block for a prompt: core traits and preferences, behaviors,
then the facts and episodes that answer the query, within a number of tokens. "-" reads the query from standard input.

Tokens are estimated without a model: one for each Chinese, Japanese or Korean character, one for each four bytes of the
rest. The embedding flags must name the provider whose vectors the database holds.`,
		Example: `  oxbow context ada "What shall I cook tonight?"
  oxbow context ada --max-tokens 300
  oxbow context 林 "周末去哪里玩" --json`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			flags.query.UserID = args[0]
			if len(args) == 2 {
				var err error
				if flags.query.Text, err = a.text(cmd.Context(), args[1]); err != nil {
					return err
				}
			}
			return a.context(cmd.Context(), &flags)
		},
	}
	f, q := cmd.Flags(), &flags.query
	f.IntVar(&q.MaxTokens, "max-tokens", 1000, "how long the block may be, 1 to 1000000")
	f.StringSliceVar(&flags.types, "type", nil, "only these types: fact, episodic, trait, document (default fact,episodic,trait)")
	f.StringSliceVar(&q.Contexts, "context", nil, "only these contexts, and traits that hold in general: work, personal, …")
	f.StringVar(&q.AgentID, "agent", "", "only facts and episodes of this agent")
	f.StringVar(&flags.now, "now", "", "the moment that decay and recency are counted from, a day's end or a time in the user's time zone (default: now)")
	f.BoolVar(&q.WordsOnly, "words-only", false, "leave the vectors out")
	f.BoolVar(&flags.json, "json", false, "print a JSON object with the text and its parts")
	flags.embedding.add(f)
	return cmd
}

// printedContext is the output of --json.
type printedContext struct {
	Text   string              `json:"text"`
	Tokens int                 `json:"tokens"`
	Parts  []oxbow.ContextPart `json:"parts"`
}

func (a *app) context(ctx context.Context, flags *contextFlags) error {
	q := &flags.query
	if q.MaxTokens < 1 { // the client reads 0 as the default
		return usagef("--max-tokens must be between 1 and 1000000, got %d", q.MaxTokens)
	}
	for _, t := range flags.types {
		q.Types = append(q.Types, oxbow.MemoryType(t))
	}
	embedder, err := flags.embedding.open()
	if err != nil {
		return err
	}
	d, err := a.connect(ctx, oxbow.WithEmbedder(embedder))
	if err != nil {
		return err
	}
	defer d.close()
	if flags.now != "" {
		location, err := d.location(ctx, q.UserID)
		if err != nil {
			return err
		}
		if q.Now, err = endOf("now", flags.now, location); err != nil {
			return err
		}
	}
	found, err := d.client.Context(ctx, *q)
	if err != nil {
		return err
	}
	if found.Degraded != nil {
		a.say("The memories are found by their words alone: %s.", sentence(found.Degraded))
	}
	if flags.json {
		if found.Parts == nil {
			found.Parts = []oxbow.ContextPart{}
		}
		return a.printJSON(printedContext{found.Text, found.Tokens, found.Parts})
	}
	if found.Text == "" {
		a.say("Nothing to tell of user %q within %s.", q.UserID, count(int64(q.MaxTokens), "token", "tokens"))
		return nil
	}
	a.printf("%s\n", found.Text)
	return nil
}
