// Package pattern finds words and patterns in sentences of English and Chinese. The patterns are data, in text files
// that a linguist can edit; the package is the engine.
//
// # Tokens
//
// A text is a row of tokens: words, numbers, punctuation marks, and single Chinese characters. "I'm 34" is i, 'm, 34;
// 我住在 is 我, 住, 在. A pattern is a row of elements that match tokens, so one pattern language serves both languages. Case
// does not matter. Marks of full width count as those of ASCII, and a space between two Chinese characters is a mark.
//
// # Files
//
//	# a comment
//	[adverb]
//	always
//	really
//	很
//	特别
//
//	[taste] = preference
//	i @adverb* like|love {thing}
//	我 @adverb* 喜欢 {thing}
//	i @adverb* hate {thing} = dislike
//
// A list begins with its name in brackets and has one entry a line, sorted by code point (LC_ALL=C sort). An entry is a
// pattern, and what follows " = " its value; entries without a value have that of the list's first line. If the first
// line has a pattern, each entry stands in the place of its %: "[home] i % in {place}" with the entry "live" is
// "i live in {place}". A backslash before an entry that begins with # or [ says that it is one.
//
// # Elements
//
// Elements are separated by spaces.
//
//	live in       these words, one after the other; 住在 is 住, then 在
//	like|love     one of these
//	climb*  *ing  a word that begins so; that ends so after at least one letter
//	@adverb       an entry of a list, the longest first; @place.* of any list whose name begins with "place."
//	#  #1-31      a number, of some range, in digits or Chinese numerals
//	Aa            a word with a capital letter
//	.             any word or character
//	x?            x may be missing; x is one of the above
//	@x* @x+       any number of entries of a list, or at least one; also .* .+ Aa* Aa+
//	..  ..5  ...  up to three words, up to five, any number, as few as possible; a Chinese character is half a word
//	"?"           text that would otherwise be a sign
//	(a b | c)     one of several patterns; (…)? may be missing
//	^  $          where a clause begins or ends, at a mark or an end of the text
//	^^  $$        where the text begins; where it ends, but for marks
//	>x  !>x       x follows, or does not; the tokens stay for the next element
//	<x  !<x       x precedes, or does not
//	~             what the pattern is about: a name, an activity, whose place the program gives
//	{town}        a value of a kind, as described below
//	{n: #|few}    what the elements match, under a name
//
// Only marks that a pattern names match marks; so "..", "..." and values end at them.
//
// # Values
//
// {town} is the text up to a mark or to where the rest of the pattern matches. Lists describe values of a kind:
//
//	[value.town] = 16     the greatest length, in characters; a word counts as two. Entries: what it does not begin with
//	[value.town.only]     what it begins with, often closed by $: the whole value
//	[value.town.end]      what follows it
//	[value.end]           what follows values of all kinds
//	[value.skip]          what is left out before a value, such as articles
//	[value.cut]           what is left out at its end
//
// # Matches
//
// At each token, the longest match of a list counts. An entry with a value, used as @list in a pattern, is captured
// under the name of that list, and a number under "number". The list "numeral" has the values of Chinese numerals.
//
// The language borrows from the Matcher of spaCy (operators on tokens), GATE's JAPE (lists and patterns in one
// formalism, values as annotations), and duckling and Time-NLP (patterns that yield arithmetic on times).
package pattern
