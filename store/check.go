package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store/internal/dbsqlc"
)

// Problem is a contradiction between a trait's row, its events, its evidence and what these refer to, or something of what is
// secret in clear.
type Problem struct {
	UserID  string    `json:"user_id"`
	TraitID uuid.UUID `json:"trait_id,omitzero"`
	// MemoryID is the secret memory or message that it is about.
	MemoryID uuid.UUID `json:"memory_id,omitzero"`
	// Kind names what is wrong: orphan, no events, beginning, gap, event, factor, memories, evidence, counted twice, stage,
	// subtype, confidence, confidence_at, reinforcements, contradictions, window, next transition, parent, superseded, due; of secrets: not sealed, key, told.
	Kind     string `json:"kind"`
	Found    string `json:"found"`    // what stands in the database
	Expected string `json:"expected"` // what follows from the events and the evidence
	Repaired bool   `json:"repaired"`
}

// CheckOptions say what Check looks at. The zero value looks at all users and changes nothing.
type CheckOptions struct {
	// UserID names the one user to look at. Default: all.
	UserID string
	// Repair puts right what follows from events and evidence, each trait in a transaction of its own.
	Repair bool
	// KeyIDs are the keys that open what is secret. Default: not known, any is right.
	KeyIDs []string
	// Found gets each problem, after it was repaired. An error of it ends the check.
	Found func(Problem) error
	// Progress is called after each page. Default: nobody.
	Progress func(CheckReport)
}

// CheckReport is what a check looked at.
type CheckReport struct {
	Users    int64 `json:"users"`
	Traits   int64 `json:"traits"`           // older wordings included
	Secrets  int64 `json:"secrets,omitzero"` // memories and messages of sensitivity 3
	Problems int64 `json:"problems"`
	Repaired int64 `json:"repaired"`
}

// How much a check looks at in one transaction.
const (
	checkedUsers  = 100
	checkedTraits = 500
)

// Check replays the events of every trait and compares what they lead to with its row, and looks for what refers to nothing, and
// for what is secret and not sealed or told elsewhere.
func Check(ctx context.Context, db DB, o CheckOptions) (CheckReport, error) {
	c := &checker{db: db, options: o}
	if o.UserID != "" {
		return c.report, c.users(ctx, []string{o.UserID})
	}
	for after := ""; ; {
		users, err := CheckedUsers(ctx, db, after, checkedUsers)
		if err != nil || len(users) == 0 {
			return c.report, err
		}
		if err := c.users(ctx, users); err != nil {
			return c.report, err
		}
		after = users[len(users)-1]
	}
}

// CheckedUsers returns the next users after one, in the order of the database, who have something that Check looks at.
func CheckedUsers(ctx context.Context, db DB, after string, limit int) ([]string, error) {
	users, err := queries.CheckUsers(ctx, db, &dbsqlc.CheckUsersParams{After: after, Max: int32(limit)})
	if err != nil {
		return nil, fmt.Errorf("look for users: %w", Explain(err))
	}
	return users, nil
}

// checker is a check on its way.
type checker struct {
	db      DB
	options CheckOptions
	report  CheckReport
}

// users checks users that follow each other.
func (c *checker) users(ctx context.Context, users []string) error {
	first, last := users[0], users[len(users)-1]
	if err := c.orphans(ctx, first, last); err != nil {
		return err
	}
	if err := c.secrets(ctx, first, last); err != nil {
		return err
	}
	page := dbsqlc.CheckTraitsParams{First: first, Last: last, Max: checkedTraits}
	for {
		traits, err := c.page(ctx, page)
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
		page.AfterUser, page.AfterID = traits[len(traits)-1].row.UserID, traits[len(traits)-1].row.ID
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

// page reads traits with their events and evidence, all as they are at one moment.
func (c *checker) page(ctx context.Context, p dbsqlc.CheckTraitsParams) (traits []checkedTrait, err error) {
	err = pgx.BeginFunc(ctx, c.db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `set transaction isolation level repeatable read read only`); err != nil {
			return err
		}
		traits, err = readChecked(ctx, tx, p)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("check traits: %w", Explain(err))
	}
	return traits, nil
}

// readChecked reads the next traits with what belongs to them.
func readChecked(ctx context.Context, db DB, p dbsqlc.CheckTraitsParams) ([]checkedTrait, error) {
	rows, err := queries.CheckTraits(ctx, db, &p)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	traits := make([]checkedTrait, len(rows))
	at := make(map[MemoryRef]*checkedTrait, len(rows))
	for i, r := range rows {
		traits[i].row = r
		at[MemoryRef{r.UserID, r.ID}] = &traits[i]
	}
	from, upto := rows[0], rows[len(rows)-1]
	events, err := queries.CheckEvents(ctx, db, &dbsqlc.CheckEventsParams{FromUser: from.UserID, FromID: from.ID, UptoUser: upto.UserID, UptoID: upto.ID})
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		if t := at[MemoryRef{e.UserID, e.TraitID}]; t != nil {
			t.events = append(t.events, e)
		}
	}
	evidence, err := queries.CheckEvidence(ctx, db, &dbsqlc.CheckEvidenceParams{FromUser: from.UserID, FromID: from.ID, UptoUser: upto.UserID, UptoID: upto.ID})
	if err != nil {
		return nil, err
	}
	for _, e := range evidence {
		if t := at[MemoryRef{e.UserID, e.TraitID}]; t != nil {
			t.evidence = append(t.evidence, e)
		}
	}
	twice, err := queries.CheckTwice(ctx, db, &dbsqlc.CheckTwiceParams{FromUser: from.UserID, FromID: from.ID, UptoUser: upto.UserID, UptoID: upto.ID})
	if err != nil {
		return nil, err
	}
	for _, e := range twice {
		if t := at[MemoryRef{e.UserID, e.TraitID}]; t != nil {
			t.twice = append(t.twice, e)
		}
	}
	return traits, nil
}

