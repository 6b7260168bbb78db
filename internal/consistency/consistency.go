// Package consistency checks that traits agree with their events and evidence, and memories with their levels and
// originals, and repairs what follows from them.
package consistency

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

// Problem is a contradiction between a trait's row, its events, its evidence and the rows they
// refer to, between a memory and its level or its originals, or a secret stored in clear text.
type Problem struct {
	UserID  string    `json:"user_id"`
	TraitID uuid.UUID `json:"trait_id,omitzero"`
	// MemoryID identifies the memory, or the secret message, if the problem is not a trait's.
	MemoryID uuid.UUID `json:"memory_id,omitzero"`
	// Kind is the kind of problem. For traits: orphan, no events, beginning, gap, event, factor,
	// memories, evidence, counted twice, stage, subtype, confidence, confidence_at, reinforcements,
	// contradictions, window, next transition, parent, corrected, superseded, due. For secrets: not
	// sealed, key, exposed. For levels and merged memories: level, original, kept, next level, merged.
	Kind     string `json:"kind"`
	Found    string `json:"found"`    // value in the database
	Expected string `json:"expected"` // value that follows from the events and evidence
	Repaired bool   `json:"repaired"`
}

// Options configures Check. The zero value checks all users and repairs nothing.
type Options struct {
	// UserID limits the check to one user. Default: all users.
	UserID string
	// Repair restores what follows from events and evidence, each trait in its own transaction.
	Repair bool
	// KeyIDs lists the known keys of secrets. Default: any key is accepted.
	KeyIDs []string
	// Found is called with each problem, after its repair. An error ends the check. Default: none.
	Found func(Problem) error
	// Progress is called after each page. Default: none.
	Progress func(Report)
}

// Report counts what a check has covered.
type Report struct {
	Users    int64 `json:"users"`
	Traits   int64 `json:"traits"`           // including older wordings
	Secrets  int64 `json:"secrets,omitzero"` // memories and messages of sensitivity 3
	Problems int64 `json:"problems"`
	Repaired int64 `json:"repaired"`
}

// Limits of one transaction.
const (
	checkedUsers  = 100
	checkedTraits = 500
)

// Check replays the events of every trait and compares the resulting state with its row. It also
// looks for rows that refer to nothing, for secrets that are not sealed or appear elsewhere, for memories that do not
// match their level, and for merged memories that do not match their originals.
func Check(ctx context.Context, db store.DB, o Options) (Report, error) {
	c := &checker{db: db, options: o}
	if o.UserID != "" {
		err := c.users(ctx, []string{o.UserID})
		return c.report, err
	}
	for after := ""; ; {
		users, err := Users(ctx, db, after, checkedUsers)
		if err != nil || len(users) == 0 {
			return c.report, err
		}
		if err := c.users(ctx, users); err != nil {
			return c.report, err
		}
		after = users[len(users)-1]
	}
}

// Users returns the next users after the given one who have rows that Check covers, in the
// database's order. Each step is an index lookup per table.
func Users(ctx context.Context, db store.DB, after string, limit int) ([]string, error) {
	users, err := store.Collect[string](ctx, db, `
		with recursive walk (user_id, n) as (
		  select $1::text, 0
		  union all
		  select least(
		           (select min(m.user_id) from oxbow.memories m where m.user_id > w.user_id),
		           (select min(e.user_id) from oxbow.trait_events e where e.user_id > w.user_id),
		           (select min(v.user_id) from oxbow.trait_evidence v where v.user_id > w.user_id),
		           (select min(c.user_id) from oxbow.trait_clues c where c.user_id > w.user_id),
		           (select min(i.user_id) from oxbow.reflection_inbox i where i.user_id > w.user_id),
		           (select min(l.user_id) from oxbow.memory_links l where l.user_id > w.user_id),
		           (select min(g.user_id) from oxbow.messages g where g.user_id > w.user_id and g.sensitivity = 3)),
		          w.n + 1
		    from walk w where w.user_id is not null and w.n < $2::integer
		)
		select user_id::text as user_id from walk where n > 0 and user_id is not null order by n`, after, limit)
	if err != nil {
		return nil, fmt.Errorf("look for users: %w", err)
	}
	return users, nil
}

// checker is a check in progress.
type checker struct {
	db      store.DB
	options Options
	report  Report

	recomputed *int // the number of memories of each user whose level is computed; nil: all
}

