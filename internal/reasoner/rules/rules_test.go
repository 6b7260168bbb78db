package rules

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRecurring(t *testing.T) {
	t.Parallel()
	l := newLife(t, days("")[0].Time.AddDate(0, 1, 0))
	l.reflect(days("早上去跑步了，五公里", "下班后跑步", "今天又跑步，状态不错"))
	require.Equal(t, []string{"经常跑步"}, l.visible())
}
