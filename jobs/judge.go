package jobs

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/store"
)

// JudgeArgs identifies a conversation in which a person answered an assistant.
type JudgeArgs struct {
	UserID    string `json:"user_id" river:"unique"`
	SessionID string `json:"session_id" river:"unique"`
}

// Kind returns "judge".
func (JudgeArgs) Kind() string { return "judge" }

// InsertOpts returns the insert options of the kind.
func (a JudgeArgs) InsertOpts() river.InsertOpts { return insertOpts(a) }

var _ = describe(Kind{
	Does:      "finds out what people think of answers, from what they say next",
	Queue:     QueueReflect,
	Unique:    true,
	Reasoner:  true,
	Retention: busyRetention,
	Timeout:   reasonerTimeout,
}, func(c Config) worker[JudgeArgs] { return &judgeWorker{c.Extraction()} })

// judgedMessages is the maximum number of messages that one job judges.
const judgedMessages = 100

type judgeWorker struct{ *Extraction }

// Work judges the next messages of a conversation. The job completes itself before it looks for more, so that an
// extraction that adds some either finds it live or enqueues another.
func (w *judgeWorker) Work(ctx context.Context, job *river.Job[JudgeArgs]) error {
	return w.work(ctx, job.JobRow, job.Args.UserID, job.Args.SessionID, func() error { return w.judge(ctx, job) })
}

func (w *judgeWorker) judge(ctx context.Context, job *river.Job[JudgeArgs]) error {
	userID, sessionID := job.Args.UserID, job.Args.SessionID
	person, err := store.ReadPerson(ctx, w.DB, userID)
	if err != nil {
		return err
	}
	messages, err := store.TurnsToJudge(ctx, w.DB, userID, sessionID, judgedMessages)
	if err != nil {
		return err
	}
	if len(messages) == 0 || !messages[len(messages)-1].Fresh {
		return completing(ctx, w.DB, job, func(tx pgx.Tx) error { return w.succeed(ctx, tx, job.Args) })
	}
	messages = fewer(messages, job.Attempt)
	turns, questions := turnsOf(messages)
	var signals []reasoner.Signal
	if len(turns) > 0 && !person.OptedOut {
		err = w.call(ctx, userID, uuid.Nil, job.ID, func(ctx context.Context) (err error) {
			signals, err = w.Judge.Signals(ctx, reasoner.Turns{Now: w.Now().In(person.Zone), Language: person.Language,
				Turns: turns})
			return err
		})
		if err != nil {
			return err
		}
	}
	found := make([]store.FoundSignal, len(signals))
	for i, s := range signals {
		found[i] = store.FoundSignal{Signal: s, Query: questions[s.Message]}
	}
	failpoint.Reach(failpoint.JudgeDecided)
	err = pgx.BeginFunc(ctx, w.DB, func(tx pgx.Tx) error {
		if err := store.WriteSignals(ctx, tx, userID, sessionID, messages, w.Judge.Name(), found); err != nil {
			return err
		}
		failpoint.Reach(failpoint.JudgeWritten)
		if err := complete(ctx, tx, job); err != nil {
			return err
		}
		return w.succeed(ctx, tx, job.Args)
	})
	if err == nil {
		failpoint.Reach(failpoint.JudgeCommitted)
	}
	return err
}

// succeed enqueues another job if messages remain to be judged.
func (w *judgeWorker) succeed(ctx context.Context, tx pgx.Tx, args JudgeArgs) error {
	left, err := store.TurnsToJudge(ctx, tx, args.UserID, args.SessionID, 1)
	if err != nil || len(left) == 0 || !left[len(left)-1].Fresh {
		return err
	}
	return enqueue(ctx, tx, args)
}

// fewer halves the fresh messages with each attempt, because an answer about many may be unusable, such as too long.
func fewer(messages []store.TurnMessage, attempt int) []store.TurnMessage {
	first := slices.IndexFunc(messages, func(m store.TurnMessage) bool { return m.Fresh })
	return messages[:first+max(1, (len(messages)-first)>>(attempt-1))]
}

// turnsOf returns the turns of a conversation that are to be judged, and for each the question of the answer before it.
func turnsOf(messages []store.TurnMessage) (turns []reasoner.Turn, questions map[uuid.UUID]string) {
	questions = map[uuid.UUID]string{}
	var window []string // what was said before the answer, by turns
	answer := ""
	for _, m := range messages {
		switch {
		case m.Role == "assistant":
			answer = m.Content
			continue
		case m.Role != "user":
			continue
		}
		if m.Fresh && answer != "" {
			turns = append(turns, reasoner.Turn{Message: m.ID, UserInput: m.Content, AgentResponse: answer,
				ContextWindow: slices.Clone(window[max(0, len(window)-5):])})
			if len(window) > 0 {
				questions[m.ID] = window[len(window)-1]
			}
		}
		if answer != "" && len(window) > 0 {
			window = append(window, answer)
		}
		if answer == "" && len(window) > 0 { // two messages in a row are one turn
			window[len(window)-1] += "\n" + m.Content
		} else {
			window = append(window, m.Content)
		}
		answer = ""
	}
	return turns, questions
}
