package extract

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
)

// lexicon has the flags of all words that have any.
var lexicon = func() map[string]flags {
	all := map[string]flags{}
	for f, words := range map[flags]map[string]bool{
		isStop: stopEn, isFirst: firstEn, isSecond: secondEn, isKin: kinEn, isPast: pastEn, isNot: notEn, isWork: workEn, isLearning: learningEn, isSocial: socialEn,
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
