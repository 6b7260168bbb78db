package extract

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

func TestRelations(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, relation, to string }{
		{"My sister Anna lives in Porto.", "sister", "Anna"},
		{"My best friend Tom, who lives in Rome, visited me yesterday.", "friend", "Tom"},
		{"My wife's name is Ines.", "wife", "Ines"},
		{"I have a sister called Anna.", "sister", "Anna"},
		{"Our dog Max is three years old.", "pet", "Max"},
		{"I adopted a cat named Mia last week.", "pet", "Mia"},
		{"I work at Google.", "works_at", "Google"},
		{"I live in Lisbon.", "lives_in", "Lisbon"},
		{"I study at Harvard University.", "studies_at", "Harvard University"},
		{"I own a Tesla.", "owns", "Tesla"},
		{"Yesterday I met Anna, my old boss, in Porto and we talked about the project for hours.", "boss", "Anna"},
		{"我姐姐小红在北京工作。", "sister", "小红"},
		{"我的女儿叫朵朵，今年三岁。", "daughter", "朵朵"},
		{"我最好的朋友王小明昨天来看我了。", "friend", "王小明"},
		{"我养了一只狗叫豆豆。", "pet", "豆豆"},
		{"我住在杭州。", "lives_in", "杭州"},
		{"我在华为工作。", "works_at", "华为"},
		{"我老婆叫小美。", "wife", "小美"},
	} {
		require.Equal(t, []reasoner.Relation{{Relation: c.relation, To: c.to}}, only(t, c.text).Relations, c.text)
	}
	for _, none := range []string{
		"I don't live in Berlin any more.",
		"Yesterday I had lunch with Tom and Anna in Porto.",
		"My friend's sister Anna moved to Rome last week with her children.",
		"昨天我和小王去了西湖，风景特别美。",
		"我不在华为工作了。",
	} {
		for _, one := range extracted(t, talking("user: "+none)).Candidates {
			require.Empty(t, one.Relations, none)
		}
	}
}
