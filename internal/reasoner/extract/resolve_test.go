package extract

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

func resolved(t *testing.T, c reasoner.Candidate, held ...reasoner.Held) reasoner.Resolution {
	t.Helper()
	all, err := New().Resolve(context.Background(), said, []reasoner.Conflict{{Candidate: c, Similar: held}})
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.NotEmpty(t, all[0].Reason)
	return all[0]
}

func TestResolve(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		held, now string
		want      reasoner.Operation
	}{
		{"I like coffee", "I like coffee.", reasoner.Noop},
		{"I like coffee", "I really love coffee", reasoner.Noop},
		{"I like coffee", "I still like coffee", reasoner.Noop},
		{"I live in Lisbon", "I still live in Lisbon!", reasoner.Noop},
		{"I live in Lisbon", "We live in Lisbon now", reasoner.Noop},
		{"My name is Ana", "I'm called Ana", reasoner.Noop},
		{"I don't eat meat", "I do not eat meat", reasoner.Noop},
		{"我喜欢咖啡", "我真的很喜欢咖啡。", reasoner.Noop},
		{"我住在杭州", "我现在还住在杭州", reasoner.Noop},
		{"我叫小雨", "我的名字是小雨", reasoner.Noop},
		{"I like coffee", "As always, I like coffee", reasoner.Noop},
		{"I like drinking coffee", "I still like coffee", reasoner.Noop},
		{"I like coffee", "I still like drinking coffee", reasoner.Noop},
		{"I like playing tennis", "I still like tennis", reasoner.Noop},
		{"I don't drink coffee", "I still don't drink coffee", reasoner.Noop},
		{"我喜欢咖啡", "我依旧喜欢咖啡", reasoner.Noop},
		{"我喜欢喝咖啡", "我还是喜欢咖啡", reasoner.Noop},
		{"我喜欢咖啡", "我一如既往地喜欢喝咖啡", reasoner.Noop},
		{"我喜欢打网球", "我始终喜欢网球", reasoner.Noop},
		{"我是护士", "我还是个护士", reasoner.Noop},

		{"I live in Lisbon", "I live in Porto", reasoner.Update},
		{"I live in Lisbon", "I just moved to Porto", reasoner.Update},
		{"I live in Lisbon", "I don't live in Lisbon any more", reasoner.Update},
		{"My name is Ana", "My name is Anna", reasoner.Update},
		{"I work as a nurse", "I work as a paramedic now", reasoner.Update},
		{"I'm a nurse", "I work as a teacher", reasoner.Update},
		{"I work at a bakery", "I now work at a museum", reasoner.Update},
		{"My phone number is 555 0199", "My phone number is 555 0200", reasoner.Update},
		{"My favourite tea is jasmine", "My favourite tea is oolong", reasoner.Update},
		{"I'm 34 years old", "I turned 35", reasoner.Update},
		{"I'm single", "I'm married", reasoner.Update},
		{"I like coffee", "I don't like coffee any more", reasoner.Update},
		{"I love coffee", "I hate coffee", reasoner.Update},
		{"I don't like olives", "I like olives now", reasoner.Update},
		{"I drink coffee every morning", "I no longer drink coffee", reasoner.Update},
		{"I play tennis", "I gave up tennis", reasoner.Update},
		{"I smoke", "I quit smoking", reasoner.Update},
		{"I have a car", "I no longer have a car", reasoner.Update},
		{"我住在杭州", "我搬到了成都", reasoner.Update},
		{"我住在杭州", "我现在住在成都", reasoner.Update},
		{"我叫小雨", "我叫晓宇", reasoner.Update},
		{"我在腾讯工作", "我在一家小书店工作", reasoner.Update},
		{"我是护士", "我是一名老师", reasoner.Update},
		{"我的手机号是13800001111", "我的手机号换成了13900002222", reasoner.Update},
		{"我最喜欢的颜色是蓝色", "我最喜欢的颜色是绿色", reasoner.Update},
		{"我喜欢喝咖啡", "我不喝咖啡了", reasoner.Update},
		{"我喜欢咖啡", "我不再喜欢咖啡了", reasoner.Update},
		{"我喜欢咖啡", "我讨厌咖啡", reasoner.Update},
		{"我每天抽烟", "我戒烟了", reasoner.Update},
		{"我吃肉", "我不吃肉了", reasoner.Update},

		{"I love strong coffee", "I no longer like coffee", reasoner.Update},
		{"I like dark roasted coffee", "I hate coffee", reasoner.Update},
		{"I have a red car", "I no longer have a car", reasoner.Update},
		{"我喜欢喝冰美式咖啡", "我不喝咖啡了", reasoner.Update},
		{"我喜欢北京烤鸭", "我不喜欢烤鸭了", reasoner.Update},

		{"I live in Lisbon", "Forget that I live in Lisbon", reasoner.Delete},
		{"I'm a nurse", "It's not true that I'm a nurse", reasoner.Delete},
		{"我住在杭州", "忘掉我说的：我住在杭州", reasoner.Delete},

		{"I found box number 320", "I found box number 3200", reasoner.Add},
		{"I like coffee", "I like tea", reasoner.Add},
		{"I like coffee", "I still like tea", reasoner.Add},
		{"I like fish", "I like eating fish", reasoner.Add},
		{"I like tennis", "I still like watching tennis", reasoner.Add},
		{"I like coffee", "I still like strong coffee", reasoner.Add},
		{"我喜欢鱼", "我喜欢吃鱼", reasoner.Add},
		{"我喜欢咖啡", "我还是喜欢茶", reasoner.Add},
		{"我有一只猫", "我还有一只狗", reasoner.Add},
		{"I like coffee", "I don't like tea", reasoner.Add},
		{"I like coffee", "I no longer drink coffee in the office canteen", reasoner.Add},
		{"I like coffee and tea", "I don't like coffee any more", reasoner.Add},
		{"I like tea and coffee", "I don't like coffee any more", reasoner.Add},
		{"I love my sister's dog", "I don't like dogs", reasoner.Add},
		{"I love coffee", "I don't like strong coffee", reasoner.Add},
		{"我喜欢茶和咖啡", "我不喜欢咖啡了", reasoner.Add},
		{"我喜欢儿子的画", "我不喜欢画了", reasoner.Add},
		{"我喜欢咖啡", "我不喜欢冰美式咖啡", reasoner.Add},
		{"I have a dog", "I have a cat", reasoner.Add},
		{"I can play the cello", "I can play the piano", reasoner.Add},
		{"My sister lives in Lisbon", "I live in Porto", reasoner.Add},
		{"Tom likes Ines", "Ines likes Tom", reasoner.Add},
		{"I have 2 sons", "I have 3 sons", reasoner.Add},
		{"My favourite tea is jasmine", "My favourite colour is green", reasoner.Add},
		{"我喜欢咖啡", "我喜欢茶", reasoner.Add},
		{"我喜欢咖啡", "我不喜欢茶", reasoner.Add},
		{"我女儿住在上海", "我住在成都", reasoner.Add},
		{"我会弹吉他", "我会弹钢琴", reasoner.Add},
	} {
		h := reasoner.Held{ID: uuid.New(), Type: "fact", Content: c.held, Time: said.AddDate(0, -2, 0),
			Similarity: 0.97}
		r := resolved(t, reasoner.Candidate{Type: "fact", Content: c.now}, h)
		require.Equal(t, c.want, r.Operation, "%s, then %s: %s", c.held, c.now, r.Reason)
		if c.want == reasoner.Add {
			require.Zero(t, r.Target)
		} else {
			require.Equal(t, h.ID, r.Target)
		}
	}
}

