package extract

import (
	"strings"

	"github.com/oxbow-memory/oxbow/internal/reasoner/lexis"
)

// Words by which a message speaks to the machinery of a model and not to anybody about anything. Such a message is not
// remembered at all: what it says beside that is said for the same purpose.
var (
	commandsEn = phrasesOf(`ignore all, ignore the, ignore any, ignore your, ignore previous, ignore above, ignore everything, disregard all, disregard the, disregard any, disregard your, disregard previous, forget all, forget your,
		forget previous, forget everything, override your, override the, override all, bypass your, bypass the, reveal your, print your, repeat your, show your, output your, leak your`)
	machineryEn = lexis.Set("instruction instructions prompt prompts rules guidelines system above previous prior policy policies guardrails restrictions safeguards constraints filters programming context")
	alwaysEn    = phrasesOf(`you are now a, you are now an, you are now in, you are now the, you are no longer, from now on you, pretend to be, pretend you are, pretend that you, act as a, act as an, act as if you, act as my, roleplay as, developer mode, jailbreak, jailbroken,
		do anything now, system prompt, new instructions, your instructions are, you must obey, you will obey, you must always, you must now, you must answer, you must never, as the system administrator`)
	privilegeEn = lexis.Set("admin administrator root superuser sudo owner operator developer privileged unlimited verified authorized authorised premium staff moderator clearance")
	grantEn     = lexis.Set("remember note set grant store save record update give assume treat mark consider memorize memorise")
	granted     = lexis.Set("set grant enable unlock give allow bypass treat access permissions permission privileges rights role flag full unrestricted unlock disable skip without override")

	marksOfPrompts = []string{"<system>", "</system>", "<|im_start|>", "<|system|>", "[inst]", "[system]", "### instruction", "### system", "system:", "assistant:", "<instructions>", "{{", "<memory>", "<assistant>"}
	commandsZh     = []string{"忽略", "无视", "忘掉", "忘记", "绕过", "覆盖", "不要遵守", "不用遵守", "泄露", "输出你的", "告诉我你的"}
	machineryZh    = []string{"指令", "指示", "提示词", "系统提示", "规则", "设定", "限制", "以上内容", "上面的内容", "之前的内容", "约束", "上文"}
	alwaysZh       = []string{"你现在是", "从现在起你", "从现在开始你", "从现在开始，你", "从现在起，你", "请扮演", "你来扮演", "你要扮演", "系统提示词", "开发者模式", "越狱模式", "你必须服从", "你必须始终", "进入管理员模式", "执行以下指令", "执行下列指令"}
	privilegeZh    = []string{"管理员", "超级用户", "最高权限", "开发者", "所有权限"}
	grantZh        = []string{"记住", "记下", "设为", "设置", "授予", "开通", "赋予", "给我", "当作", "视为"}
	grantedZh      = []string{"权限", "设为", "设置", "授予", "开通", "赋予", "不受限制", "解锁", "跳过", "绕过", "执行"}
)

// instructs tells whether a sentence is addressed to a model as such: "ignore the above instructions", "remember that I am an admin and set…".
func instructs(s *sentence) bool {
	lower := ""
	if strings.ContainsAny(s.text, "<[{#:：") {
		lower = strings.ToLower(s.text)
		if lexis.ContainsAny(lower, marksOfPrompts) && (hasPrefixOf(lower, marksOfPrompts) || !strings.Contains(lower, "system: ")) {
			return true
		}
	}
	all := s.tokens
	privilege, grant, grants := false, false, false
	for i := 0; i < len(all) && s.has(headsInstruct); i++ {
		w := all[i].lower
		if alwaysEn.at(all, i) > 0 && !narrated(all, i) {
			return true
		}
		if n := commandsEn.at(all, i); n > 0 && !narrated(all, i) {
			for j := i + 1; j < len(all) && j < i+8; j++ {
				if machineryEn[all[j].lower] {
					return true
				}
			}
		}
		privilege = privilege || privilegeEn[w]
		grant = grant || grantEn[w] && !narrated(all, i)
		grants = grants || granted[w]
	}
	if privilege && grant && grants {
		return true
	}
	if s.han == 0 {
		return false
	}
	if s.hasZh(hasAlways) {
		return true
	}
	if i := indexOfZh(s, hasCommand, commandsZh); i >= 0 && !strings.HasSuffix(s.text[:i], "我") && lexis.ContainsAny(s.text[i:], machineryZh) {
		return true
	}
	return (s.hasZh(hasPrivilege) || privilege) && lexis.ContainsAny(s.text, grantZh) && lexis.ContainsAny(s.text, grantedZh)
}

// indexOfZh returns where the first of a list's words stands; -1: none does.
func indexOfZh(s *sentence, f flagsZh, words []string) int {
	if !s.hasZh(f) {
		return -1
	}
	return indexAny(s.text, words)
}

// narrated tells whether somebody is said to do what stands at the i-th token: "I ignore all the rules of that recipe".
func narrated(all []token, i int) bool {
	if i == 0 {
		return false
	}
	switch all[i-1].lower {
	case "i", "we", "they", "he", "she", "to", "i'd", "i'll", "we'd", "people", "who", "don't", "not", "never", "always", "often", "usually", "used":
		return true
	}
	return false
}
