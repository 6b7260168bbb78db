package chaos

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/embedding/providers"
)

// actionTime and patientActionTime limit how long a client waits for the answer to an action.
const (
	actionTime        = 5 * time.Second
	patientActionTime = 30 * time.Second
)

// client is an application that performs its actions in order, each at its time.
type client struct {
	run    *run
	number int
	pool   *pgxpool.Pool
	oxbow  *oxbow.Client
	ids    *rand.Rand
}

// openClient connects through the proxy; every other client is a login of oxbow_app, the rest the owner's.
func (r *run) openClient(ctx context.Context, number int) (*client, error) {
	dsn := r.proxy.dsn(ownerRole)
	if number%2 == 1 {
		dsn = r.proxy.dsn(appRole)
	}
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = 3
	cfg.ConnConfig.ConnectTimeout = 2 * time.Second
	cfg.ConnConfig.RuntimeParams["application_name"] = "chaos client"
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	embedder, err := providers.Open(r.provider.embedderConfig())
	if err != nil {
		return nil, err
	}
	options := []oxbow.Option{oxbow.WithEmbedder(embedder), oxbow.WithEmbedTimeout(time.Second),
		oxbow.WithLogger(discard)}
	if number%2 == 1 {
		options = append(options, oxbow.WithoutUseReports()) // they have no transaction in which to name a user
	}
	made, err := oxbow.New(pool, options...)
	if err != nil {
		return nil, err
	}
	return &client{run: r, number: number, pool: pool, oxbow: made,
		ids: rand.New(rand.NewPCG(r.plan.Seed, uint64(1000+number)))}, nil
}

func (c *client) close() {
	ctx, cancel := context.WithTimeout(context.Background(), actionTime)
	defer cancel()
	_ = c.oxbow.Close(ctx) // uses that cannot be reported any more are lost, as they may be
	c.pool.Close()
}

func (c *client) id() uuid.UUID { return randomID(c.ids) }

func randomID(r *rand.Rand) (id uuid.UUID) {
	binary.BigEndian.PutUint64(id[:8], r.Uint64())
	binary.BigEndian.PutUint64(id[8:], r.Uint64())
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return id
}

// work performs the plan until ctx ends. Late actions start at once; those that have not started by the end are missed.
func (c *client) work(ctx context.Context, begun time.Time) {
	actions := c.run.plan.Actions[c.number]
	for nth, a := range actions {
		if !sleep(ctx, time.Until(begun.Add(a.At))) {
			c.run.ledger.miss(len(actions) - nth)
			return
		}
		c.act(context.WithoutCancel(ctx), nth, a)
	}
}

func (c *client) act(ctx context.Context, nth int, a Action) {
	limit := actionTime
	if c.run.options.Patient {
		limit = patientActionTime
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	how, err := c.do(ctx, nth, a)
	if how == never {
		c.run.ledger.note(a.Kind, "nothing to do")
		return
	}
	if errors.Is(err, errAbandoned) {
		c.run.ledger.note(a.Kind, "rolled back")
		return
	}
	c.run.ledger.note(a.Kind, how.String())
	if err != nil {
		c.run.complaint(a.Kind, err)
	}
}

// do performs an action. An action without a suitable target returns never.
func (c *client) do(ctx context.Context, nth int, a Action) (outcome, error) {
	l := c.run.ledger
	w := &write{client: c.number, nth: nth, action: a.Kind, user: a.User, life: l.life(a.User)}
	switch a.Kind {
	case "remember", "rows", "repeat", "again", "common", "working":
		return c.remember(ctx, w, a)
	case "merge", "unmerge", "erase merged":
		return c.merge(ctx, a)
	case "feedback", "instruction", "intention", "skill":
		return c.learn(ctx, w, a)
	case "end":
		return c.end(ctx, a)
	case "answer":
		return c.answer(ctx, w, a)
	case "strategy":
		return c.operate(ctx, a)
	case "say":
		return c.say(ctx, w, a)
	case "sensory":
		for range a.Many {
			m := l.next(a.User)
			w.rows = append(w.rows, &written{mark: m, table: "sensory", id: c.id(),
				content: fmt.Sprintf("opened the page %s", m)})
		}
		return c.write(ctx, w, a, func(tx pgx.Tx) error {
			for _, row := range w.rows {
				if _, err := tx.Exec(ctx, `insert into oxbow.sensory (user_id, id, content) values ($1, $2, $3)`,
					userName(a.User), row.id, row.content); err != nil {
					return err
				}
			}
			return nil
		})
	case "recall", "context":
		return c.recall(ctx, a)
	case "post":
		return c.post(ctx, w, a)
	case "ask":
		return c.ask(ctx, a)
	case "end session":
		return c.endSession(ctx, a.User, a.Pick)
	case "settings":
		return c.transact(ctx, a, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, `insert into oxbow.users (user_id, timezone, language) values ($1, $2, $3)
				on conflict (user_id) do update set timezone = excluded.timezone, language = excluded.language`,
				userName(a.User), []string{"Europe/Lisbon", "Asia/Shanghai", "UTC"}[a.Pick%3],
				[]string{"en", "zh"}[a.Pick%2])
			return err
		})
	case "erase user":
		return c.eraseUser(ctx, a.User)
	case "supersede", "forget", "restore", "erase memory":
		return c.change(ctx, w, a)
	default:
		return c.changeTrait(ctx, a)
	}
}

