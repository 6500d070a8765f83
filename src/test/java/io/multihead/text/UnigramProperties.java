package io.multihead.text;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.internal.text.unigram.CharacterMap;
import io.multihead.internal.text.unigram.PieceArray;
import java.nio.charset.StandardCharsets;
import java.text.Normalizer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

/** Random texts, pieces and scores are compared with a plain implementation. */
class UnigramProperties {
    private static final double PENALTY = 10;
    private static final List<String> PARTS = List.of(
            "a",
            "b",
            "ab",
            "e",
            "f",
            "\u0301",
            "\u0323",
            "\u00aa",
            "\ufb01",
            "\ufe4f",
            "\u5b57",
            "\ud83d\ude00",
            "\u00e9",
            " ",
            "  ",
            "\n",
            "\r\n",
            "\u3000",
            "\u2581",
            "\u200b",
            "z",
            "\u4e00",
            "\ud800",
            "\u00a9\u200d");

    @Provide
    Arbitrary<String> texts() {
        return Arbitraries.of(PARTS).list().ofMaxSize(20).map(parts -> String.join("", parts));
    }

    /** Pieces after the first four pieces of XLM-R. */
    @Provide
    Arbitrary<List<String>> pieces() {
        Arbitrary<String> piece = Arbitraries.of("a", "b", "e", "\u2581", "\u5b57", "\ud83d\ude00", "\u00e9", "f", "i")
                .list()
                .ofMinSize(1)
                .ofMaxSize(4)
                .map(parts -> String.join("", parts));
        return piece.list().uniqueElements().ofMinSize(1).ofMaxSize(40).map(UnigramProperties::withFirst);
    }

    private static List<String> withFirst(List<String> pieces) {
        Set<String> all = new LinkedHashSet<>(List.of("<s>", "<pad>", "</s>", "<unk>"));
        all.addAll(pieces);
        return List.copyOf(all);
    }

    @Provide
    Arbitrary<List<Double>> scores() {
        return Arbitraries.of(-0.1, -0.3, -0.7, -1.1, -2.2, -9.0, 0.5).list().ofSize(60);
    }

    private static double[] scores(List<Double> given, int count) {
        double[] scores = new double[count];
        for (int id = 4; id < count; id++) {
            scores[id] = given.get(id);
        }
        return scores;
    }

    private static String wellFormed(String text) {
        return new String(text.getBytes(StandardCharsets.UTF_8), StandardCharsets.UTF_8).replace('?', '\ufffd');
    }

    @Property(tries = 2000)
    void wordsAreDividedAsDefined(
            @ForAll("pieces") List<String> pieces, @ForAll("scores") List<Double> given, @ForAll("texts") String text) {
        double[] scores = scores(given, pieces.size());
        double unknown = Arrays.stream(scores).min().getAsDouble() - PENALTY;
        String words = "{\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"WhitespaceSplit\"}, "
                + UnigramFixture.metaspace("") + "]}";
        String normal = PlainUnigram.byClusters(wellFormed(text), UnigramFixture.CHARACTERS);
        List<Integer> expected = new ArrayList<>();
        for (String word : normal.trim().split("\\s+")) {
            for (String part : (word.startsWith("\u2581") ? word : "\u2581" + word).split("(?=\u2581)")) {
                if (!word.isEmpty()) {
                    expected.addAll(PlainUnigram.divide(part, pieces, scores, unknown, false));
                }
            }
        }
        check(expected, UnigramFixture.json(UnigramFixture.precompiled(), words, pieces, scores, true), text);

        List<Integer> whole = new ArrayList<>();
        String marked = normal.replace(' ', '\u2581');
        if (!marked.isEmpty()) {
            String prefixed = marked.startsWith("\u2581") ? marked : "\u2581" + marked;
            whole.addAll(PlainUnigram.divide(prefixed, pieces, scores, unknown, false));
        }
        String metaspace = UnigramFixture.metaspace(", \"split\": false");
        check(whole, UnigramFixture.json(UnigramFixture.precompiled(), metaspace, pieces, scores, false), text);
    }

