package chaos

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// mark identifies a text that a run writes: its user, the life of that user (erasing a user ends one), and its number.
// Every text contains its mark, so a check knows of every stored text whether it may exist.
type mark struct{ user, life, number int }

func (m mark) String() string { return fmt.Sprintf("zk%02de%02dn%05d", m.user, m.life, m.number) }

// ofUser returns a mark for texts, such as traits, that come from several texts of a user.
func (m mark) ofUser() string { return fmt.Sprintf("zu%02de%02d", m.user, m.life) }

var markPattern = regexp.MustCompile(`(?i)zk(\d\d)e(\d\d)n(\d{5})|zu(\d\d)e(\d\d)`)

// marksIn returns the marks in a text. The number is -1 in marks made by ofUser.
func marksIn(text string) (marks []mark) {
	number := func(s string) int {
		n, _ := strconv.Atoi(s) // digits, by the pattern
		return n
	}
	for _, m := range markPattern.FindAllStringSubmatch(text, -1) {
		if m[1] != "" {
			marks = append(marks, mark{number(m[1]), number(m[2]), number(m[3])})
		} else {
			marks = append(marks, mark{number(m[4]), number(m[5]), -1})
		}
	}
	return marks
}

func userName(user int) string { return fmt.Sprintf("user-%02d", user) }

// userOf returns the number of a user, or -1 if no run has that user.
func userOf(name string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(name, "user-"))
	if err != nil || name != userName(n) {
		return -1
	}
	return n
}

// topics are habits for reflection to find: a word, a memory that shows the habit, and one that ends it.
var topics = []struct{ word, habit, end string }{
	{"climbing", "Went climbing at the hall", "I no longer go climbing"},
	{"ramen", "I like ramen more than any other soup", "I no longer like ramen"},
	{"running", "Went running along the river before work", "I no longer go running"},
	{"羽毛球", "今天晚上又去打羽毛球了", "我不再打羽毛球了"},
	{"牛肉面", "我很喜欢吃牛肉面", "我不再喜欢牛肉面了"},
	{"钓鱼", "周末去钓鱼，天气很好", "我不再钓鱼了"},
}

var remarks = []string{"Bought a lamp for the desk, order %s", "The parcel %s came at noon", "在仓库里找到了%s号箱子",
	"今天收到了编号%s的包裹", "Met the customer of the contract %s in Hamburg"}

// events and facts are repeated in different words.
var events, statements = [][]string{
	{"Had the soup of kitchen %s for lunch", "For lunch I had the soup of kitchen %s again",
		"Ate soup of kitchen %s for lunch"},
	{"午饭在%s号食堂吃了扁豆汤", "今天午饭又在%s号食堂吃了扁豆汤", "我午饭还是在%s号食堂吃的扁豆汤"},
}, [][]string{{"The cat %s has a red collar", "My cat %s still has the red collar"}}

// towns are places to live in.
var towns = []string{"Lisbon", "Porto", "Bergen", "杭州", "上海", "Kyoto"}

// memoryText makes up the text of a memory.
func memoryText(m mark, pick uint32) string {
	n := int(pick >> 8)
	switch pick % 8 {
	case 0, 1:
		return fmt.Sprintf(remarks[n%len(remarks)], m)
	case 2:
		return fmt.Sprintf([]string{"I live in %s now (%s)", "我现在住在%s（%s）"}[n%2], towns[n%len(towns)], m)
	case 3:
		return fmt.Sprintf("%s (%s)", topics[n%len(topics)].end, m)
	default:
		return fmt.Sprintf("%s (%s)", topics[n%len(topics)].habit, m)
	}
}

// messageText makes up a message. Each is worth a memory.
func messageText(m mark, pick uint32) string {
	n := int(pick >> 8)
	town := towns[n%len(towns)]
	switch pick % 8 {
	case 0, 1:
		return fmt.Sprintf("I bought a bicycle with the number %s.", m)
	case 2, 3:
		return fmt.Sprintf("我在仓库里找到了第%s号箱子。", m)
	case 4:
		return fmt.Sprintf("Yesterday I met customer number %s in Hamburg.", m)
	case 5:
		return fmt.Sprintf("I live in %s now. I also bought the book %s.", town, m)
	case 6:
		return fmt.Sprintf("我现在住在%s。我还买了编号%s的自行车。", town, m)
	default:
		return fmt.Sprintf("I went %s with the team of %s.", []string{"climbing", "running"}[n%2], m)
	}
}

// complaints begin a message about the answer before it.
var complaints = []string{"No, that is wrong. ", "不对，你弄错了。"}

func complains(text string) bool {
	return strings.HasPrefix(text, complaints[0]) || strings.HasPrefix(text, complaints[1])
}

var questions = []string{"where do I live?", "我住在哪里？", "what did I buy?", "我找到了什么箱子？", "do I go climbing?", "羽毛球",
	"which customer did I meet in Hamburg?"}
