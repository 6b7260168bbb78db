package extract

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow/internal/reasoner/lexis"
)

// Where somebody lives and works, in Chinese: read from what follows 我, without the words that skipZh knows.

var (
	// who is meant by 我 and one of these is somebody else
	othersZh  = words.List("others.zh")
	jobOverZh = words.List("job-over.zh")
	newJobZh  = words.List("new-job.zh")
	// what tells that it is not so yet, or of which time is spoken
	notYetZh     = words.List("not-yet.zh")
	intoZh       = words.List("into.zh")
	worksZh      = words.List("works.zh")
	noEmployerZh = words.Set("no-employer.zh")
	dwellingsZh  = words.List("dwellings.zh")
	noRolesZh    = words.List("no-roles.zh")
)

var (
	thenZh  = words.List("then.zh")
	movedZh = words.List("moved.zh")
	hiredZh = words.List("hired.zh")
	leftZh  = words.List("left.zh")
)

// lifeZh reads them from what follows 我.
func lifeZh(rest string, denied bool) (found []attribute) {
	if lexis.ContainsAny(rest, thenZh) {
		return nil
	}
	if with, ok := cutPrefixOf(rest, []string{"和", "跟", "与", "同"}); ok { // 我和女朋友一起住在上海
		i := indexAny(with, []string{"住在", "搬到", "搬去", "搬来", "定居"})
		if i <= 0 || utf8.RuneCountInString(with[:i]) > 10 || strings.ContainsAny(with[:i], "，。,说") {
			return nil
		}
		rest = with[i:]
	}
	if from, ok := strings.CutPrefix(rest, "从"); ok { // 我从北京搬到了上海, 我从腾讯离职了
		i := indexAny(from, leftZh)
		if i <= 0 || utf8.RuneCountInString(from[:i]) > 12 || strings.ContainsAny(from[:i], "，。,") {
			return nil
		}
		if hasPrefixOf(from[i:], []string{"搬走", "搬出", "搬离"}) {
			return homeZh(from[:i], true)
		}
		rest = from[i:]
	}
	if over := prefixOf(rest, jobOverZh); over != "" && !denied {
		if hasPrefixOf(strings.TrimPrefix(strings.TrimPrefix(rest, over), "了"), notYetZh) {
			return nil
		}
		return []attribute{{key: "employer", over: true}, {key: "job", over: true}}
	}
	if p := prefixOf(rest, movedZh); p != "" {
		return homeZh(rest[len(p):], denied)
	}
	if tail, ok := strings.CutPrefix(rest, "跳槽"); ok {
		if into, ok := cutPrefixOf(tail, []string{"到了", "到", "去了", "去", "进了"}); ok {
			if v := employerZh(into); v != "" {
				return []attribute{{key: "employer", value: v}}
			}
		}
	}
	if hasPrefixOf(rest, newJobZh) && !denied && !hasPrefixOf(strings.TrimPrefix(rest, prefixOf(rest, newJobZh)), notYetZh) {
		return []attribute{{key: "employer", over: true}}
	}
	if tail, ok := strings.CutPrefix(rest, "被"); ok { // 我被腾讯录用了
		if i := indexAny(tail, hiredZh); i > 0 && utf8.RuneCountInString(tail[:i]) <= 12 {
			return []attribute{{key: "employer", value: tail[:i]}}
		}
	}
	tail, ok := cutPrefixOf(rest, intoZh)
	if !ok {
		return nil
	}
	if i := strings.Index(tail, "住"); i > 0 && strings.HasPrefix(rest, "在") && !strings.ContainsAny(tail[:i], "，。！,") && utf8.RuneCountInString(tail[:i]) <= 8 && endsZh(tail[i+len("住"):]) {
		return homeZh(tail[:i], denied)
	}
	at := -1
	verb := ""
	for _, w := range worksZh {
		if i := strings.Index(tail, w); i > 0 && (at < 0 || i < at) {
			at, verb = i, w
		}
	}
	if at < 0 || strings.HasPrefix(tail[at+len(verb):], "过") || strings.ContainsAny(tail[:at], "，。！,的不") || utf8.RuneCountInString(tail[:at]) > 12 {
		return nil
	}
	work := employerZh(tail[:at])
	if work != "" {
		key := "employer"
		if onlyPlaceZh(work) {
			key = "workplace"
		}
		found = append(found, attribute{key: key, value: work, denied: denied})
	}
	switch verb {
	case "当", "做", "担任":
		v, ok := roleZh(strings.TrimPrefix(tail[at+len(verb):], "了"))
		if !ok {
			return nil
		}
		a := attribute{key: "job", value: v, denied: denied}
		if len(found) > 0 {
			a.cut = len(tail) - at // counted from the end: the caller knows where that is
		}
		return append(found, a)
	}
	return found
}

