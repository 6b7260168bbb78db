package jobs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/secrets"
	"github.com/oxbow-memory/oxbow/store"
)

const (
	extractedMessages = 40     // per batch
	extractedBytes    = 32_000 // total per batch; a longer message is a separate batch
	earlierMessages   = 6      // shown for context
	recalledMemories  = 50     // shown for context
	maxCandidates     = 200    // per batch
)

// Extraction extracts memories from messages. Config.Extraction returns one.
type Extraction struct {
	Config
	embed *embedWorker
}

// Extraction returns the Extraction that the jobs use.
func (c Config) Extraction() *Extraction { return &Extraction{c, newEmbedWorker(c)} }

// Step does immediately what a session's next job would do: it extracts from the next messages.
// more is false if there were none. The error is an *UnavailableError, a *reasoner.AnswerError or
// a database error.
func (x *Extraction) Step(ctx context.Context, userID, sessionID string) (done int, more bool, err error) {
	err = retried(rereadings, stale, func() error {
		done, err = x.step(ctx, userID, sessionID)
		return err
	})
	return done, done > 0, err
}

// work works a job about a session. Another job may be working on the same user.
func (x *Extraction) work(ctx context.Context, job *rivertype.JobRow, userID, sessionID string, do func() error) error {
	if userID == "" || sessionID == "" {
		return river.JobCancel(fmt.Errorf("the arguments need a user and a session: user_id %q, session_id %q", userID,
			sessionID))
	}
	err := retried(rereadings, stale, do)
	if stale(err) {
		return overtaken(job, err)
	}
	return x.postpone(ctx, err)
}

func (x *Extraction) step(ctx context.Context, userID, sessionID string) (int, error) {
	session, err := store.ReadSession(ctx, x.DB, userID, sessionID, 0)
	if err != nil {
		return 0, err
	}
	person, err := store.ReadPerson(ctx, x.DB, userID)
	if err != nil || person.OptedOut {
		return 0, err
	}
	e, err := x.decide(ctx, session, person, false, 0)
	if err != nil || len(e.Messages) == 0 {
		return 0, err
	}
	return len(e.Messages), pgx.BeginFunc(ctx, x.DB, func(tx pgx.Tx) error {
		_, err := x.write(ctx, tx, e)
		return err
	})
}

// extraction is a batch of messages being extracted.
type extraction struct {
	store.Extraction
	now        time.Time
	candidates []reasoner.Candidate
	ids        []uuid.UUID       // of the memories that candidates may become
	vectors    [][]float32       // of the candidates; nil: refused
	shown      [][]reasoner.Held // to the extractor, per candidate
	answers    bool              // a new message follows one of an assistant
	stored     bool              // the candidates are facts that an application stored; they have no vectors here
}

// within truncates messages so that the new ones total at most limit bytes. It always keeps the
// first new message.
func within(messages []reasoner.Message, limit int) []reasoner.Message {
	sum, first := 0, true
	for i, m := range messages {
		if !m.New {
			continue
		}
		if sum += len(m.Content); sum > limit && !first {
			return messages[:i]
		}
		first = false
	}
	return messages
}

