package io.multihead.demo;

import static io.multihead.demo.HeadExhibits.format;

import io.multihead.compute.Compute;
import io.multihead.encoder.Neighbor;
import io.multihead.encoder.SentenceEncoder;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * A panel that searches the corpus. The nearest sentences of some queries and of each sentence are computed when the
 * page is written.
 */
final class SearchExhibit {
    private static final int FOUND = 5;
    /** The number of colors for words of a query, as in the style of the page. */
    private static final int COLORS = 8;

    /** Queries that do not share their main words with the sentences that answer them. */
    private static final List<String> QUERIES = List.of(
            "Who won the competition between a fast and a slow animal?",
            "A small creature saves a big one",
            "Somebody pretends to be ill",
            "Prepare for hard times while you can",
            "A cold reptile hurts the person who rescued it",
            "How to make brothers stop fighting",
            "Savings were stolen by an employee",
            "Disguised as somebody else",
            "Danger shows who is a true companion",
            "A bird deceived by an image",
            "A trader and his sly beast of burden",
            "Greed makes you lose what you have",
            "Choosing a new ruler",
            "Playing a tune for animals that will not listen");

    private final Fables corpus;
    private final float[][] vectors;
    private final float[][] queries;
    /** The matches of the words of the queries and then of the sentences. */
    private final WordMatches matches;

    private SearchExhibit(Compute cpu, SentenceEncoder encoder, Fables corpus) {
        this.corpus = corpus;
        List<String> texts = new ArrayList<>(QUERIES);
        texts.addAll(corpus.sentences());
        matches = new WordMatches(cpu, encoder, texts);
        vectors = encoder.embed(corpus.sentences());
        queries = encoder.embed(QUERIES);
    }

    static Exhibit draw(Compute cpu, SentenceEncoder encoder, Fables corpus) throws IOException {
        return new SearchExhibit(cpu, encoder, corpus).exhibit();
    }

    private Exhibit exhibit() throws IOException {
        List<List<Neighbor>> found = new ArrayList<>();
        for (float[] query : queries) {
            found.add(Neighbor.nearest(query, vectors, FOUND));
        }
        int sameFable = 0;
        for (int i = 0; i < vectors.length; i++) {
            int self = i;
            List<Neighbor> others = Neighbor.nearest(vectors[i], vectors, FOUND + 1).stream()
                    .filter(neighbor -> neighbor.index() != self)
                    .limit(FOUND)
                    .toList();
            found.add(others);
            int nearest = others.getFirst().index();
            sameFable += corpus.titles().get(nearest).equals(corpus.titles().get(i)) ? 1 : 0;
        }
        Neighbor first = found.getFirst().getFirst();
        return new Exhibit(
                "Search by meaning",
                format(
                        "Choose a query, or a sentence of the corpus: the %d nearest of %d sentences, by the cosine of their vectors "
                                + "from %s. Colors and numbers show the word of a sentence that answers a word of the query, by the largest "
                                + "cosine of their token vectors (late interaction, MaxSim). Larger cosines have stronger colors. Words of many sentences "
                                + "are omitted. The corpus: %s. The page contains the results, which were computed when it was written.",
                        FOUND, vectors.length, TrainedModel.NAME, Fables.SOURCE),
                panel(found),
                format(
                        "\"%s\" finds \"%s\" (%.2f). Of all sentences %.0f %% have their nearest other sentence in the same fable; "
                                + "by chance it would be %.0f %%.",
                        QUERIES.getFirst(),
                        corpus.sentences().get(first.index()),
                        first.similarity(),
                        100.0 * sameFable / vectors.length,
                        100 * chance()));
    }

    /** Returns the probability that another random sentence is from the same fable. */
    private double chance() {
        double pairs = 0;
        for (int i = 0; i < vectors.length; i++) {
            String title = corpus.titles().get(i);
            pairs += corpus.titles().stream().filter(title::equals).count() - 1;
        }
        return pairs / vectors.length / (vectors.length - 1);
    }

