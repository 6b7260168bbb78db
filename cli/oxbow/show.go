package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// details is the output of show.
type details struct {
	Memory  oxbow.Memory     `json:"memory"`
	Work    store.MemoryWork `json:"work"`
	History []oxbow.Change   `json:"history"`
	Related []oxbow.Related  `json:"related"`
}

// maxRelated is the number of related memories in the output of show.
const maxRelated = 10

func showCommand(a *app) *cobra.Command {
	var userID string
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show a memory with its history, related memories and jobs",
		Long: `Show a memory, even if it is superseded or forgotten: its fields, whether it is embedded, the changes to it
and to its other versions, up to 10 related memories, and the jobs that name it (completed ones for an hour).

Without --user, search the memories of all users, which is slow in a large database.`,
		Args: cobra.ExactArgs(1),
		RunE: a.onMemory(&userID, func(ctx context.Context, u *user, id uuid.UUID) (err error) {
			var d details
			d.Memory, err = u.client.Get(ctx, u.id, id)
			if errors.Is(err, oxbow.ErrSealed) {
				err = unseal(ctx, &d.Memory)
			}
			if err != nil {
				return err
			}
			if d.History, err = u.client.History(ctx, u.id, id); err != nil {
				return err
			}
			if d.Related, err = u.client.Related(ctx, u.id, id, maxRelated); err != nil {
				return err
			}
			d.Work, err = as(ctx, u.database, u.id, func(db store.DB) (store.MemoryWork, error) {
				return store.WorkOf(ctx, db, d.Memory)
			})
			if err != nil {
				return err
			}
			return u.output(d, func() { u.printDetails(d) })
		}),
	}
	userFlag(cmd.Flags(), &userID, "user of the memory")
	a.jsonFlag(cmd.Flags())
	return cmd
}

func (u *user) printDetails(d details) {
	m := d.Memory
	u.printf("%s\n\n", u.paragraph(captioned(m.Modality, m.Content)))
	u.fields(field{"id", m.ID}, field{"user", m.UserID},
		field{"type", fmt.Sprintf("%s, version %d", m.Type, m.Version)},
		field{"state", u.state(m)},
		field{"true from", m.ValidAt}, field{"true until", m.InvalidAt},
		field{"stored", m.CreatedAt}, field{"changed", m.UpdatedAt},
		field{"session", m.SessionID}, field{"seq", fmt.Sprint(m.Seq)}, field{"speaker", m.Speaker},
		field{"agent", m.AgentID},
		field{"external id", m.ExternalID}, field{"source", m.Source}, field{"category", string(m.Category)},
		field{"topic", m.Topic}, field{"verified", verified(m)}, field{"tier", tier(m)},
		field{"level", level(m)},
		field{"reference", m.Reference}, field{"attached", attached(m.Attachments)},
		field{"sensitivity", sensitivity(m)},
		field{"importance", fmt.Sprint(m.Importance)}, field{"strength", fmt.Sprint(m.Strength)},
		field{"mentioned", times(m.MentionCount)}, field{"recalled", u.often(m.AccessCount, m.LastAccessedAt)})
	if len(m.Metadata) > 0 {
		encoded, _ := json.Marshal(m.Metadata) // cannot fail: it was decoded from JSON
		u.fields(field{"metadata", string(encoded)})
	}
	if t := m.Trait; t != nil {
		u.fields(field{"subtype", t.Subtype}, field{"stage", t.Stage},
			field{"confidence", joined(" on ", fmt.Sprintf("%.3f", t.Confidence), u.minute(t.ConfidenceAt))},
			field{"context", t.Context}, field{"part of", t.ParentID},
			field{"reinforced", u.often(t.ReinforcementCount, t.LastReinforced)},
			field{"contradicted", times(t.ContradictionCount)},
			field{"observed", t.FirstObserved},
			field{"window", joined(" to ", u.minute(t.WindowStart), u.minute(t.WindowEnd))},
			field{"derived from", t.DerivedFrom})
	}
	u.fields(field{"embedded", embedded(d)})

	u.printf("\n")
	t := u.table("when", "what", "#version", "by", "~text", "|why")
	for _, c := range d.History {
		text := cmp.Or(changedText(c), c.NewContent)
		if c.Event == "DELETE" {
			text = "" // unchanged
		}
		t.add(c.At, eventName(c.Event), fmt.Sprint(c.Version), c.Actor, text, c.Reason)
	}
	t.print()
	if len(d.Related) > 0 {
		u.printf("\n")
		t = u.table("#weight", "true from", "~related", "type", "id")
		for _, r := range d.Related {
			t.add(fmt.Sprintf("%.2f", r.Weight), r.ValidAt, r.Content, string(r.Type), r.ID)
		}
		t.print()
	}
	if len(d.Work.Jobs) == 0 {
		return
	}
	u.printf("\n")
	t = u.table("#job", "kind", "state", "enqueued", "attempts", "next", "~last error")
	for _, j := range d.Work.Jobs {
		var next time.Time
		if j.FinalizedAt.IsZero() && j.State != "running" {
			next = j.ScheduledAt
		}
		attempts := fmt.Sprintf("%d of %d", j.Attempt, j.MaxAttempts)
		t.add(fmt.Sprint(j.ID), j.Kind, j.State, j.CreatedAt, attempts, next, j.LastError)
	}
	t.print()
}

