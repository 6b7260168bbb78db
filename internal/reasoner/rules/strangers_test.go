package rules

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/sensitive"
)

// stranger is an invented person: the expected trait, and the person's statements about it.
type stranger struct {
	name      string
	interests map[string][]string
	noise     []string
}

var noiseZh = []string{
	"上午开周会，讨论下个月的排期。", "打印了两份合同，放在抽屉里。", "下雨，路上堵了四十分钟。", "给车加了油，洗了车。",
	"楼上装修，吵了一上午。", "电脑更新了一晚上。", "换了新的灯泡。", "明天停水，接了两桶水备着。",
}

var noiseEn = []string{
	"Stand-up ran long again, the release slips by a week.", "Your verification code is 441902",
	"Flash sale: running shoes 60% off, shop now",
	"Filled up the car and dropped off the dry cleaning.", "Dentist's office moved the appointment.",
	"The printer jammed twice before lunch.", "Do you want to join the yoga trial?", "She said her brother loves golf.",
	"Rain all day, traffic was awful.", "Paid the electricity bill.", "New light bulbs in the hall.",
	"The neighbours are renovating.", "He keeps talking about his marathon.",
}

var strangers = []stranger{
	{"a retired teacher", map[string][]string{
		"书法":  {"上午临帖两页，毛笔开叉了。", "给邻居写了副对联，书法这事急不得。", "书法课上老师夸我的竖画有力。"},
		"钓鱼":  {"天没亮就去水库钓鱼，三条鲫鱼。", "换了根新鱼竿，周末钓鱼试试。", "和老秦钓鱼，空军。"},
		"象棋":  {"在公园下象棋，连输三盘。", "象棋打谱半小时。", "社区象棋赛进了八强。"},
		"广场舞": {"晚饭后跳广场舞一小时。", "广场舞队换了新曲子。", "领了广场舞的队服。"},
		"豆汁":  {"早上喝了碗豆汁。", "豆汁配焦圈，地道。", "老铺子的豆汁。"},
		"饺子":  {"包了茴香馅的饺子。", "晚上煮饺子。", "冻饺子还有两袋。"},
		"涮羊肉": {"涮羊肉，铜锅的。", "天冷，吃涮羊肉。", "晚餐 涮羊肉 家里"},
		"京剧":  {"听京剧《空城计》。", "戏院看京剧。", "京剧票友会唱了一段。"},
	}, noiseZh},
	{"a student", map[string][]string{
		"吉他":  {"练吉他一小时，换和弦还是卡。", "给吉他换了弦。", "吉他社排练。"},
		"羽毛球": {"羽毛球打到十点。", "和室友打羽毛球。", "羽毛球拍断线了。"},
		"剧本杀": {"周末剧本杀，我是凶手。", "剧本杀通宵了。", "新店的剧本杀不错。"},
		"动漫":  {"补完一季动漫。", "动漫展排队两小时。", "新番动漫开播了。"},
		"螺蛳粉": {"宿舍煮螺蛳粉。", "螺蛳粉加炸蛋。", "螺蛳粉 夜宵 宿舍"},
		"奶茶":  {"奶茶半糖去冰。", "第二杯奶茶。", "排队买奶茶。"},
		"火锅":  {"室友生日吃火锅。", "火锅辣到流泪。", "火锅 聚餐 夜晚"},
		"日语":  {"学日语第五课。", "学日语，背五十音。", "学日语打卡。"},
	}, noiseZh},
	{"a gardener in Leeds", map[string][]string{
		"gardening": {"Spent the morning gardening, the beans are up.", "Weeding the garden before the rain.",
			"Gardening until my back gave up."},
		"chess": {"Lost at chess to Ruth again.", "Chess club moved to Thursdays.", "Solved a chess study over tea."},
		"knitting": {"Knitting a scarf in the evenings.", "Finished knitting the left sleeve.",
			"My knitting bag is full of half-done hats."},
		"fishing": {"Went fishing at dawn, nothing bit.", "Fishing with Tom on the canal.",
			"New line for fishing season."},
		"curry": {"Made a curry, too hot.", "Curry night at ours.", "Leftover curry for lunch."},
		"piano": {"Practised the piano for an hour.", "I love the piano, even out of tune.",
			"New sheet music for the piano."},
		"birdwatching": {"Birdwatching at the reservoir, two herons.", "Birdwatching before breakfast.",
			"Birdwatching with the new binoculars."},
		"dumplings": {"Stew with dumplings.", "We had dumplings at the market.", "My dumplings fell apart."},
	}, noiseEn},
	{"an engineer in Austin", map[string][]string{
		"climbing": {"Climbing after work, sent the purple one.", "Climbing gym was packed.", "Sore from climbing."},
		"guitar":   {"New strings on my guitar.", "Played guitar until midnight.", "Guitar lesson number four."},
		"photography": {"Street photography downtown.", "I'm into film photography lately.",
			"Photography walk with the new lens."},
		"video games": {"Video games with the old crew.", "I love co-op video games.", "One more hour of video games."},
		"tacos":       {"Tacos from the truck.", "We had tacos again.", "Breakfast tacos."},
		"ramen":       {"Ramen on a cold night.", "Tried the new ramen place.", "Homemade ramen, not bad."},
		"cold brew":   {"Cold brew before stand-up.", "Made cold brew overnight.", "Out of cold brew."},
		"surfing":     {"Surfing at the inland park.", "Went surfing with Leo.", "Surfing trip booked."},
	}, noiseEn},
}

// Rules that see one person's interests must see another's: people with other hobbies, who write
// differently, among notices, advertising and other people's words.
func TestOtherPeople(t *testing.T) {
	t.Parallel()
	for _, person := range strangers {
		rng := rand.New(rand.NewPCG(7, 8))
		var names []string
		for name := range person.interests {
			names = append(names, name)
		}
		slices.Sort(names)
		var memories []reasoner.Memory
		for day := range 150 {
			at := later.AddDate(0, 0, day-150).Add(10 * time.Hour)
			for i := range 8 {
				texts := person.noise
				if i < 2 {
					texts = person.interests[names[rng.IntN(len(names))]]
				}
				memories = append(memories, reasoner.Memory{
					ID:      uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, person.name, day, i)),
					Content: texts[rng.IntN(len(texts))],
					Time:    at.Add(time.Duration(i) * time.Hour), Session: at.Format(time.DateOnly),
				})
			}
		}
		l := newLife(t, later)
		l.reflect(memories)
		traits := l.visible()
		all := strings.ToLower(strings.Join(traits, "\n"))
		var missed []string
		for _, name := range names {
			if !strings.Contains(all, strings.TrimSuffix(name, "s")) {
				missed = append(missed, name)
			}
		}
		require.LessOrEqual(t, len(missed), 1, "%s: %v missed in\n%s", person.name, missed, all)
		require.LessOrEqual(t, len(traits), 20, "%s: hardly more than what is there:\n%s", person.name, all)
		for _, trait := range traits {
			_, hit := sensitive.Category(trait)
			require.False(t, hit, trait)
			require.NotRegexp(t, "(?i)验证码|优惠|快递|golf|marathon|瑜伽|yoga", trait, "of others, or of advertising")
		}
	}
}
