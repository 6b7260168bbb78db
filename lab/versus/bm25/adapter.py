"""BM25 of tantivy: an index of each user on disk, English stop words and stems, pairs of neighbouring Han characters."""

import re
from pathlib import Path

import tantivy
from protocol import run

WORD = re.compile(r"[\u3400-\u9fff]+|[^\W_\u3400-\u9fff]+")


def words(text):
    found = []
    for word in WORD.findall(text.lower()):
        if word[0] < "\u3400" or len(word) == 1:
            found.append(word)
        else:
            found += [word[i : i + 2] for i in range(len(word) - 1)]
    return found


class Tantivy:
    def __init__(self):
        self.indexes = {}

    def index(self, user):
        if user not in self.indexes:
            builder = tantivy.SchemaBuilder()
            builder.add_text_field("id", stored=True, tokenizer_name="raw")
            builder.add_text_field("body", tokenizer_name="words")
            Path(user).mkdir()
            index = tantivy.Index(builder.build(), path=user)
            self.analyzer = (
                tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
                .filter(tantivy.Filter.stopword("english"))
                .filter(tantivy.Filter.stemmer("english"))
                .build()
            )
            index.register_tokenizer("words", self.analyzer)
            self.indexes[user] = index
        return self.indexes[user]

    def add(self, user, memories):
        writer = self.index(user).writer()
        for m in memories:
            writer.add_document(tantivy.Document(id=m["id"], body=" ".join(words(m["text"]))))
        writer.commit()
        writer.wait_merging_threads()

    def search(self, user, question, limit):
        index = self.index(user)
        index.reload()
        terms = self.analyzer.analyze(" ".join(words(question)))
        should = [(tantivy.Occur.Should, tantivy.Query.term_query(index.schema, "body", t)) for t in terms]
        searcher = index.searcher()
        hits = searcher.search(tantivy.Query.boolean_query(should), limit).hits
        return [searcher.doc(address)["id"][0] for _, address in hits]


run(Tantivy)
