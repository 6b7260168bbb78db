package extract

import "strings"

// flags say what a word of English may be, so that a sentence looks each of its words up once.
type flags uint32

const (
	isStop      flags = 1 << iota
	isFirst           // I, my, we
	isSecond          // you
	isKin             // family, friends, pets
	isPast            // went, bought
	isFeeling         // of feelingsEn
	isNot             // not, never
	headsOrder        // the first word of a phrase of orderEn
	headsFuture       // and so on
	headsSupposed
	headsOver
	headsInstruct
	headsLasting
	headsAnchor
	isWork
	isLearning
	isSocial
	isPersonal
)

// lexicon has the flags of all words that have any.
var lexicon = func() map[string]flags {
	all := map[string]flags{}
	for f, words := range map[flags]map[string]bool{
		isStop: stopEn, isFirst: firstEn, isSecond: secondEn, isKin: kinEn, isPast: pastEn, isNot: notEn, isWork: workEn, isLearning: learningEn, isSocial: socialEn, isPersonal: personalEn,
		headsAnchor: anchorsEn, headsInstruct: privilegeEn,
	} {
		for w := range words {
			all[w] |= f
		}
	}
	for w := range feelingsEn {
		all[w] |= isFeeling
	}
	for w := range becameEn {
		all[w] |= headsAnchor
	}
	for _, heads := range []struct {
		flag    flags
		phrases phrases
	}{
		{headsOrder, orderEn}, {headsFuture, futureEn}, {headsSupposed, supposedEn}, {headsOver, overEn}, {headsInstruct, commandsEn}, {headsInstruct, alwaysEn}, {headsLasting, lastingEn},
		{headsAnchor, momentsEn}, {headsAnchor, allergyEn},
	} {
		for w := range heads.phrases {
			all[w] |= heads.flag
		}
	}
	return all
}()

// has tells whether a word of a sentence has a flag.
func (s *sentence) has(f flags) bool { return s.flags&f != 0 }

// flagsZh say which lists of Chinese words a text has words of, so that it is gone through once.
type flagsZh uint32

const (
	hasFirst flagsZh = 1 << iota
	hasPast
	hasFuture
	hasKin
	hasAsking
	hasTaste
	hasLately
	hasSkill
	hasHave
	hasAllergy
	hasPlan
	hasMoment
	hasSupposed
	hasOver
	hasLasting
	hasAlways
	hasCommand
	hasPrivilege
	hasWork
	hasLearning
	hasSocial
	hasPersonal
	hasFeeling
)

type wordZh struct {
	form  string
	flags flagsZh
}

// lexiconZh has the words by their first character.
var lexiconZh = func() map[rune][]wordZh {
	all := map[rune][]wordZh{}
	add := func(f flagsZh, words []string) {
		for _, w := range words {
			r, _ := decode(w)
			if isHan(r) {
				all[r] = append(all[r], wordZh{w, f})
			}
		}
	}
	add(hasFirst, firstZh)
	add(hasPast, pastZh)
	add(hasFuture, futureZh)
	add(hasKin, kinZh)
	add(hasAsking, askingZh)
	add(hasTaste, tastesZh)
	add(hasLately, latelyZh)
	add(hasSkill, skillsZh)
	add(hasHave, havesZh)
	add(hasAllergy, allergyZh)
	add(hasPlan, plansZh)
	add(hasMoment, momentsZh)
	add(hasSupposed, supposedZh)
	add(hasOver, overZh)
	add(hasLasting, lastingZh)
	add(hasAlways, alwaysZh)
	add(hasCommand, commandsZh)
	add(hasPrivilege, privilegeZh)
	add(hasWork, workZh)
	add(hasLearning, learningZh)
	add(hasSocial, socialZh)
	add(hasPersonal, personalZh)
	for w := range feelingsZh {
		add(hasFeeling, []string{w})
	}
	return all
}()

// flagsOfZh goes through a text of Chinese.
func flagsOfZh(text string) flagsZh {
	var found flagsZh
	for i, r := range text {
		if r < 0x3400 {
			continue
		}
		for _, w := range lexiconZh[r] {
			if found&w.flags == 0 && strings.HasPrefix(text[i:], w.form) {
				found |= w.flags
			}
		}
	}
	return found
}

// hasZh tells whether a sentence has a word of some lists.
func (s *sentence) hasZh(f flagsZh) bool { return s.zh&f != 0 }