func cutPrefixOf(text string, words []string) (rest string, ok bool) {
	p := prefixOf(text, words)
	return text[len(p):], p != ""
}

var afterPlaceZh = words.List("after-place.zh")

// homeZh reads where somebody lives from what follows 住在 or 搬到.
func homeZh(text string, denied bool) []attribute {
	v := valueZh(text)
	for _, end := range afterPlaceZh {
		if i := strings.Index(v, end); i > 0 {
			if strings.HasPrefix(v[i:], "的时候") || strings.HasPrefix(v[i:], "之前") {
				return nil
			}
			v = v[:i]
		}
	}
	v = trimSuffixesZh(v, []string{"来了", "去了", "了", "来", "去", "啦", "这边", "那边"})
	n := utf8.RuneCountInString(v)
	first, _ := utf8.DecodeRuneInString(v)
	switch {
	case n == 0 || n > 16 || strings.ContainsRune("了过着不得", first):
		return nil
	case hasSuffixOf(v, dwellingsZh) && !lexis.ContainsAny(v, citiesZh):
		return []attribute{{key: "dwelling", value: v, denied: denied}}
	}
	return []attribute{{key: "home", value: v, denied: denied}}
}

// employerZh returns for whom somebody works, unless that tells nothing.
func employerZh(text string) string {
	v := trimSuffixesZh(valueZh(text), []string{"了", "那边", "这边", "里", "开始"})
	if n := utf8.RuneCountInString(v); n == 0 || n > 12 || noEmployerZh[v] || hasPrefixOf(v, []string{"了", "过", "今", "明", "哪"}) {
		return ""
	}
	return v
}

// onlyPlaceZh tells whether a value is the name of a place, and no more.
func onlyPlaceZh(v string) bool {
	return slices.Contains(citiesZh, strings.TrimRight(v, "市省")) || hasSuffixOf(v, []string{"市", "省", "县", "村", "镇", "国"})
}

// roleZh returns the occupation that a text begins with.
func roleZh(text string) (string, bool) {
	for _, p := range []string{"一名", "一个", "一位", "了一名", "个", "名"} {
		if rest, ok := strings.CutPrefix(text, p); ok {
			text = rest
			break
		}
	}
	v := valueZh(text)
	n := utf8.RuneCountInString(v)
	if n < 2 || n > 10 || strings.ContainsAny(v, "不说想") || !hasSuffixOf(v, roleEndsZh) || hasSuffixOf(v, noRolesZh) || strings.HasSuffix(v, "人") && n <= 3 {
		return "", false
	}
	return v, true
}

func trimSuffixesZh(v string, ends []string) string {
	for _, end := range ends {
		if rest := strings.TrimSuffix(v, end); rest != "" {
			v = rest
		}
	}
	return v
}

// goesOnSelfZh begin a clause that goes on about the one who was spoken of before it.
var goesOnSelfZh = words.List("goes-on-self.zh")

// aboutSelfZh tells whether a clause that begins with 我 is about the one who speaks, and not about their sister.
func aboutSelfZh(text string) bool {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), "我")
	if !ok {
		return false
	}
	return !hasPrefixOf(skipZh(strings.TrimPrefix(rest, "们")), othersZh)
}
