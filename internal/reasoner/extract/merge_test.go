package extract

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// Each group has memories of the same day; those of one text belong together.
func TestMerge(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 12, 13, 0, 0, 0, time.UTC) // a Thursday
	for _, test := range []struct {
		same   []string
		others []string
		text   string
	}{
		{[]string{"Had lentil soup for lunch at my desk", "Lentil soup for lunch at my desk again.",
			"Today I had the lentil soup at my desk for lunch", "I ate lentil soup for lunch at my desk, as usual",
			"For lunch, I had lentil soup at my desk again today", "On 12 November I had lentil soup at my desk for lunch"},
			[]string{"Had tomato soup for lunch at my desk", "Had lentil soup for dinner at my desk",
				"Didn't have lentil soup for lunch at my desk", "Tom had lentil soup for lunch at my desk",
				"Had lentil soup for lunch at her desk", "Had lentil soup for lunch at my desk with Tom",
				"Had two lentil soups for lunch at my desk", "Had lentil soup for lunch at my desk yesterday",
				"Having lentil soup for lunch at my desk tomorrow", "Did I have lentil soup for lunch at my desk?"},
			"Had lentil soup for lunch at my desk"},
		{[]string{"午饭在工位吃了扁豆汤", "今天午饭又在工位吃了扁豆汤。", "我午饭还是在工位吃的扁豆汤", "11月12日午饭在工位吃了扁豆汤"},
			[]string{"午饭在工位吃了番茄汤", "晚饭在工位吃了扁豆汤", "午饭没在工位吃扁豆汤", "小明午饭在工位吃了扁豆汤",
				"昨天午饭在工位吃了扁豆汤", "午饭在食堂吃了扁豆汤"},
			"午饭在工位吃了扁豆汤"},
		{[]string{"中午在公司食堂吃了红烧肉", "在公司食堂中午吃了红烧肉", "我今天中午又在公司食堂吃的红烧肉", "我又在公司食堂中午吃了红烧肉。"},
			[]string{"晚上在公司食堂吃了红烧肉", "中午在公司门口吃了红烧肉", "小明中午在公司食堂吃了红烧肉",
				"在公司食堂中午没吃红烧肉", "在公司食堂吃了红烧肉", "在公司食堂说中午吃红烧肉", "中午在公司食堂说吃红烧肉",
				"在公司请小明家中午吃了红烧肉", "中午在公司请小明家吃了红烧肉"},
			"中午在公司食堂吃了红烧肉"},
		{nil, []string{"Tom called Anna", "Anna called Tom", "Ran 5 km", "Ran 6 km", "Nice!", "Took the train from Ulm to Rome",
			"Took the train from Rome to Ulm", "他打了我两下", "我打了他两下", "好的",
			"张三打了李四", "李四打了张三", "张三在公司打了李四", "李四在公司打了张三", "我在公司打了张三", "张三在公司打了我",
			"张三在公司中午打了李四", "李四在公司中午打了张三", "Ada gave Ben a book", "Ben gave Ada a book",
			"下午在公司取消会议", "在公司取消下午会议", "晚饭吃了午饭剩的菜", "午饭吃了晚饭剩的菜"}, ""},
	} {
		var group []reasoner.Held
		var want []uuid.UUID
		for i, content := range append(append([]string{}, test.same...), test.others...) {
			h := reasoner.Held{ID: uuid.New(), Content: content, Time: at.Add(-time.Duration(i) * time.Minute)}
			if group = append(group, h); i < len(test.same) {
				want = append(want, h.ID)
			}
		}
		all, err := New().Merge(t.Context(), [][]reasoner.Held{group})
		require.NoError(t, err)
		if len(want) == 0 {
			require.Empty(t, all)
			continue
		}
		require.Equal(t, []reasoner.Same{{Memories: want, Content: test.text}}, all)
	}
}