// transact runs do in a transaction of the action's user.
func (c *client) transact(ctx context.Context, a Action, do func(tx pgx.Tx) error) (outcome, error) {
	return transact(ctx, c.pool, userName(a.User), a.Rollback, do)
}

// write is transact for rows, which it records.
func (c *client) write(ctx context.Context, w *write, a Action, do func(tx pgx.Tx) error) (how outcome, err error) {
	w.outcome, err = c.transact(ctx, a, do)
	c.run.ledger.add(w)
	return w.outcome, err
}

func (c *client) remember(ctx context.Context, w *write, a Action) (outcome, error) {
	l := c.run.ledger
	one := func(m mark, kind, content string) {
		w.rows = append(w.rows, &written{mark: m, table: "memories", kind: kind, id: c.id(), content: content})
	}
	kinds := []string{"fact", "episodic"}
	switch a.Kind {
	case "repeat": // the same fact several times
		m := l.next(a.User)
		for range 1 + a.Many {
			one(m, "fact", fmt.Sprintf(remarks[int(a.Pick)%len(remarks)], m))
		}
	case "again": // the same few events and facts each time
		for i := range a.Many {
			pick := int(a.Pick>>8) + i
			m := mark{a.User, w.life, 80000 + pick%3}
			kind, texts := "episodic", events[m.number%len(events)]
			if m.number%3 == 2 {
				kind, texts = "fact", statements[0]
			}
			one(m, kind, fmt.Sprintf(texts[pick/3%len(texts)], m))
		}
	case "common": // facts that other clients state too
		for i := range a.Many {
			m := mark{a.User, 0, 90000 + (int(a.Pick%20)+i)%20}
			one(m, "fact", fmt.Sprintf(remarks[m.number%len(remarks)], m))
		}
	default:
		for i := range a.Many {
			m := l.next(a.User)
			one(m, kinds[(int(a.Pick>>3)+i)%2], memoryText(m, a.Pick+uint32(i)*2654435761))
		}
	}
	session := ""
	if a.Pick%3 > 0 {
		session = sessionName(w.user, w.life, a.Pick>>4)
	}
	if a.Kind == "working" {
		return c.commitWorking(ctx, w, a)
	}
	memories := make([]oxbow.NewMemory, len(w.rows))
	for i, row := range w.rows {
		memories[i] = oxbow.NewMemory{UserID: userName(w.user), ID: row.id, Content: row.content,
			Type: oxbow.MemoryType(row.kind), SessionID: session, ExternalID: row.id.String()}
	}
	if a.Direct && c.number%2 == 0 && !a.Rollback {
		_, err := c.oxbow.RememberMany(ctx, memories)
		w.outcome = judge(err)
		if w.outcome == unknown { // an application tries again: with an external id that adds nothing
			if _, again := c.oxbow.RememberMany(ctx, memories); again == nil {
				w.outcome, err = acked, nil
			}
		}
		l.add(w)
		return w.outcome, err
	}
	return c.write(ctx, w, a, func(tx pgx.Tx) error {
		if a.Pick%5 < 2 {
			_, err := c.oxbow.WithTx(tx).RememberMany(ctx, memories)
			return err
		}
		for _, m := range memories {
			if _, err := tx.Exec(ctx, `insert into oxbow.memories (user_id, id, memory_type, content, session_id,
				external_id) values ($1, $2, $3, $4, nullif($5, ''), $6)`,
				m.UserID, m.ID, string(m.Type), m.Content, m.SessionID, m.ExternalID); err != nil {
				return err
			}
		}
		return nil
	})
}

