package extract

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// records holds the messages of a file of dialogues with questions, and the messages that answer
// one.
type records struct {
	messages [][]reasoner.Message // by session
	gold     map[uuid.UUID]bool
}

// readRecords reads a file for `oxbow eval`: memories, which are used as messages, and questions
// with the memories that answer them.
func readRecords(tb testing.TB, path string) records {
	tb.Helper()
	file, err := os.Open(path)
	require.NoError(tb, err)
	defer file.Close()
	plain, err := gzip.NewReader(file)
	require.NoError(tb, err)
	r := records{gold: map[uuid.UUID]bool{}}
	id := func(user, id string) uuid.UUID { return uuid.NewSHA1(uuid.NameSpaceOID, []byte(user+"\x00"+id)) }
	place := map[string]int{}
	lines := bufio.NewScanner(plain)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var l struct {
			Type, User, ID, Session, Speaker, Role, Content string
			At                                              time.Time
			Gold                                            []string
		}
		require.NoError(tb, json.Unmarshal(lines.Bytes(), &l))
		if l.Type == "question" {
			for _, g := range l.Gold {
				r.gold[id(l.User, g)] = true
			}
			continue
		}
		key := l.User + "\x00" + l.Session
		i, there := place[key]
		if !there {
			i = len(r.messages)
			place[key] = i
			r.messages = append(r.messages, nil)
		}
		r.messages[i] = append(r.messages[i], reasoner.Message{ID: id(l.User, l.ID), Role: l.Role, Speaker: l.Speaker,
			Content: l.Content, Time: l.At})
	}
	require.NoError(tb, lines.Err())
	return r
}

// batches cuts sessions into conversations of 20 new messages with up to 6 earlier ones.
func (r records) batches() []reasoner.Conversation {
	const fresh, earlier = 20, 6
	var all []reasoner.Conversation
	for _, session := range r.messages {
		for at := 0; at < len(session); at += fresh {
			end := min(at+fresh, len(session))
			c := reasoner.Conversation{Now: session[end-1].Time}
			for i := max(0, at-earlier); i < end; i++ {
				m := session[i]
				m.New = i >= at
				c.Messages = append(c.Messages, m)
			}
			all = append(all, c)
		}
	}
	return all
}

// BenchmarkRecords extracts from the file in OXBOW_EXTRACT_RECORDS, and reports the number of
// candidates per message, the number of messages that each cites, and the share of answering
// messages that a candidate cites.
func BenchmarkRecords(b *testing.B) {
	path := os.Getenv("OXBOW_EXTRACT_RECORDS")
	if path == "" {
		b.Skip("OXBOW_EXTRACT_RECORDS names no file")
	}
	r := readRecords(b, path)
	batches := r.batches()
	messages := 0
	for _, s := range r.messages {
		messages += len(s)
	}
	x := New()
	var all []reasoner.Candidate
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		all = all[:0]
		for _, c := range batches {
			found, err := x.Extract(context.Background(), c)
			require.NoError(b, err)
			all = append(all, found.Candidates...)
		}
	}
	b.ReportMetric(float64(b.N)*float64(messages)/b.Elapsed().Seconds(), "messages/s")
	cited := map[uuid.UUID]bool{}
	total := 0
	for _, c := range all {
		total += len(c.Sources)
		for _, id := range c.Sources {
			cited[id] = true
		}
	}
	covered := 0
	for id := range r.gold {
		if cited[id] {
			covered++
		}
	}
	b.ReportMetric(float64(len(all))/float64(messages), "candidates/message")
	b.ReportMetric(float64(total)/float64(len(all)), "sources/candidate")
	b.ReportMetric(float64(len(cited))/float64(messages), "cited")
	b.ReportMetric(float64(covered)/float64(len(r.gold)), "gold-cited")
	if os.Getenv("OXBOW_EXTRACT_SHOW") != "" {
		texts := map[uuid.UUID]string{}
		for _, s := range r.messages {
			for _, m := range s {
				texts[m.ID] = m.Speaker + ": " + m.Content
			}
		}
		for _, c := range all {
			fmt.Printf("%s %s %.2f %s %v %v %s neg=%v src=%d\n   %s: %s\n", c.Type, c.Category, c.Importance, c.Context,
				c.Emotion, c.Entities, c.Time.Format(time.DateOnly), c.Negates, len(c.Sources), c.Speaker, c.Content)
		}
		for id := range r.gold {
			if !cited[id] {
				fmt.Println("MISSED", texts[id])
			}
		}
	}
}

// BenchmarkFact reads one stored fact.
func BenchmarkFact(b *testing.B) {
	var facts []string
	for _, name := range []string{"apart.en.txt", "apart.zh.txt"} {
		for _, l := range linesOf(b, name) {
			facts = append(facts, l[0])
		}
	}
	New().Fact("Lives in Porto", "") // reads the patterns
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		New().Fact(facts[i%len(facts)], "Ada")
	}
}

// BenchmarkStoredSense interprets one stored fact for Resolve.
func BenchmarkStoredSense(b *testing.B) {
	lines := append(linesOf(b, "apart.en.txt"), linesOf(b, "apart.zh.txt")...)
	senseBy("Lives in Porto", "", true) // reads the patterns
	for i := 0; b.Loop(); i++ {
		senseBy(lines[i%len(lines)][0], "Ada", true)
	}
}
