package worker

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/embedding/embeddingtest"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// lockedBuffer is a buffer that several goroutines write to.
type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

// holding returns the tables that contain a word, other than those of texts: memories, their history, and messages.
func (b *bundle) holding(word string) (tables []string) {
	b.Helper()
	rows, err := b.pool.Query(b.Context(), `
		select c.relname::text from pg_class c
		 where c.relnamespace = 'oxbow'::regnamespace and c.relkind = 'r'
		   and c.relname !~ '^(memories|memory_history|memory_archive|messages)'
		   and (xpath('/row/n/text()', query_to_xml(format(
		     'select count(*) as n from oxbow.%I t where strpos(t::text, %L) > 0', c.relname, $1::text),
		     false, true, '')))[1]::text <> '0'
		 order by 1`, word)
	require.NoError(b, err)
	for rows.Next() {
		var name string
		require.NoError(b, rows.Scan(&name))
		tables = append(tables, name)
	}
	require.NoError(b, rows.Err())
	return tables
}

// A secret that a provider, a model or an error quotes is in no log, and in no table except those of the texts.
func TestQuotedSecretsAreMasked(t *testing.T) {
	b := setup(t)
	var log lockedBuffer
	server := b.remote()
	l := b.listen()
	b.cfg.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	b.cfg.riverLevel = slog.LevelDebug
	s := b.cfg.testReasoner.(*scripted)
	server.Next(embeddingtest.Status(http.StatusInternalServerError, secretText),
		embeddingtest.Status(http.StatusTooManyRequests, secretText))
	server.Always(embeddingtest.Fault{Respond: embeddingtest.Status(http.StatusBadRequest, secretText).Respond,
		If: func(texts []string) bool { return slices.Contains(texts, harmlessOne) }})
	l.before = func(n int, c reasoner.Conversation) (*reasoner.Extraction, error) {
		dropped := []reasoner.Dropped{{What: secretText, Reason: secretText}}
		switch {
		case strings.HasPrefix(c.Messages[0].Content, "event"):
			return &reasoner.Extraction{Dropped: dropped}, nil
		case n == 0:
			return nil, errors.New("cannot read: " + secretText)
		case n == 1:
			return nil, &reasoner.UnavailableError{RetryAfter: time.Second, Err: errors.New(secretText)}
		}
		return nil, &reasoner.AnswerError{Problem: secretText, Answer: secretText}
	}
	s.before = func(n int, _ reasoner.Batch) (*reasoner.Proposals, error) {
		if n == 0 {
			return nil, &reasoner.AnswerError{Problem: secretText}
		}
		return &reasoner.Proposals{Dropped: []reasoner.Dropped{{What: secretText, Reason: secretText}}}, nil
	}
	b.insert("ann", secretText, harmlessOne, "Ann has a boat.")
	b.say("ann", "s", secretText, "fact: Ann has a cat")
	for range 6 {
		b.hurry()
		if err := b.drain(); err != nil {
			require.NotContains(t, err.Error(), "hunter2")
		}
	}
	b.say("ann", "t", "event: Ann sails")
	b.hurry()
	_ = b.drain() // a job waits for its retry
	b.waiting("bob", "tea: green")
	_, _ = b.tryReflect("bob", false) // it reports the failure
	b.reflect("bob")
	shown := map[string]int{
		"messages":          b.count(`oxbow.messages where extract_error like '%[credential]%'`),
		"refusals":          b.count(`oxbow.embedding_refusals where reason like '%[credential]%'`),
		"jobs":              b.count(`oxbow.river_job where errors::text like '%[credential]%'`),
		"dropped proposals": b.count(`oxbow.reflection_cycles where dropped::text like '%[credential]%'`),
		"log":               strings.Count(log.String(), "[credential]"),
	}
	for where, n := range shown {
		require.Positive(t, n, where)
	}
	require.NotContains(t, log.String(), "hunter2")
	require.Empty(t, b.holding("hunter2"))
	require.Zero(t, b.count(`oxbow.messages where extract_error like '%hunter2%'`))
	for _, r := range server.Requests() {
		require.NotContains(t, r.Texts, secretText)
	}
}