// commitWorking commits a working memory. Its memories get ids from the client.
func (c *client) commitWorking(ctx context.Context, w *write, a Action) (outcome, error) {
	session := sessionName(w.user, w.life, a.Pick>>4)
	working, err := oxbow.NewWorkingMemory(userName(w.user), session, 5)
	if err != nil {
		return failed, err
	}
	important := 0.9
	for _, row := range w.rows {
		row.id = uuid.Nil // not known before
		if _, err := working.Add(oxbow.WorkingItem{Content: row.content, Type: oxbow.MemoryType(row.kind),
			Importance: &important}); err != nil {
			return failed, err
		}
	}
	return c.write(ctx, w, a, func(tx pgx.Tx) error {
		items, err := c.oxbow.WithTx(tx).CommitWorkingMemory(ctx, working, oxbow.CommitOptions{})
		if err != nil {
			return err
		}
		for _, item := range items {
			for _, row := range w.rows {
				if row.content == item.Content {
					row.id = item.ID
				}
			}
		}
		return nil
	})
}

func sessionName(user, life int, pick uint32) string {
	return fmt.Sprintf("chat-%d of %s", pick%6, mark{user, life, 0}.ofUser())
}

func (c *client) say(ctx context.Context, w *write, a Action) (outcome, error) {
	l := c.run.ledger
	w.session = sessionName(w.user, w.life, a.Pick>>4)
	var messages []oxbow.NewMessage
	for i := range a.Many {
		m := l.next(a.User)
		row := &written{mark: m, table: "messages", kind: "user", id: c.id(),
			content: messageText(m, a.Pick+uint32(i)*2654435761)}
		if i%3 == 2 {
			row.kind, row.content = "assistant", fmt.Sprintf("I see. Tell me more of %s.", m)
		} else if i == 3 {
			row.content = complaints[a.Pick%2] + row.content
		}
		w.rows = append(w.rows, row)
		messages = append(messages, oxbow.NewMessage{ID: row.id, UserID: userName(w.user), SessionID: w.session,
			Role: row.kind, Content: row.content})
	}
	how, err := c.write(ctx, w, a, func(tx pgx.Tx) error {
		_, err := c.oxbow.WithTx(tx).AddMessages(ctx, messages)
		return err
	})
	if how == acked {
		l.begin(w.user, w.session)
	}
	return how, err
}

func (c *client) endSession(ctx context.Context, user int, pick uint32) (outcome, error) {
	session := c.run.ledger.openSession(user, pick)
	if session == "" {
		return never, nil
	}
	return transact(ctx, c.pool, userName(user), false, func(tx pgx.Tx) error {
		_, err := c.oxbow.WithTx(tx).EndSession(ctx, userName(user), session)
		return err
	})
}

func (c *client) eraseUser(ctx context.Context, user int) (outcome, error) {
	how, err := transact(ctx, c.pool, userName(user), false, func(tx pgx.Tx) error {
		_, err := c.oxbow.WithTx(tx).EraseUser(ctx, userName(user))
		return err
	})
	if how != failed {
		c.run.ledger.endLife(user, how)
	}
	return how, err
}