// Events of different days are different, however similar.
func TestSameEventOfAnotherDay(t *testing.T) {
	t.Parallel()
	c := reasoner.Candidate{Type: "episodic", Content: "I went running by the river"}
	held := reasoner.Held{ID: uuid.New(), Type: "episodic", Content: c.Content, Time: said.AddDate(0, 0, -1),
		Similarity: 1}
	require.Equal(t, reasoner.Add, resolved(t, c, held).Operation)
	c.Time = held.Time.Add(2 * time.Hour)
	require.Equal(t, reasoner.Noop, resolved(t, c, held).Operation)
	require.Equal(t, reasoner.Add, resolved(t, reasoner.Candidate{Type: "episodic",
		Content: "I gave up running by the river", Time: held.Time}, held).Operation, "an event stays what it was")
}

// Statements of one person do not affect another.
func TestSpeakersApart(t *testing.T) {
	t.Parallel()
	held := reasoner.Held{ID: uuid.New(), Type: "fact", Content: "I live in Lisbon", Speaker: "Ana", Time: said}
	require.Equal(t, reasoner.Add, resolved(t, reasoner.Candidate{Type: "fact", Content: "I live in Porto",
		Speaker: "Rui"}, held).Operation)
	require.Equal(t, reasoner.Add, resolved(t, reasoner.Candidate{Type: "fact", Content: "I live in Lisbon"},
		held).Operation)
	require.Equal(t, reasoner.Update, resolved(t, reasoner.Candidate{Type: "fact", Content: "I live in Porto",
		Speaker: "ana"}, held).Operation)
}

// A memory with more statements than the changed one is not replaced: the rest would be lost.
func TestMoreThanTheValue(t *testing.T) {
	t.Parallel()
	held := reasoner.Held{ID: uuid.New(), Type: "fact",
		Content: "I live in Lisbon. On Sundays the whole family comes for lunch.", Time: said}
	require.Equal(t, reasoner.Add, resolved(t, reasoner.Candidate{Type: "fact", Content: "I live in Porto"},
		held).Operation)
}

func TestResolveManyAndNone(t *testing.T) {
	t.Parallel()
	other := reasoner.Held{ID: uuid.New(), Type: "fact", Content: "I like tea", Time: said, Similarity: 0.99}
	same := reasoner.Held{ID: uuid.New(), Type: "fact", Content: "I like coffee", Time: said, Similarity: 0.8}
	all, err := New().Resolve(context.Background(), said, []reasoner.Conflict{
		{Candidate: reasoner.Candidate{Type: "fact", Content: "I like coffee"}, Similar: []reasoner.Held{other, same}},
		{Candidate: reasoner.Candidate{Type: "fact", Content: "I like coffee"}},
		{Candidate: reasoner.Candidate{Type: "fact", Content: ""}, Similar: []reasoner.Held{same, {Content: ""}}},
	})
	require.NoError(t, err)
	require.Len(t, all, 3)
	require.Equal(t, reasoner.Resolution{Operation: reasoner.Noop, Target: same.ID, Reason: all[0].Reason}, all[0])
	require.Equal(t, reasoner.Add, all[1].Operation)
	require.Equal(t, reasoner.Add, all[2].Operation)

	over, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = New().Resolve(over, said, []reasoner.Conflict{{}})
	require.ErrorIs(t, err, context.Canceled)
	_, err = New().Extract(over, reasoner.Conversation{Messages: []reasoner.Message{{}}})
	require.ErrorIs(t, err, context.Canceled)
}
