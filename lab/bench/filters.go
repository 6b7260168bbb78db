package main

import (
	"fmt"
	"slices"
	"strings"
)

// filters compares recall over 20,000 memories that are all current with the same recall with a filter, at an earlier
// moment, or with half of the memories superseded; and a query of common words with the bare vector query.
func filters(b *bench) {
	memories := b.sized(20_000)
	d, w := b.database("bench_filters"), newWriter(seed)
	texts, alike := w.texts(memories), make([]string, memories)
	for i := range alike {
		alike[i] = w.say("alike", nil)
	}
	d.remember("current", texts)
	d.remember("history", texts)
	d.remember("alike", alike)
	b.embedAll(d)
	d.supersedeHalf("history")
	current := b.questions(w, 8, "current", texts)
	history, common := slices.Clone(current), make([]question, 8)
	for i := range history {
		history[i].user = "history"
	}
	for i := range common {
		text := strings.ReplaceAll(w.say("alike", nil), "I had", "When did I have")
		common[i] = b.question("alike", strings.TrimSuffix(text, ".")+"?")
	}

	const (
		filter   = "recall with a filter / without"
		past     = "recall at an earlier moment / now"
		context  = "select oxbow.context($1, $2, $3)"
		timeline = "select * from oxbow.timeline($1, $2, $3)"
	)
	filtered := func(by string) string { return "select * from oxbow.recall($1, $2, $3, " + by + ")" }
	title := fmt.Sprintf("Over %d memories of one user, each after the same over current memories", memories)
	for _, c := range []struct {
		promise, name, plain, sql string
		questions                 []question
	}{
		{"recall, half superseded / all current", "half superseded", plainRecall, plainRecall, history},
		{past, "valid_as_of mid-2025", plainRecall, filtered("valid_as_of => '2025-07-01'"), current},
		{past, "valid_as_of, half superseded", plainRecall, filtered("valid_as_of => '2025-12-31'"), history},
		{past, "believed_as_of mid-2025", plainRecall, filtered("believed_as_of => '2025-07-01'"), current},
		{filter, "agent of half", plainRecall, filtered("agent => 'first'"), current},
		{filter, "agent of 1 in 100", plainRecall, filtered("agent => 'rare'"), current},
		{filter, "metadata of half", plainRecall, filtered(`metadata_contains => '{"topic": "garden"}'`), current},
		{filter, "contexts of half", plainRecall, filtered("contexts => '{work}'"), current},
		{filter, "agent, half superseded", plainRecall, filtered("agent => 'first'"), history},
		{"context, half superseded / all current", "context(), half superseded", context, context, history},
		{"timeline, half superseded / all current", "timeline(), half superseded", timeline, timeline, history},
	} {
		if !strings.Contains(c.name, b.match) {
			continue
		}
		r := b.compare(title, "ms", b.asking("current", d, c.plain, current), b.asking(c.name, d, c.sql, c.questions))
		b.atMost(fmt.Sprintf("%s, %d memories", c.promise, memories), 1.5, r.ratio(1, 0))
		title = ""
	}
	r := b.compare(fmt.Sprintf("Query of common words over %d memories that resemble each other", memories), "ms",
		b.asking("bare vector query", d, bareVector, common), b.asking("oxbow.recall", d, plainRecall, common))
	b.atMost(fmt.Sprintf("recall by common words / bare vector query, %d memories alike", memories), 4, r.ratio(1, 0))
}

// supersedeHalf supersedes every second memory of a user with its neighbour.
func (d database) supersedeHalf(user string) {
	d.exec(`
		update oxbow.memories m
		   set superseded_by = n.id, expired_at = '2026-01-01', invalid_at = '2026-01-01'
		  from oxbow.memories n
		 where m.user_id = $1 and n.user_id = $1 and m.seq % 2 = 0 and n.memory_type = m.memory_type
		   and n.seq = m.seq + case m.seq % 10 when 8 then -1 else 1 end`, user)
	d.exec("vacuum analyze oxbow.memories")
}