// recall asks, and checks whose memories it gets.
func (c *client) recall(ctx context.Context, a Action) (outcome, error) {
	user := userName(a.User)
	question := questions[int(a.Pick)%len(questions)]
	var texts []string
	how, err := transact(ctx, c.pool, user, false, func(tx pgx.Tx) error {
		bound := c.oxbow.WithTx(tx)
		if a.Kind == "context" {
			block, err := bound.Context(ctx, oxbow.ContextQuery{UserID: user, Text: question})
			texts = append(texts, block.Text)
			return err
		}
		found, err := bound.Recall(ctx, oxbow.Query{UserID: user, Text: question, Limit: 20})
		for _, m := range found.Memories {
			texts = append(texts, m.Content)
		}
		return err
	})
	if err == nil && c.number%2 == 0 && a.Kind == "recall" {
		// this one reports uses
		if found, err := c.oxbow.Recall(ctx, oxbow.Query{UserID: user, Text: question}); err == nil {
			for _, m := range found.Memories {
				texts = append(texts, m.Content)
			}
		}
	}
	c.requireOwn(a, texts)
	return how, err
}

// requireOwn checks that texts are of the action's user, and of the current life.
func (c *client) requireOwn(a Action, texts []string) {
	user := userName(a.User)
	for _, text := range texts {
		for _, m := range marksIn(text) {
			switch {
			case m.user != a.User:
				c.run.violate(Violation{Check: "isolation", User: user, Where: a.Kind,
					Expected: "texts of this user alone", Found: text})
			case c.run.ledger.isGone(m.user, m.life):
				c.run.violate(Violation{Check: "erased", User: user, Where: a.Kind,
					Expected: "nothing of a life that was erased before", Found: text})
			}
		}
	}
}

// change changes a memory of the user.
func (c *client) change(ctx context.Context, w *write, a Action) (outcome, error) {
	l, user := c.run.ledger, userName(a.User)
	row := l.target(a.User, a.Pick, func(row *written) bool {
		untouched := row.erased <= failed && row.superseded <= failed
		if a.Kind == "restore" {
			return untouched && row.forgotten == acked
		}
		// equal facts are folded, and share what happens to one
		untouched = untouched && row.write.action != "repeat" && (row.write.action != "again" || row.kind != "fact")
		switch a.Kind {
		case "supersede":
			return untouched && row.forgotten == never && row.kind == "fact"
		case "forget":
			return untouched && row.forgotten == never
		}
		return untouched
	})
	if row == nil {
		return never, nil
	}
	var next *written
	if a.Kind == "supersede" {
		m := l.next(a.User)
		next = &written{mark: m, table: "memories", kind: row.kind,
			content: fmt.Sprintf(remarks[int(a.Pick)%len(remarks)], m)}
		w.rows = append(w.rows, next)
	}
	how, err := c.transact(ctx, a, func(tx pgx.Tx) (err error) {
		bound := c.oxbow.WithTx(tx)
		switch a.Kind {
		case "supersede":
			next.id, err = bound.Supersede(ctx, user, row.id, oxbow.Replacement{Content: next.content})
		case "forget":
			err = bound.Forget(ctx, user, row.id, "")
		case "restore":
			err = bound.Restore(ctx, user, row.id)
		case "erase memory":
			_, err = bound.EraseMemory(ctx, user, row.id)
		}
		return err
	})
	switch a.Kind {
	case "supersede":
		w.outcome = how
		l.add(w)
		if how > failed {
			l.set(&row.superseded, how)
		}
	case "forget":
		if how > failed {
			l.set(&row.forgotten, how)
		}
	case "restore":
		switch how {
		case acked:
			l.set(&row.forgotten, failed)
		case unknown:
			l.set(&row.forgotten, unknown)
		}
	case "erase memory":
		if how > failed {
			l.set(&row.erased, how)
			l.erasedHome[a.User] = l.erasedHome[a.User] || lives(row.content)
		}
	}
	return how, err
}

// complaint counts an error of an action by its kind.
func (r *run) complaint(kind string, err error) {
	what := "connection"
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		what = kind + ": " + pg.Code + " " + pg.Message
		if pg.Severity != "ERROR" || pg.Code[:2] == "57" {
			what = "server going down"
		}
	} else if errors.Is(err, context.DeadlineExceeded) {
		what = "no answer in time"
	} else if !faulty(err.Error()) {
		what = kind + ": " + err.Error()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.complaints[what]++
	if r.complaints[what] == 1 {
		r.log.Info("a client's action failed", "action", kind, "error", err)
	}
}

// sleep waits, and reports whether ctx is still valid.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