    @Provide
    Arbitrary<String> punctuated() {
        List<String> parts = new ArrayList<>(PARTS);
        parts.addAll(List.of(
                "!", "a.b", "~~", "\\", "\"", "_", "%", "\u00a0", "\t", " , ", "\u2014", "\u4e2d", "A", "\u00c9",
                "\u0130"));
        return Arbitraries.of(parts).list().ofMaxSize(20).map(all -> String.join("", all));
    }

    /**
     * In model2vec's files, spaces around punctuation are added to the output of another normalizer. This output is not
     * divided before pieces are looked up.
     */
    @Property(tries = 2000)
    void normalizersOfModel2VecDoAsDefined(
            @ForAll("pieces") List<String> pieces,
            @ForAll("scores") List<Double> given,
            @ForAll("punctuated") String text,
            @ForAll boolean bert) {
        double[] scores = scores(given, pieces.size());
        double unknown = Arrays.stream(scores).min().getAsDouble() - PENALTY;
        String first =
                bert ? asBert(wellFormed(text)) : PlainUnigram.byClusters(wellFormed(text), UnigramFixture.CHARACTERS);
        String normal = first.replaceAll("([!-/:-@\\[-`{-~])", " $1 ")
                .replaceAll("(?U)\\s+", " ")
                .replaceAll("^ | $", "");
        List<Integer> expected = new ArrayList<>();
        String marked = normal.replace(' ', '\u2581');
        if (!marked.isEmpty()) {
            String prefixed = marked.startsWith("\u2581") ? marked : "\u2581" + marked;
            expected.addAll(PlainUnigram.divide(prefixed, pieces, scores, unknown, false));
        }
        String normalizer = UnigramFixture.model2vec(bert ? UnigramFixture.bert() : UnigramFixture.precompiled());
        String metaspace = UnigramFixture.metaspace(", \"split\": false, \"prepend_scheme\": \"always\"");
        check(expected, UnigramFixture.json(normalizer, metaspace, pieces, scores, false), text);
    }

    /** Returns the output of the crate's BERT normalizer, for the characters of these texts. */
    private static String asBert(String text) {
        StringBuilder cleaned = new StringBuilder();
        text.codePoints().forEach(c -> {
            boolean isSpace = Character.isSpaceChar(c) || c >= '\t' && c <= '\r';
            boolean isIdeograph = c >= 0x4e00 && c <= 0x9fff;
            if (isSpace) {
                cleaned.append(' ');
            } else if (c != 0xfffd && Character.getType(c) != Character.FORMAT) {
                cleaned.append(isIdeograph ? " " + Character.toString(c) + " " : Character.toString(c));
            }
        });
        return Normalizer.normalize(cleaned, Normalizer.Form.NFD)
                .replaceAll("\\p{Mn}", "")
                .toLowerCase(Locale.ROOT);
    }

    private static void check(List<Integer> expected, String json, String text) {
        Tokenizer tokenizer = Tokenizers.ofJson(json.getBytes(StandardCharsets.UTF_8));
        assertEquals(
                expected,
                Arrays.stream(tokenizer.encode(PromptText.template(text)))
                        .boxed()
                        .toList());
        assertEquals(expected, Arrays.stream(tokenizer.encode(text)).boxed().toList());
    }

    /** Two divisions have the same number of pieces, and sums of scores that differ only by roundings. */
    @Example
    void unknownCharactersRoundTheirSums() {
        List<String> pieces = List.of("<s>", "<pad>", "</s>", "<unk>", "\u2581\u2581");
        sentencesAreDividedAsDefined(pieces, Collections.nCopies(60, -0.1), "\u2581\ufe4f");
    }

