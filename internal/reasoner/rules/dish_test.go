package rules

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDishes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"螺蛳粉真香": "螺蛳粉", "重庆火锅": "重庆火锅", "羊肉泡馍馆": "羊肉泡馍", "锅包肉": "锅包肉",
		"梅干菜扣肉": "梅干菜扣肉", "龙井虾仁": "龙井虾仁", "臭鳜鱼": "臭鳜鱼", "过桥米线": "过桥米线", "酸汤鱼": "酸汤鱼", "番茄牛腩": "番茄牛腩",
		"三文鱼刺身": "三文鱼刺身", "韩式烤肉": "韩式烤肉", "石锅拌饭": "石锅拌饭", "珍珠奶茶": "珍珠奶茶", "抹茶拿铁": "抹茶拿铁", "潮汕牛肉火锅": "潮汕牛肉火锅",
		"招牌牛肉拉面": "牛肉拉面", "自制泡芙": "泡芙", "韭菜鸡蛋饺子": "韭菜鸡蛋饺子", "猪肉白菜饺子": "猪肉白菜饺子", "西湖醋鱼": "西湖醋鱼", "广式早茶": "早茶",
		"清蒸鲈鱼": "清蒸鲈鱼", "手冲咖啡馆": "手冲咖啡", "时令蔬菜": "时令蔬菜", "蒜蓉小龙虾": "蒜蓉小龙虾",
		"周五火锅": "火锅", "吃了同事蛋糕": "蛋糕", "讨厌榴莲": "榴莲", "点了外卖披萨": "披萨", "一杯免费咖啡": "咖啡", "街角面包店": "面包", "一家网红火锅": "火锅",
		"玉米排骨汤": "玉米排骨汤", "牛肉": "", "米饭": "", "热汤": "", "水果": "",
	} {
		require.Equal(t, want, firstDish(text).id, text)
	}
	for _, text := range []string{"红包", "面料", "面积很大", "包装", "菜单", "酒店", "串门", "橘子洲", "小面积", "手工面料", "运动", "新鲜菜单", "茶具",
		"", "面试"} {
		require.Empty(t, firstDish(text).id, text)
	}
	require.Equal(t, regional, firstDish("日式拉面").rank)
	require.Equal(t, everyday, firstDish("馒头").rank)
	require.Equal(t, finding{kind: eating, id: "taco", surface: "tacos", group: "noodles"}, firstDish("tacos"))
}

// firstDish returns the first dish that a text names.
func firstDish(text string) finding {
	f := finder{recorded: true}
	for _, n := range f.read(sentences(text)) {
		if n.kind == eating {
			return n
		}
	}
	return finding{}
}
