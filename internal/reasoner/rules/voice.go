package rules

import (
	"strings"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/lexis"
)

// voice is who speaks in a memory.
type voice int

const (
	own      voice = iota // the user, or a record about the user
	recorded              // an app that reports what the user did
	other                 // somebody else, an assistant, or advertising
)

// said is a memory with what is known of its speaker.
type said struct {
	voice voice
	name  string // of the speaker, in a record of a dialogue; else ""
	text  string
	with  string // whom a call or message was exchanged with; else ""
}

// inFirstPerson tells whether somebody writes of themselves as "I".
func (s said) inFirstPerson() bool {
	if s.voice != own || s.name != "" {
		return false
	}
	for _, i := range []string{"I ", "I'", "I’"} {
		if strings.HasPrefix(s.text, i) || strings.Contains(s.text, " "+i) {
			return true
		}
	}
	return strings.Contains(s.text, "我") || strings.Contains(s.text, " my ") || strings.HasPrefix(s.text, "My ") || strings.HasPrefix(s.text, "We ")
}

var selves = lexis.Set("user me i self myself human owner 我 本人 自己 用户")

// listen tells who speaks in each memory. Where nobody speaks but two or more named people in turn, the user keeps the
// record of a dialogue: then a trait names the person that it is of. Otherwise what a named speaker says is no fact about
// the user.
func listen(memories []reasoner.Memory) []said {
	named := map[string]int{}
	for _, m := range memories {
		s := strings.TrimSpace(m.Speaker)
		if s == "" || selves[strings.ToLower(s)] {
			named = nil
			break
		}
		named[s]++
	}
	all := make([]said, len(memories))
	for i, m := range memories {
		speaker := strings.TrimSpace(m.Speaker)
		switch {
		case speaker == "" || selves[strings.ToLower(speaker)]:
			all[i] = source(m.Content)
		case len(named) > 1 && len(named) <= 8 && !machine(speaker):
			all[i] = source(m.Content)
			all[i].name = speaker
		default:
			all[i] = said{voice: other}
		}
	}
	return all
}

var machines = []string{"assistant", "bot", "system", "agent", "gpt", "claude", "model", "助手", "助理", "客服", "系统", "机器人"}

func machine(speaker string) bool {
	lower := strings.ToLower(speaker)
	return lower == "ai" || lexis.ContainsAny(lower, machines)
}

// source tells the user's own words from what apps, shops and other people wrote.
func source(text string) said {
	text = strings.TrimSpace(text)
	s := said{voice: own, text: text}
	switch who, direction, rest := correspondence(text); direction {
	case received:
		s.voice = other
		s.with = who
		if lexis.ContainsAny(rest, []string{"【", "[", "http"}) {
			s.with = ""
		}
		if strings.Contains(rest, "【") && lexis.ContainsAny(rest, reports) && !lexis.ContainsAny(rest, advertising) {
			return said{voice: recorded, text: rest}
		}
		return s
	case sent:
		s.text, s.with = rest, who
		return s
	case call:
		s.text, s.with = "", who
		return s
	}
	if isNotice(text) {
		switch {
		case lexis.ContainsAny(text, ignored), lexis.ContainsAny(text, advertising):
			s.voice = other
		case lexis.ContainsAny(text, reports):
			s.voice = recorded
		default:
			s.voice = other
		}
		return s
	}
	if lower := strings.ToLower(text); lexis.ContainsAny(lower, advertisingEn) {
		s.voice = other
	}
	return s
}

type direction int

const (
	neither direction = iota
	sent
	received
	call
)

// correspondence takes apart what exports of telephones look like: "NAME 接收 TEXT", "NAME 发送 TEXT", "通话 NAME", and
// "From NAME: TEXT", "To NAME: TEXT", "Call with NAME".
func correspondence(text string) (who string, d direction, rest string) {
	for _, p := range []string{"通话 ", "Call with ", "Phone call with "} {
		if name, ok := strings.CutPrefix(text, p); ok && utf8.RuneCountInString(name) <= 24 {
			return strings.TrimSpace(name), call, ""
		}
	}
	head, tail, ok := strings.Cut(text, " ")
	if ok && utf8.RuneCountInString(head) <= 16 {
		verb, rest, _ := strings.Cut(strings.TrimSpace(tail), " ")
		switch verb {
		case "接收", "收到":
			return head, received, rest
		case "发送", "发出":
			return head, sent, rest
		}
	}
	for p, d := range map[string]direction{"From ": received, "To ": sent} {
		if line, ok := strings.CutPrefix(text, p); ok {
			if name, rest, ok := strings.Cut(line, ": "); ok && len(name) <= 32 {
				return name, d, rest
			}
		}
	}
	return "", neither, text
}

// isNotice tells what apps show on a telephone: "APP：TITLE 【APP】TEXT".
func isNotice(text string) bool {
	if strings.HasPrefix(text, "【") {
		return true
	}
	i := strings.Index(text, "：")
	if i <= 0 || i > 60 || strings.ContainsAny(text[:i], "，。！？\n") {
		return false
	}
	return strings.Contains(text, "【") || lexis.ContainsAny(text[i:], []string{"通知", "提醒", "推荐", "您"})
}

var (
	// Words of shops and platforms.
	advertising = strings.Fields("推荐 优惠 限时 促销 秒杀 上新 领券 领取 抢购 特惠 满减 折扣 新品 好评 热门 可能喜欢 可能感兴趣 为您精选 立减 低至 上线 福利 招募 攻略 教程 灵感 榜单 必看 快来")
	// Words by which an app reports what its user did.
	reports = strings.Fields("您已 已完成 打卡 签到 支付成功 成功支付 付款 已预订 已预约 预订成功 预约成功 预定 订单 已记录 已同步 正在阅读 您正在 收藏的 关注的 常去 常买 常点 常听 备份 上传 报名成功 评价")
	// Notices that say nothing of anybody: codes, parcels, banks, machines.
	ignored = strings.Fields("验证码 运单 快递 取件 派送 包裹 还款 账单日 信用卡 尾号 余额 流量 电量 存储空间 系统更新 路况 天气预警 气象 挂号 就诊 体检 门诊")

	advertisingEn = []string{"% off", "limited time", "limited-time", "unsubscribe", "click here", "recommended for you", "verification code", "promo code",
		"special offer", "sponsored", "dear customer", "shop now", "tracking number", "your order has shipped", "free shipping", "buy now", "flash sale", "act now",
		"account balance", "you may also like", "based on your interests"}
)