    @Property(tries = 2000)
    void sentencesAreDividedAsDefined(
            @ForAll("pieces") List<String> pieces, @ForAll("scores") List<Double> given, @ForAll("texts") String text) {
        double[] scores = scores(given, pieces.size());
        float[] floats = new float[scores.length];
        List<TokenType> types = new ArrayList<>();
        for (int id = 0; id < floats.length; id++) {
            floats[id] = (float) scores[id];
            scores[id] = floats[id];
            types.add(id == 3 ? TokenType.UNKNOWN : id < 4 ? TokenType.CONTROL : TokenType.NORMAL);
        }
        float lowest = (float) Arrays.stream(scores).skip(4).min().getAsDouble();
        CharacterMap map = CharacterMap.of(UnigramFixture.map(UnigramFixture.CHARACTERS), "map");
        Tokenizer tokenizer = new SentencePieceUnigram(pieces, types, floats, map, true, true, false)
                .tokenizer(new SpecialIds(0, 2, 3, 1, Set.of(2), SpecialIds.AddedSpecialTokens.BOTH));
        String normal = PlainUnigram.bySequences(wellFormed(text), UnigramFixture.CHARACTERS);
        List<Integer> expected = PlainUnigram.divide(normal, pieces, scores, (float) (lowest - PENALTY), true);
        assertEquals(expected, Arrays.stream(tokenizer.encode(text)).boxed().toList());
    }

    /** Offsets are in the order of the text, and a token that does not continue a word begins with a mark. */
    @Property(tries = 1000)
    void offsetsAreInOrder(@ForAll("texts") String text) {
        EncoderTokenizer tokenizer =
                Tokenizers.ofEncoderJson(UnigramFixture.xlmr().getBytes(StandardCharsets.UTF_8));
        TokenBuffer buffer = new TokenBuffer();
        String whole = text + "<mask>" + text;
        tokenizer.append(whole, buffer);
        int before = 0;
        for (int i = 0; i < buffer.size(); i++) {
            assertTrue(buffer.start(i) >= before && buffer.end(i) > buffer.start(i), "token " + i);
            assertTrue(buffer.end(i) <= whole.length());
            before = buffer.start(i);
            boolean marked = tokenizer.token(buffer.id(i)).startsWith("\u2581");
            assertTrue(!(marked && buffer.continuesWord(i)), "token " + i);
        }
        int[] ids = tokenizer.encodeWithSpecialTokens(whole);
        assertArrayEquals(buffer.ids(), Arrays.copyOfRange(ids, 1, ids.length - 1));
    }

    /** A prefix of a random text is found in the array if and only if it is a piece. */
    @Property(tries = 500)
    void anArrayHasItsPiecesAndNoOthers(@ForAll("pieces") List<String> pieces, @ForAll("texts") String text) {
        Map<String, Integer> values = new HashMap<>();
        List<PieceArray.Entry> entries = new ArrayList<>();
        for (String piece : pieces) {
            values.put(piece, entries.size());
            entries.add(new PieceArray.Entry(piece.getBytes(StandardCharsets.UTF_8), entries.size()));
        }
        PieceArray array = new PieceArray(entries);
        byte[] bytes = (text + pieces.get(pieces.size() / 2) + "\0").getBytes(StandardCharsets.UTF_8);
        for (int from = 0; from < bytes.length; from++) {
            int state = array.root;
            for (int end = from + 1; end <= bytes.length; end++) {
                int unit = array.unit(state, bytes[end - 1]);
                String part = new String(bytes, from, end - from, StandardCharsets.UTF_8);
                if (unit == 0) {
                    assertTrue(pieces.stream().noneMatch(piece -> piece.startsWith(part)), part);
                    break;
                }
                state = PieceArray.state(unit);
                assertEquals(values.containsKey(part), PieceArray.ends(unit), part);
                if (PieceArray.ends(unit)) {
                    assertEquals(values.get(part), array.value(state));
                }
            }
        }
    }
}
