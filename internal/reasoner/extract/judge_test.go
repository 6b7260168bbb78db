package extract

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

var reviewDay = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func heldFact(content string, days int) reasoner.Held {
	return reasoner.Held{ID: uuid.New(), Type: "fact", Content: content, Time: reviewDay.AddDate(0, 0, -days)}
}

func judged(t *testing.T, cases ...reasoner.ReviewCase) []reasoner.Judgement {
	t.Helper()
	all, err := New().Judge(t.Context(), reviewDay, cases)
	require.NoError(t, err)
	require.Len(t, all, len(cases))
	return all
}

// Only lasting facts become core, not facts that were only talked about often.
func TestJudgePromotion(t *testing.T) {
	t.Parallel()
	for verdict, facts := range map[reasoner.ReviewVerdict]string{
		reasoner.ReviewPromote: `Her birthday is 10 December
			Ada's birthday is 10 December
			My name is Ada
			The user lives in Porto
			Works at a bakery
			Ada likes ramen
			The user loves hiking
			Ada is allergic to walnuts
			Her mother is called Ines
			Ada promised to call her mother every Sunday
			We agreed to tell each other the truth
			主人喜欢拉面
			主人生日是3月5日
			我叫李雷
			我住在上海
			她的妈妈叫王芳
			主人对花生过敏
			约定每年一起去海边
			答应每天给妈妈打电话`,
		reasoner.ReviewKeep: `Ada is tired today
			Ada feels stressed
			Ada waits for a parcel
			Ada has an interview tomorrow
			Ada plans to visit Rome next month
			Ada talks a lot about football lately
			Ada no longer likes coffee
			Ada bought a lamp
			The user is nervous about the exam
			She promised to bring cake tomorrow
			主人今天很累
			明天要面试
			她最近迷上了攀岩
			她在等快递
			最近总在聊足球
			打算下个月去罗马`,
	} {
		for content := range strings.Lines(facts) {
			content = strings.TrimSpace(content)
			got := judged(t, reasoner.ReviewCase{Fact: heldFact(content, 40), Promotion: true})[0]
			require.Equal(t, verdict, got.Verdict, "%s: %s", content, got.Reason)
			require.NotEmpty(t, got.Reason)
		}
	}
	for _, c := range []struct {
		name string
		is   reasoner.ReviewCase
		want reasoner.ReviewVerdict
	}{
		{"its category", reasoner.ReviewCase{Fact: reasoner.Held{Content: "Ada bought a lamp", Category: reasoner.Identity}},
			reasoner.ReviewPromote},
		{"its topic", reasoner.ReviewCase{Fact: heldFact("Ada bought a lamp", 9), Topic: "promise"}, reasoner.ReviewPromote},
		{"confirmed", reasoner.ReviewCase{Fact: heldFact("Ada bought a lamp", 9), Verified: true}, reasoner.ReviewPromote},
		{"a passing category", reasoner.ReviewCase{Fact: reasoner.Held{Content: "Ada likes ramen",
			Category: reasoner.ShortPreference}}, reasoner.ReviewKeep},
		{"confirmed, but passing", reasoner.ReviewCase{Fact: heldFact("Ada is tired today", 9), Verified: true},
			reasoner.ReviewKeep},
	} {
		c.is.Promotion = true
		require.Equal(t, c.want, judged(t, c.is)[0].Verdict, c.name)
	}
}

// Only facts that were replaced or have passed are deleted.
func TestJudgeDecay(t *testing.T) {
	t.Parallel()
	coffee, passed := heldFact("The user likes coffee", 120), heldFact("Ada is tired today", 120)
	planned := heldFact("Ada plans to visit Rome", 120)
	planned.Time = reviewDay.AddDate(0, 1, 0)
	for _, c := range []struct {
		name string
		is   reasoner.ReviewCase
		want reasoner.ReviewVerdict
	}{
		{"passed", reasoner.ReviewCase{Fact: passed}, reasoner.ReviewDelete},
		{"passed, Chinese", reasoner.ReviewCase{Fact: heldFact("主人今天很累", 120)}, reasoner.ReviewDelete},
		{"still to come", reasoner.ReviewCase{Fact: planned}, reasoner.ReviewKeep},
		{"passing, until later", reasoner.ReviewCase{Fact: passed, Ends: reviewDay.AddDate(0, 1, 0)}, reasoner.ReviewKeep},
		{"passed, confirmed", reasoner.ReviewCase{Fact: passed, Verified: true}, reasoner.ReviewKeep},
		{"replaced", reasoner.ReviewCase{Fact: coffee,
			Related: []reasoner.Held{heldFact("The user no longer likes coffee", 3)}}, reasoner.ReviewDelete},
		{"replaced, Chinese", reasoner.ReviewCase{Fact: heldFact("我喜欢咖啡", 120),
			Related: []reasoner.Held{heldFact("我不喜欢咖啡了", 3)}}, reasoner.ReviewDelete},
		{"replaced, confirmed", reasoner.ReviewCase{Fact: coffee, Verified: true,
			Related: []reasoner.Held{heldFact("The user no longer likes coffee", 3)}}, reasoner.ReviewKeep},
		{"the opposite was earlier", reasoner.ReviewCase{Fact: coffee,
			Related: []reasoner.Held{heldFact("The user no longer likes coffee", 200)}}, reasoner.ReviewKeep},
		{"something else", reasoner.ReviewCase{Fact: coffee,
			Related: []reasoner.Held{heldFact("The user likes tea", 3)}}, reasoner.ReviewKeep},
		{"identity, replaced", reasoner.ReviewCase{Fact: heldFact("The user lives in Lisbon", 120),
			Related: []reasoner.Held{heldFact("The user lives in Porto", 3)}}, reasoner.ReviewKeep},
		{"an allergy", reasoner.ReviewCase{Fact: heldFact("Ada is allergic to walnuts", 1800)}, reasoner.ReviewKeep},
		{"any fact", reasoner.ReviewCase{Fact: heldFact("Ada bought a lamp", 1800)}, reasoner.ReviewKeep},
	} {
		got := judged(t, c.is)[0]
		require.Equal(t, c.want, got.Verdict, "%s: %s", c.name, got.Reason)
	}
}
