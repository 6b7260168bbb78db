package rules

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/pattern"
	"github.com/oxbow-memory/oxbow/internal/traittest"
)

func TestSameInputSameAnswer(t *testing.T) {
	t.Parallel()
	memories := written(200)
	batch := reasoner.Batch{Policies: traittest.Policies.Policies, Now: later, Memories: memories}
	first, err := New().Reflect(context.Background(), batch)
	require.NoError(t, err)
	keys := keysOf(memories)
	require.NotEmpty(t, first.Patterns)
	for range 20 {
		again, err := New().Reflect(context.Background(), batch)
		require.NoError(t, err)
		require.Equal(t, first, again)
		require.Equal(t, keys, keysOf(memories))
	}
	for _, p := range first.Patterns {
		require.Contains(t, keys, p.Key, "whatever is proposed was looked up")
	}
}

// In which order the database gives clues, traits, and memories of one moment must not matter.
func TestOrderDoesNotMatter(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	memories := written(120)
	for i := range memories {
		memories[i].Time = memories[i-i%8].Time
	}
	batch := reasoner.Batch{Policies: traittest.Policies.Policies, Now: later, Memories: memories}
	for _, k := range keysOf(memories) {
		batch.Clues = append(batch.Clues, reasoner.Clue{Key: k,
			Seen: []reasoner.Sighting{{Memory: uuid.New(), Time: later.AddDate(-1, 0, 0), Session: "s"}}})
	}
	summary := func(p reasoner.Proposals) []string {
		var all []string
		for _, n := range p.Patterns {
			var ids []string
			for _, e := range n.Evidence {
				ids = append(ids, e.Memory.String())
			}
			slices.Sort(ids)
			if !n.Tentative { // of what is noted, one memory a day is, and any of them will do
				all = append(all, fmt.Sprint(n.Key, n.Content, n.Context, ids))
			} else {
				all = append(all, n.Key)
			}
		}
		slices.Sort(all)
		return all
	}
	first, err := New().Reflect(context.Background(), batch)
	require.NoError(t, err)
	for range 10 {
		for from := 0; from < len(memories); from += 8 {
			part := batch.Memories[from : from+8]
			rng.Shuffle(8, func(i, j int) { part[i], part[j] = part[j], part[i] })
		}
		rng.Shuffle(len(batch.Clues), func(i, j int) {
			batch.Clues[i], batch.Clues[j] = batch.Clues[j],
				batch.Clues[i]
		})
		again, err := New().Reflect(context.Background(), batch)
		require.NoError(t, err)
		require.Equal(t, summary(first), summary(again))
	}
}

// Somebody who does everything all the time still gets a portrait that can be read.
func TestThereIsAnEnd(t *testing.T) {
	t.Parallel()
	r := New()
	var things []string
	for _, a := range words().activities {
		things = append(things, "今天"+a.zh+"，和小王一起吃了饭")
	}
	for food := range foods() {
		if pattern.HasHan(food) {
			things = append(things, "中午吃了"+food)
		}
	}
	slices.Sort(things)
	for _, everyDays := range []int{1, 5} {
		rng := rand.New(rand.NewPCG(5, 6))
		rng.Shuffle(len(things), func(i, j int) { things[i], things[j] = things[j], things[i] })
		l := newLife(t, later)
		var memories []reasoner.Memory
		for d := range 60 {
			at := later.AddDate(0, 0, d*everyDays-400)
			for i := range 40 {
				text := things[rng.IntN(120)]
				memories = append(memories, reasoner.Memory{ID: uuid.New(), Content: text,
					Time: at.Add(time.Duration(i) * time.Minute * 10), Session: at.Format(time.DateOnly)})
			}
		}
		l.reflect(memories)
		behaviors, others := 0, 0
		var ofKind [kinds]int
		for _, held := range l.traits {
			if !traittest.Policies.StageAt(held.state, l.now).Visible() {
				continue
			}
			for k, name := range kindNames {
				if strings.HasPrefix(held.Key, name+":") {
					ofKind[k]++
				}
			}
			switch {
			case ofCharacter(held.Key):
			case held.Subtype == lifecycle.Behavior:
				behaviors++
			default:
				others++
			}
		}
		require.LessOrEqual(t, behaviors, maxBehaviors)
		for k, n := range ofKind {
			require.LessOrEqual(t, n, most[k], kindNames[k])
		}
		require.LessOrEqual(t, others, behaviors/2+behaviors/4, "each is made of at least two")
		require.Greater(t, len(l.visible()), 10)
	}

	full := reasoner.Batch{Policies: traittest.Policies.Policies, Now: later, Memories: days("去钓鱼", "又去钓鱼", "钓鱼回来"), Visible: maxBehaviors}
	p, err := r.Reflect(context.Background(), full)
	require.NoError(t, err)
	require.True(t, p.Patterns[0].Tentative, "what is not shown counts too")
}

// What was not asked for costs nothing and changes nothing.
func TestOtherCluesDoNotMatter(t *testing.T) {
	t.Parallel()
	batch := reasoner.Batch{Policies: traittest.Policies.Policies, Now: later, Memories: written(50)}
	plain, err := New().Reflect(context.Background(), batch)
	require.NoError(t, err)
	for i := range 5000 {
		batch.Clues = append(batch.Clues, reasoner.Clue{Key: fmt.Sprint("do:other", i)})
	}
	again, err := New().Reflect(context.Background(), batch)
	require.NoError(t, err)
	require.Equal(t, plain, again)
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := New().Reflect(ctx, reasoner.Batch{Policies: traittest.Policies.Policies, Memories: days("跑步")})
	require.ErrorIs(t, err, context.Canceled)
	_, err = New().Review(ctx, reasoner.Case{})
	require.ErrorIs(t, err, context.Canceled)
}

func FuzzReflect(f *testing.F) {
	for _, m := range written(8) {
		f.Add(m.Content, m.Speaker)
	}
	f.Add("", "")
	f.Add("我不再"+strings.Repeat("红烧", 50), "我")
	f.Add("\xe1\xb8"+strings.Repeat("!", 4056)+"\x80", "0")
	f.Add("\xff\xfe 通话 【：】 接收 发送", "\x00")
	f.Add("I'm not no longer never a an very", "Ann")
	f.Add("[image", "system")
	f.Fuzz(func(t *testing.T, content, speaker string) {
		r := New()
		memories := days(content, content, content)
		for i := range memories {
			memories[i].Speaker = speaker
		}
		keys := keysOf(memories)
		batch := reasoner.Batch{Policies: traittest.Policies.Policies, Now: later, Memories: memories,
			Traits: []reasoner.Trait{{ID: uuid.New(), Content: content, Subtype: lifecycle.Behavior,
				Stage: lifecycle.Emerging}}}
		p, err := r.Reflect(context.Background(), batch)
		require.NoError(t, err)
		for _, n := range p.Patterns {
			require.Contains(t, keys, n.Key)
			require.NotEmpty(t, n.Content)
			require.NotEmpty(t, n.Evidence)
		}
		_, err = r.Review(context.Background(), reasoner.Case{Trait: batch.Traits[0],
			Contradicting: []reasoner.Evidence{{Memory: memories[0]}}})
		require.NoError(t, err)
	})
}

// A text without marks is read once, however long it is.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	for _, text := range []string{strings.Repeat("我", 100_000), strings.Repeat("我不喜欢红烧", 20_000),
		strings.Repeat("I'm not a very ", 20_000), strings.Repeat("和王", 50_000), strings.Repeat("【：", 50_000),
		strings.Repeat("[image", 20_000)} {
		keysOf(days(text))
	}
}
