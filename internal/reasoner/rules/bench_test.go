package rules

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/traittest"
)

// written is a batch such as people write: notes, messages, notices, in both languages.
func written(n int) []reasoner.Memory {
	texts := []string{
		"早上绕着湖跑步五公里，回来煮了一碗牛肉面，感觉一整天都有精神。",
		"和小王一起去体育馆打羽毛球，打完在门口吃了烤鱼，聊到很晚。",
		"书香：今日推荐 【书香】为您推荐限时优惠的小说，快来领取",
		"老赵 接收 周末有空吗？一起去水库钓鱼，我带鱼竿。",
		"Went climbing after work with Tom, then pizza at the usual place. I love those evenings, even when my arms hurt.",
		"I'm rather shy, so the dance class took some courage. My sister loves it; I stayed for the music.",
		"我比较内向，周末更愿意一个人在家看书、练字，不喜欢去人多的地方。" + strings.Repeat("今天把书桌收拾了一遍，又把去年的日记拿出来翻了翻。", 8),
		"没有什么特别的事，开了一下午会，项目的进度比预想的慢，晚上加班到九点。",
	}
	all := make([]reasoner.Memory, n)
	start := time.Date(2025, 1, 1, 7, 0, 0, 0, time.UTC)
	for i := range all {
		at := start.Add(time.Duration(i) * 100 * time.Minute)
		all[i] = reasoner.Memory{ID: uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, i)), Content: texts[i%len(texts)],
			Time: at, Session: at.Format(time.DateOnly)}
	}
	return all
}

// BenchmarkBatch reflects on a batch of 200 memories with 400 traits and a clue for every key.
func BenchmarkBatch(b *testing.B) {
	r := New()
	memories := written(200)
	batch := reasoner.Batch{Policies: traittest.Policies.Policies, Now: memories[199].Time, Memories: memories}
	for _, key := range keysOf(memories) {
		clue := reasoner.Clue{Key: key}
		for i := range 24 {
			clue.Seen = append(clue.Seen, reasoner.Sighting{Memory: uuid.New(),
				Time: memories[0].Time.AddDate(0, 0, i-30), Session: fmt.Sprint(i)})
		}
		batch.Clues = append(batch.Clues, clue)
	}
	for i := range 400 {
		batch.Traits = append(batch.Traits, reasoner.Trait{ID: uuid.New(), Key: fmt.Sprintf("do:other%d", i),
			Content: "经常做点别的事", Subtype: "behavior", Stage: "candidate", Confidence: 0.2})
	}
	b.ReportAllocs()
	for b.Loop() {
		_, batch.Found = r.Keys(memories)
		if _, err := r.Reflect(context.Background(), batch); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*200/b.Elapsed().Seconds(), "memories/s")
}