    private String panel(List<List<Neighbor>> found) throws IOException {
        StringBuilder html =
                new StringBuilder("<div class=\"search\"><label for=\"query\">Query</label> <select id=\"query\">");
        options(html, "Queries", QUERIES, 0);
        options(html, "Sentences of the corpus", corpus.sentences(), QUERIES.size());
        html.append("</select><p id=\"words\">").append(query(0)).append("</p><ol id=\"found\">");
        for (Neighbor neighbor : found.getFirst()) {
            html.append(format(
                    "<li><b>%.2f</b> %s <i>%s</i></li>",
                    neighbor.similarity(),
                    sentence(0, neighbor.index()),
                    Page.escape(corpus.titles().get(neighbor.index()))));
        }
        return html.append("</ol></div><script>const sentences=")
                .append(array(vectors.length, this::sentence))
                .append(";const queryWords=")
                .append(array(found.size(), this::words))
                .append(";const nearest=")
                .append(array(found.size(), query -> nearest(query, found.get(query))))
                .append(';')
                .append(Resources.text("/search.js"))
                .append("</script>")
                .toString();
    }

    private static String array(int count, IntFunction<String> element) {
        return IntStream.range(0, count).mapToObj(element).collect(Collectors.joining(",", "[", "]"));
    }

    /** Returns a sentence and the title of its fable. */
    private String sentence(int index) {
        String text = literal(corpus.sentences().get(index));
        return format("[%s,%s]", text, literal(corpus.titles().get(index)));
    }

    /** Returns the begin and the end of each word of a query. */
    private String words(int query) {
        List<WordMatches.Word> words = matches.words(query);
        return array(
                words.size(),
                i -> format("[%d,%d]", words.get(i).from(), words.get(i).end()));
    }

    /** Returns the sentences that a query finds, their similarities, and their words that answer the query. */
    private String nearest(int query, List<Neighbor> found) {
        return array(found.size(), i -> {
            Neighbor one = found.get(i);
            return format("[%d,\"%.2f\",%s]", one.index(), one.similarity(), answers(query, one.index()));
        });
    }

    /**
     * Returns the answers in a sentence: the word of the query, the begin and the end of the answer, and its similarity
     * in percent.
     */
    private String answers(int query, int sentence) {
        List<WordMatches.Answer> answers = matches.answers(query, QUERIES.size() + sentence);
        return array(answers.size(), i -> {
            WordMatches.Answer answer = answers.get(i);
            WordMatches.Word word = answer.word();
            return format("[%d,%d,%d,%d]", answer.queryWord(), word.from(), word.end(), percent(answer));
        });
    }

    private static int percent(WordMatches.Answer answer) {
        return (int) Math.round(100 * Math.clamp(answer.similarity(), 0, 1));
    }

    private String query(int index) {
        List<WordMatches.Answer> own = new ArrayList<>();
        for (WordMatches.Word word : matches.words(index)) {
            own.add(new WordMatches.Answer(own.size(), word, 1));
        }
        return marked(QUERIES.get(index), own);
    }

    private String sentence(int query, int sentence) {
        return marked(corpus.sentences().get(sentence), matches.answers(query, QUERIES.size() + sentence));
    }

    /**
     * Returns a text in which words that answer have the colors and the numbers of the query's words, as in
     * {@code search.js}.
     */
    private static String marked(String text, List<WordMatches.Answer> answers) {
        StringBuilder html = new StringBuilder();
        int at = 0;
        for (WordMatches.Answer answer : answers) {
            html.append(Page.escape(text.substring(at, answer.word().from())))
                    .append(format(
                            "<mark class=\"w%d\" style=\"--s:%d%%\" title=\"%d %%\">",
                            answer.queryWord() % COLORS, percent(answer), percent(answer)))
                    .append(Page.escape(
                            text.substring(answer.word().from(), answer.word().end())))
                    .append(format("<sup>%d</sup></mark>", answer.queryWord() + 1));
            at = answer.word().end();
        }
        return html.append(Page.escape(text.substring(at))).toString();
    }

    private static void options(StringBuilder html, String group, List<String> texts, int from) {
        html.append("<optgroup label=\"").append(group).append("\">");
        for (int i = 0; i < texts.size(); i++) {
            html.append(format("<option value=\"%d\">%s</option>", from + i, Page.escape(texts.get(i))));
        }
        html.append("</optgroup>");
    }

    /** Returns a JavaScript string that cannot end the script element. */
    private static String literal(String text) {
        return "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"").replace("<", "\\u003c") + "\"";
    }
}