func (u *user) state(m oxbow.Memory) string {
	switch expired := u.minute(m.ExpiredAt); {
	case !m.ForgottenAt.IsZero():
		by := map[string]string{"auto": " by Oxbow", "merge": " by merging"}[m.ForgottenBy]
		return fmt.Sprintf("forgotten on %s%s; can be restored until %s", u.minute(m.ForgottenAt), by,
			u.day(m.ForgottenAt.Add(store.Restorable)))
	case m.SupersededBy != uuid.Nil:
		return fmt.Sprintf("superseded on %s by %s", expired, m.SupersededBy)
	case expired != "" && !m.ExpiresAt.IsZero():
		return "expired on " + expired
	case expired != "":
		return "superseded on " + expired
	case !m.ExpiresAt.IsZero() && !m.ExpiresAt.After(time.Now()):
		return "expired on " + u.minute(m.ExpiresAt)
	case !m.ExpiresAt.IsZero():
		return fmt.Sprintf("current; expires on %s unless it is promoted", u.minute(m.ExpiresAt))
	}
	return "current"
}

// often formats how often something happened, and when it last did.
func (u *user) often(n int, last time.Time) string {
	if n == 0 {
		return "never"
	}
	return joined(", last on ", times(n), u.minute(last))
}

// attached lists the references of images, recordings and files that belong to a memory.
func attached(to []oxbow.Attachment) string {
	var all []string
	for _, a := range to {
		all = append(all, fmt.Sprintf("[%s] %s", a.Modality, a.Reference))
	}
	return strings.Join(all, ", ")
}

func sensitivity(m oxbow.Memory) string {
	switch m.Sensitivity {
	case 0:
		return ""
	case store.Secret:
		return "3, sealed with key " + m.SealedKey
	}
	return strconv.Itoa(m.Sensitivity)
}

func verified(m oxbow.Memory) string {
	if m.Verified {
		return "yes, a person confirmed it"
	}
	return ""
}

func tier(m oxbow.Memory) string {
	if m.Tier == "normal" {
		return ""
	}
	return m.Tier + ": its strength does not fall"
}

func level(m oxbow.Memory) string {
	if m.Level == "full" {
		return ""
	}
	return m.Level + ": less is kept than was stored"
}

func embedded(d details) string {
	switch w := d.Work; {
	case d.Memory.Sensitivity == store.Secret:
		return "never: a sealed memory is found only by its id"
	case d.Memory.Sensitivity > 1:
		return "never: a secret memory is found only by its id"
	case d.Memory.Level == "archive":
		return "no longer; recall finds it in the mode review"
	case d.Memory.Level == "tag" || d.Memory.Level == "trace":
		return "no longer; full-text search finds what is kept"
	case w.Embedded && w.Searchable:
		return "yes"
	case w.Refused != "":
		return "no, the provider rejects the text: " + w.Refused
	case w.Searchable:
		return "not yet; full-text search finds it"
	}
	return "not yet; recall cannot find it"
}
