package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// feedbackKind chooses what feedback says. About a steady user nothing that takes a memory out of reflection.
func feedbackKind(a Action) string {
	kinds := store.FeedbackKinds
	if isSteady(a.User) {
		kinds = []string{"helpful", "wrong", "too_much"}
	}
	return kinds[int(a.Pick)%len(kinds)]
}

// learn gives feedback about a memory, or states an instruction, an intention or a skill. The content of a signal is its
// external id.
func (c *client) learn(ctx context.Context, w *write, a Action) (outcome, error) {
	user, m := userName(a.User), c.run.ledger.next(a.User)
	row := &written{mark: m}
	w.rows = []*written{row}
	var about *written
	switch row.table, row.content = a.Kind+"s", m.String(); a.Kind {
	case "feedback":
		row.table = "feedback_signals"
		about = c.run.ledger.target(a.User, a.Pick, func(row *written) bool {
			return row.erased <= failed && row.forgotten == never && row.superseded <= failed &&
				row.write.action != "repeat" && row.write.action != "again" // equal facts share what happens to one
		})
		if about == nil {
			return never, nil
		}
	case "instruction":
		row.content = fmt.Sprintf([]string{"Mention the parcel %s", "每次都提到%s号箱子"}[a.Pick%2], m)
	case "intention":
		row.content = fmt.Sprintf([]string{"Fetch the parcel %s", "去取%s号包裹"}[a.Pick%2], m)
	}
	how, err := c.write(ctx, w, a, func(tx pgx.Tx) (err error) {
		bound := c.oxbow.WithTx(tx)
		switch a.Kind {
		case "feedback":
			f := oxbow.Feedback{Kind: feedbackKind(a), IDs: []uuid.UUID{about.id},
				Query: questions[int(a.Pick>>4)%len(questions)], ExternalID: row.content}
			if row.id, err = bound.Feedback(ctx, user, f); err == nil {
				_, err = bound.Feedback(ctx, user, f) // a repetition
			}
		case "instruction":
			row.id, err = bound.Instruct(ctx, user, oxbow.NewInstruction{Content: row.content, ExternalID: m.String()})
		case "intention":
			due := time.Now().Add(time.Duration(a.Pick%20) * time.Second)
			row.id, err = bound.Intend(ctx, user, oxbow.NewIntention{Content: row.content, DueAt: due,
				Kind: "reminder", ExternalID: m.String()})
		case "skill":
			row.id, err = bound.LearnSkill(ctx, user, oxbow.NewSkill{Name: row.content, Situation: "a parcel comes",
				Steps: []string{"open it", "look"}})
			if err == nil && a.Pick%3 > 0 {
				err = bound.SkillOutcome(ctx, user, row.id, a.Pick%3 == 1)
			}
		}
		return err
	})
	if a.Kind == "feedback" && feedbackKind(a) == "not_about_me" && how > failed {
		c.run.ledger.set(&about.forgotten, how)
	}
	return how, err
}

// end ends a standing instruction, or completes or snoozes an intention.
func (c *client) end(ctx context.Context, a Action) (outcome, error) {
	user, from := userName(a.User), "oxbow.instructions where user_id = $1 and ended_at is null"
	if a.Pick%3 > 0 {
		from = "oxbow.intentions where user_id = $1 and state in ('open', 'due')"
	}
	return c.transact(ctx, a, func(tx pgx.Tx) error {
		some, err := collect(ctx, tx, "select id from "+from+" order by id limit 1", user)
		if err != nil || len(some) == 0 {
			return err
		}
		switch bound := c.oxbow.WithTx(tx); a.Pick % 3 {
		case 0:
			_, err = bound.EndInstruction(ctx, user, some[0], "")
		case 1:
			_, err = bound.CompleteIntention(ctx, user, some[0], "")
		default:
			_, err = bound.SnoozeIntention(ctx, user, some[0], time.Now().Add(time.Duration(a.Pick>>8%20)*time.Second))
		}
		return err
	})
}

// lessons are the rules for what follows from feedback, instructions and intentions.
var lessons = []rule{
	{"feedback", "one signal for each message", `
		select user_id, message_id, count(*) from oxbow.feedback_signals where message_id is not null
		 group by user_id, message_id having count(*) > 1`},
	{"feedback", "a signal for each complaint", `
		select g.user_id, g.id, g.content from oxbow.messages g
		 where g.role = 'user' and g.content ~ '^(No, that is wrong|不对)' and not exists (
		   select from oxbow.feedback_signals s where s.user_id = g.user_id and s.message_id = g.id)`},
	{"feedback", "no signal that was not counted", `
		select user_id, id, kind from oxbow.feedback_signals where dispatched_at is null`},
	{"feedback", "an adjustment that changes something", `
		select user_id, id, format('%s to %s', before, after) from oxbow.adjustments where before = after`},
	{"feedback", "an adjustment because of signals about its memory", `
		select a.user_id, a.id, a.signals from oxbow.adjustments a
		 where cardinality(a.signals) = 0 or a.kind <> 'skill' and exists (
		   select from unnest(a.signals) g(id) join oxbow.feedback_signals s on s.user_id = a.user_id and s.id = g.id
		    where not exists (select from oxbow.feedback_subjects f where f.user_id = a.user_id
		      and f.signal_id = s.id and f.memory_id = a.memory_id))`},
	{"intentions", "due, because its time has passed", `
		select user_id, id, content from oxbow.intentions
		 where state = 'open' and remind_at < now() - interval '1 minute'`},
	{"instructions", "one current instruction with these words", `
		select user_id, min(id::text), content from oxbow.instructions where ended_at is null
		 group by user_id, content having count(*) > 1`},
	{"instructions", "no instruction in the context that has ended", `
		select i.user_id, i.id, i.content from oxbow.instructions i
		 where i.ended_at is not null and strpos(oxbow.context(i.user_id, 'parcel'), i.content) > 0`},
	{"skills", "one current version of a name", `
		select user_id, min(id::text), lower(name) from oxbow.skills where ended_at is null
		 group by user_id, lower(name) having count(*) > 1`},
}

// learned checks what followed from feedback, instructions and intentions.
func (k *checker) learned() int {
	k.rules(lessons)
	return k.count(`oxbow.feedback_signals`) + k.count(`oxbow.intentions`) + k.count(`oxbow.instructions`)
}