// users checks consecutive users.
func (c *checker) users(ctx context.Context, users []string) error {
	first, last := users[0], users[len(users)-1]
	if err := c.orphans(ctx, first, last); err != nil {
		return err
	}
	if err := c.secrets(ctx, first, last); err != nil {
		return err
	}
	if err := c.levels(ctx, first, last); err != nil {
		return err
	}
	p := page{First: first, Last: last, Max: checkedTraits}
	for {
		traits, err := c.read(ctx, p)
		if err != nil {
			return err
		}
		for _, t := range traits {
			if err := c.trait(ctx, t); err != nil {
				return err
			}
		}
		c.report.Traits += int64(len(traits))
		if len(traits) < checkedTraits {
			break
		}
		p.AfterUser, p.AfterID = traits[len(traits)-1].row.UserID, traits[len(traits)-1].row.ID
		c.progress()
	}
	c.report.Users += int64(len(users))
	c.progress()
	return nil
}

func (c *checker) progress() {
	if c.options.Progress != nil {
		c.options.Progress(c.report)
	}
}

func (c *checker) found(problems ...Problem) error {
	for _, p := range problems {
		c.report.Problems++
		if p.Repaired {
			c.report.Repaired++
		}
		if c.options.Found == nil {
			continue
		}
		if err := c.options.Found(p); err != nil {
			return err
		}
	}
	return nil
}

// read reads a page of traits with their events and evidence in one snapshot.
func (c *checker) read(ctx context.Context, p page) (traits []checkedTrait, err error) {
	err = pgx.BeginFunc(ctx, c.db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `set transaction isolation level repeatable read read only`); err != nil {
			return err
		}
		traits, err = readTraits(ctx, tx, p)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("check traits: %w", store.Explain(err))
	}
	return traits, nil
}

// trait reports the problems of a trait, after repairing them if the options say so.
func (c *checker) trait(ctx context.Context, t checkedTrait) error {
	problems := t.problems()
	if len(problems) == 0 {
		return nil
	}
	if c.options.Repair {
		left, err := repairTrait(ctx, c.db, t.row.UserID, t.row.ID)
		if err != nil {
			return fmt.Errorf("repair trait %s of user %q: %w", t.row.ID, t.row.UserID, store.Explain(err))
		}
		for i := range problems {
			problems[i].Repaired = !slices.ContainsFunc(left,
				func(p Problem) bool { return p.Kind == problems[i].Kind })
		}
		for _, p := range left { // problems that the repair revealed
			if !slices.ContainsFunc(problems, func(before Problem) bool { return before.Kind == p.Kind }) {
				problems = append(problems, p)
			}
		}
	}
	return c.found(problems...)
}

// State is the progress of consistency_check, which continues from run to run. It is stored in the
// setting "consistency".
type State struct {
	At       time.Time `json:"at"`       // time of the last run
	Users    int64     `json:"users"`    // checked in this round
	Problems int64     `json:"problems"` // found in this round
	// After is the last user checked, "" at the end of a round. The counts are kept until the next
	// round begins.
	After string `json:"after"`
}

const settingKey = "consistency"

// ReadState returns the progress of consistency_check, or the zero value before its first run.
func ReadState(ctx context.Context, db store.DB) (c State, err error) {
	err = store.ReadSetting(ctx, db, settingKey, &c)
	return c, err
}

// CheckNext checks the next users of a round, at most limit, and repairs nothing. last reports
// that the round is complete. The next call then starts a new one.
func CheckNext(ctx context.Context, db store.DB, now time.Time, limit int, found func(Problem) error) (
	last bool, err error,
) {
	state, err := ReadState(ctx, db)
	if err != nil {
		return false, err
	}
	if state.After == "" {
		state = State{}
	}
	users, err := Users(ctx, db, state.After, limit)
	if err != nil {
		return false, err
	}
	c := &checker{db: db, options: Options{Found: found}, recomputed: new(recomputed)}
	if len(users) > 0 {
		if err := c.users(ctx, users); err != nil {
			return false, err
		}
	}
	last = len(users) < limit
	state.At, state.Users, state.Problems, state.After = now, state.Users+c.report.Users,
		state.Problems+c.report.Problems, ""
	if !last {
		state.After = users[len(users)-1]
	}
	return last, store.WriteSetting(ctx, db, settingKey, state)
}
