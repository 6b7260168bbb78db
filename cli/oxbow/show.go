package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// shown is the output of show for one memory.
type shown struct {
	Memory  oxbow.Memory     `json:"memory"`
	Work    store.MemoryWork `json:"work"`
	History []oxbow.Change   `json:"history"`
}

func newShowCommand(a *app) *cobra.Command {
	var user string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show one memory, its history and its jobs",
		Long: `Show one memory, superseded and forgotten ones too: every field that is set, whether it is embedded, what happened to it
and to its other versions, and the jobs that name it (finished ones are kept for a day).

Without --user the memory is looked for among those of all users, which takes a while in a large database.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := idArgument(args[0])
			if err != nil {
				return err
			}
			d, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer d.close()
			return a.show(cmd.Context(), d, user, id, asJSON)
		},
	}
	cmd.Flags().StringVar(&user, "user", "", "whose memory it is")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) show(ctx context.Context, d *database, userID string, id uuid.UUID, asJSON bool) (err error) {
	if userID == "" {
		if userID, err = ownerOf(ctx, d, id); err != nil {
			return err
		}
	}
	var s shown
	s.Memory, err = d.client.Get(ctx, userID, id)
	if errors.Is(err, oxbow.ErrSealed) {
		err = open(ctx, &s.Memory)
	}
	if err != nil {
		return err
	}
	if s.History, err = d.client.History(ctx, userID, id); err != nil {
		return err
	}
	err = d.as(ctx, userID, func(db store.DB) error {
		s.Work, err = store.WorkOf(ctx, db, s.Memory)
		return err
	})
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(s)
	}
	location, err := d.location(ctx, userID)
	if err != nil {
		return err
	}
	return a.printShown(s, location)
}

// open decrypts a secret memory with the keys of the environment.
func open(ctx context.Context, m *oxbow.Memory) error {
	k, err := keys(ctx)
	if err != nil {
		return err
	}
	if k == nil {
		return m.Open(nil)
	}
	return m.Open(k)
}

// ownerOf finds the user of a memory.
func ownerOf(ctx context.Context, d *database, id uuid.UUID) (string, error) {
	user, err := store.OwnerOf(ctx, d.pool, id)
	if errors.Is(err, store.ErrNotFound) {
		err = fmt.Errorf("%w: if it is there, it is one that this login may not see without --user", err)
	}
	return user, err
}

func (a *app) printShown(s shown, location *time.Location) error {
	columns := width(a.out)
	text := []string{printable(s.Memory.Content)}
	if columns > 0 {
		text = wrap(text[0], columns, 1000)
	}
	for _, line := range text {
		a.printf("%s\n", line)
	}
	a.printf("\n")
	for _, field := range fieldsOf(s, location) {
		if field[1] != "" {
			a.printf("%-12s  %s\n", field[0], field[1])
		}
	}
	if err := a.printHistory(s, location); err != nil {
		return err
	}
	return a.printJobs(s.Work.Jobs, location)
}

// fieldsOf lists a memory's fields with their values; an empty value means that the field is not
// set.
func fieldsOf(s shown, location *time.Location) [][2]string {
	m := s.Memory
	at := func(t time.Time) string { return showTime(t, location) }
	fields := [][2]string{
		{"id", m.ID.String()},
		{"user", printable(m.UserID)},
		{"type", fmt.Sprintf("%s, version %d", m.Type, m.Version)},
		{"state", stateOf(s, location)},
		{"true from", at(m.ValidAt)},
		{"true until", at(m.InvalidAt)},
		{"stored", at(m.CreatedAt)},
		{"changed", at(m.UpdatedAt)},
		{"session", printable(m.SessionID)},
		{"seq", fmt.Sprint(m.Seq)},
		{"speaker", printable(m.Speaker)},
		{"agent", printable(m.AgentID)},
		{"external id", printable(m.ExternalID)},
		{"source", printable(m.Source)},
		{"category", printable(m.Category)},
		{"sensitivity", sensitivityText(m)},
		{"importance", fmt.Sprint(m.Importance)},
		{"strength", fmt.Sprint(m.Strength)},
		{"mentioned", times(m.MentionCount)},
		{"recalled", usedText(m, location)},
	}
	if len(m.Metadata) > 0 {
		encoded, _ := json.Marshal(m.Metadata) // cannot fail: it was decoded from JSON
		fields = append(fields, [2]string{"metadata", printable(string(encoded))})
	}
	if m.Trait != nil {
		fields = append(fields, traitFields(m.Trait, location)...)
	}
	return append(fields, [2]string{"embedded", embeddedText(s)})
}

func traitFields(t *oxbow.TraitState, location *time.Location) [][2]string {
	at := func(t time.Time) string { return showTime(t, location) }
	parent := ""
	if t.ParentID != uuid.Nil {
		parent = t.ParentID.String()
	}
	return [][2]string{
		{"subtype", t.Subtype},
		{"stage", t.Stage},
		{"confidence", joined([]string{fmt.Sprintf("%.3f", t.Confidence), at(t.ConfidenceAt)}, " on ")},
		{"context", t.Context},
		{"part of", parent},
		{"reinforced", joined([]string{times(t.ReinforcementCount), at(t.LastReinforced)}, ", last on ")},
		{"contradicted", times(t.ContradictionCount)},
		{"observed", at(t.FirstObserved)},
		{"window", joined([]string{at(t.WindowStart), at(t.WindowEnd)}, " to ")},
		{"derived from", t.DerivedFrom},
	}
}

func stateOf(s shown, location *time.Location) string {
	m := s.Memory
	switch {
	case !m.ForgottenAt.IsZero():
		return fmt.Sprintf("forgotten on %s; oxbow restore takes it back until %s", showTime(m.ForgottenAt, location),
			m.ForgottenAt.Add(restorable).In(location).Format(time.DateOnly))
	case m.SupersededBy != uuid.Nil:
		return fmt.Sprintf("superseded on %s by %s", showTime(m.ExpiredAt, location), m.SupersededBy)
	case !m.ExpiredAt.IsZero() && !m.ExpiresAt.IsZero():
		return "expired on " + showTime(m.ExpiredAt, location)
	case !m.ExpiredAt.IsZero():
		return "superseded on " + showTime(m.ExpiredAt, location)
	case !m.ExpiresAt.IsZero():
		return fmt.Sprintf("current; expires on %s unless it is promoted", showTime(m.ExpiresAt, location))
	}
	return "current"
}

func usedText(m oxbow.Memory, location *time.Location) string {
	if m.AccessCount == 0 {
		return "never"
	}
	return joined([]string{times(m.AccessCount), showTime(m.LastAccessedAt, location)}, ", last on ")
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func sensitivityText(m oxbow.Memory) string {
	switch m.Sensitivity {
	case 0:
		return ""
	case store.Secret:
		return "3, sealed with the key " + m.SealedKey
	}
	return strconv.Itoa(m.Sensitivity)
}

func embeddedText(s shown) string {
	w := s.Work
	switch {
	case s.Memory.Sensitivity == store.Secret:
		return "never: it is sealed, and shown by its id alone"
	case w.Embedded && w.Searchable:
		return "yes"
	case w.Refused != "":
		return "no, the provider refuses the text: " + printable(w.Refused)
	case w.Searchable:
		return "not yet; it is found by its words meanwhile"
	}
	return "not yet; recall cannot find it"
}

func (a *app) printHistory(s shown, location *time.Location) error {
	a.printf("\n")
	t := newTable("when", "what", "#version", "by", "~text", "why")
	for _, c := range s.History {
		text := c.NewContent
		if c.Event == "DELETE" {
			text = "" // unchanged
		}
		t.add(showTime(c.At, location), event(c.Event), fmt.Sprint(c.Version), printable(c.Actor), printable(text),
			joinLines(wrap(printable(c.Reason), 30, textRows)))
	}
	return t.print(a.out)
}

// event returns a word for an event.
func event(name string) string {
	words := map[string]string{"ADD": "stored", "UPDATE": "updated", "SUPERSEDE": "superseded", "DELETE": "forgotten",
		"RESTORE": "restored", "STAGE_CHANGE": "stage changed", "NOOP": "mentioned", "BOOST": "used", "EXPIRE": "expired", "PROMOTE": "kept for good"}
	if word, ok := words[name]; ok {
		return word
	}
	return name
}

func (a *app) printJobs(jobs []store.Job, location *time.Location) error {
	if len(jobs) == 0 {
		return nil
	}
	a.printf("\n")
	t := newTable("#job", "kind", "state", "enqueued", "attempts", "next", "~last error")
	for _, j := range jobs {
		next := ""
		if j.FinalizedAt.IsZero() && j.State != "running" {
			next = showTime(j.ScheduledAt, location)
		}
		t.add(fmt.Sprint(j.ID), j.Kind, j.State, showTime(j.CreatedAt, location), fmt.Sprintf("%d of %d", j.Attempt, j.MaxAttempts),
			next, printable(j.LastError))
	}
	return t.print(a.out)
}