// trait reports what is wrong with a trait, and repairs it first if that is wanted.
func (c *checker) trait(ctx context.Context, t checkedTrait) error {
	problems := t.problems()
	if len(problems) == 0 {
		return nil
	}
	if c.options.Repair {
		left, err := repairTrait(ctx, c.db, t.row.UserID, t.row.ID)
		if err != nil {
			return fmt.Errorf("repair trait %s of user %q: %w", t.row.ID, t.row.UserID, Explain(err))
		}
		for i := range problems {
			problems[i].Repaired = !slices.ContainsFunc(left, func(p Problem) bool { return p.Kind == problems[i].Kind })
		}
		for _, p := range left { // what came up only then
			if !slices.ContainsFunc(problems, func(before Problem) bool { return before.Kind == p.Kind }) {
				problems = append(problems, p)
			}
		}
	}
	return c.found(problems...)
}

// orphans reports, and erases if that is wanted, rows of users between two that refer to nothing.
func (c *checker) orphans(ctx context.Context, first, last string) error {
	rows, err := queries.CheckOrphans(ctx, c.db, &dbsqlc.CheckOrphansParams{First: first, Last: last})
	if err != nil {
		return fmt.Errorf("look for what refers to nothing: %w", Explain(err))
	}
	for i, r := range rows {
		if c.options.Repair && (i == 0 || rows[i-1].UserID != r.UserID) {
			if err := dropOrphans(ctx, c.db, r.UserID); err != nil {
				return fmt.Errorf("erase what refers to nothing of user %q: %w", r.UserID, Explain(err))
			}
		}
		p := Problem{UserID: r.UserID, TraitID: r.ID, Kind: "orphan", Found: "a row of " + r.FoundIn, Expected: r.Lacks + ", so no row", Repaired: c.options.Repair}
		if err := c.found(p); err != nil {
			return err
		}
	}
	return nil
}

// Consistency is how a check that goes on from run to run stands, in the setting "consistency".
type Consistency struct {
	At       time.Time `json:"at"`       // when it was at work last
	Users    int64     `json:"users"`    // looked at since it began anew
	Problems int64     `json:"problems"` // found since then
	// After is the user whom it looked at last; "" at the end. What was found stays told until it begins anew.
	After string `json:"after"`
}

const consistencyKey = "consistency"

// ReadConsistency returns how the check that goes on stands; the zero value before the first.
func ReadConsistency(ctx context.Context, db DB) (c Consistency, err error) {
	err = ReadSetting(ctx, db, consistencyKey, &c)
	return c, err
}

// CheckNext checks the next users, at most limit, repairs nothing, and goes on there the next time. last tells that it came
// to the last of them; the next call begins anew.
func CheckNext(ctx context.Context, db DB, now time.Time, limit int, found func(Problem) error) (last bool, err error) {
	state, err := ReadConsistency(ctx, db)
	if err != nil {
		return false, err
	}
	if state.After == "" {
		state = Consistency{}
	}
	users, err := CheckedUsers(ctx, db, state.After, limit)
	if err != nil {
		return false, err
	}
	c := &checker{db: db, options: CheckOptions{Found: found}}
	if len(users) > 0 {
		if err := c.users(ctx, users); err != nil {
			return false, err
		}
	}
	last = len(users) < limit
	state.At, state.Users, state.Problems, state.After = now, state.Users+c.report.Users, state.Problems+c.report.Problems, ""
	if !last {
		state.After = users[len(users)-1]
	}
	return last, WriteSetting(ctx, db, consistencyKey, state)
}