func fresh(messages []reasoner.Message) (ids []uuid.UUID) {
	for _, m := range messages {
		if m.New {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// followsAnswer reports whether a person says something new after an assistant.
func followsAnswer(messages []reasoner.Message) bool {
	answered := false
	for _, m := range messages {
		if m.New && m.Role == "user" && answered {
			return true
		}
		answered = answered || m.Role == "assistant"
	}
	return false
}

// decide reads the next messages of a session, asks for candidates, computes their vectors and
// resolves each candidate. If the extractor fails, the messages are still returned.
func (x *Extraction) decide(ctx context.Context, session store.Session, person reasoner.Person, failed bool,
	job int64) (*extraction, error) {
	e := &extraction{Extraction: store.Extraction{Session: session, Actor: x.Extractor.Name(), Model: x.embed.model()}}
	messages, err := x.messages(ctx, session, person, failed)
	if err != nil {
		return e, err
	}
	messages = within(messages, extractedBytes)
	if e.Messages = fresh(messages); len(e.Messages) == 0 {
		return e, nil
	}
	e.answers = followsAnswer(messages)
	recalled, err := store.RecalledInto(ctx, x.DB, e.Session.UserID, e.Messages, recalledMemories)
	if err != nil {
		return e, err
	}
	if recalled, err = hideHeld(ctx, x.DB, e.Session.UserID, recalled); err != nil {
		return e, err
	}
	e.now = x.Now().In(person.Zone)
	var found reasoner.Extraction
	err = x.call(ctx, e.Session.UserID, uuid.Nil, job, func(ctx context.Context) (err error) {
		found, err = x.Extractor.Extract(ctx, reasoner.Conversation{Now: e.now, Language: person.Language,
			Messages: messages, Recalled: recalled})
		return err
	})
	if err != nil {
		return e, err
	}
	if e.candidates, err = x.withoutSecrets(ctx, x.admit(ctx, found.Candidates, messages)); err != nil {
		return e, err
	}
	e.Instructions = slices.DeleteFunc(found.Instructions, func(n reasoner.Instruction) bool {
		return !slices.Contains(e.Messages, n.Source) || secrets.Any(n.Text)
	})
	e.Procedures = slices.DeleteFunc(found.Procedures, func(p reasoner.Procedure) bool {
		return !slices.Contains(e.Messages, p.Source) || secrets.Any(p.Situation) || slices.ContainsFunc(p.Steps, secrets.Any)
	})
	e.Intentions = slices.DeleteFunc(found.Intentions, func(n reasoner.Intention) bool {
		return !slices.Contains(e.Messages, n.Source) || secrets.Any(n.Content)
	})
	e.Used = among(found.Used, recalled)
	for _, d := range found.Dropped {
		x.Logger.InfoContext(ctx, "dropped a proposal of the extractor", "reason", secrets.Mask(d.Reason))
	}
	e.ids = make([]uuid.UUID, len(e.candidates))
	for i := range e.ids {
		e.ids[i] = uuid.New()
	}
	if e.vectors, err = x.vectors(ctx, e.candidates); err != nil {
		return e, err
	}
	return e, x.resolve(ctx, x.DB, e, func(ask func(context.Context) error) error {
		return x.call(ctx, session.UserID, uuid.Nil, job, ask)
	})
}

// messages reads the next messages of a session. It marks messages that contain a secret and reads again until there
// are none.
func (x *Extraction) messages(ctx context.Context, session store.Session, person reasoner.Person,
	failed bool) ([]reasoner.Message, error) {
	for {
		messages, err := store.SessionMessages(ctx, x.DB, session, person, failed, extractedMessages, earlierMessages)
		if err != nil {
			return nil, err
		}
		if again, err := markMessages(ctx, x.DB, session.UserID, messages); err != nil || !again {
			return messages, err
		}
	}
}

// admit returns the candidates that are valid. A candidate must be based on new messages.
func (x *Extraction) admit(ctx context.Context, candidates []reasoner.Candidate,
	messages []reasoner.Message) []reasoner.Candidate {
	said := map[uuid.UUID]reasoner.Message{}
	for _, m := range messages {
		if m.New {
			said[m.ID] = m
		}
	}
	if len(candidates) > maxCandidates {
		x.Logger.WarnContext(ctx, "dropped surplus proposals of the extractor", "number", len(candidates), "kept",
			maxCandidates)
		candidates = candidates[:maxCandidates]
	}
	var admitted []reasoner.Candidate
	for _, c := range candidates {
		c.Sources = slices.DeleteFunc(slices.Clone(c.Sources),
			func(id uuid.UUID) bool { return said[id].ID == uuid.Nil })
		if len(c.Sources) == 0 || oneline.Of(c.Content) == "" ||
			c.Type != string(store.Fact) && c.Type != string(store.Episodic) {
			x.Logger.WarnContext(ctx,
				"dropped a proposal of the extractor: it has no new message as a source, or its content or type is invalid")
			continue
		}
		c.Importance = min(max(c.Importance, 0), 1)
		c.Category = cmp.Or(c.Category, reasoner.Objective)
		if c.Context = reasoner.KnownContext(c.Context); c.Time.IsZero() {
			c.Time = said[c.Sources[0]].Time
		}
		admitted = append(admitted, c)
	}
	return admitted
}

// among returns the ids of the given memories.
func among(ids []uuid.UUID, held []reasoner.Held) []uuid.UUID {
	return slices.DeleteFunc(slices.Clone(ids), func(id uuid.UUID) bool {
		return !slices.ContainsFunc(held, func(h reasoner.Held) bool { return h.ID == id })
	})
}

// vectors computes the vectors of the candidates. A vector is nil if the provider refuses the
// text.
func (x *Extraction) vectors(ctx context.Context, candidates []reasoner.Candidate) ([][]float32, error) {
	if err := store.CheckModel(ctx, x.DB, x.embed.model()); err != nil {
		return nil, err
	}
	texts := make([]string, len(candidates))
	for i, c := range candidates {
		texts[i] = store.EmbeddedText(c.Speaker, c.Content)
	}
	var all [][]float32
	for _, call := range Calls(texts, x.CallTexts, func(text string) int { return len(text) }) {
		vectors, _, err := x.embed.ask(ctx, call)
		if err != nil {
			return nil, err
		}
		all = append(all, vectors...)
	}
	return all, nil
}

// write writes the results under a lock per user. If other extractions of the user committed
// meanwhile, the candidates are resolved again at once if that needs no network; otherwise the
// error is store.ErrStale if the others wrote something similar to a candidate.
func (x *Extraction) write(ctx context.Context, tx pgx.Tx, e *extraction) (counts store.ExtractionCounts, err error) {
	others, err := store.LockExtraction(ctx, tx, e.Extraction)
	switch {
	case err != nil || !others:
	case x.Offline:
		err = x.resolve(ctx, tx, e, func(ask func(context.Context) error) error { return ask(ctx) })
	default:
		err = x.lookAgain(ctx, tx, e)
	}
	if err != nil {
		return counts, err
	}
	out, err := store.OptedOut(ctx, tx, e.Session.UserID)
	if err != nil {
		return counts, err
	}
	if out { // since the messages were read
		e.Memories, e.Used, e.Instructions, e.Procedures, e.Intentions = nil, nil, nil, nil, nil
	}
	if counts, err = store.WriteExtraction(ctx, tx, e.Extraction); err != nil {
		return counts, err
	}
	x.Logger.DebugContext(ctx, "extracted", "messages", len(e.Messages), "did", counts)
	if out {
		return counts, store.PassOverSummary(ctx, tx, e.Session.UserID, e.Session.ID)
	}
	return counts, nil
}
