package io.multihead.it.tokenizers;

import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import io.multihead.text.EncoderTokenizer;
import io.multihead.text.PromptText;
import io.multihead.text.Tokenizer;
import io.multihead.text.Tokenizers;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Locale;
import java.util.Random;

/**
 * Compares ids of Unigram models in the forms of XLM-R's files with HuggingFace's crate, for every code point in
 * several contexts, random strings, and a corpus with the names of languages and countries in 40 languages. The
 * arguments are a folder with Gemma's tokenizer and a package of SentencePiece models, and a folder with the texts of
 * the corpus.
 */
public final class CompareUnigram {
    private static final int RANDOM = 100_000;
    private static final int CODE_POINTS = 32;

    private static final List<String> MARKS = List.of(
            ("e\u0301~\u00aa\u0301~\ufb01\u0301~\r\n~\u2581~ \u2581 ~\u0600\u00aa~\u1100\u1161\u11a8~\u00a9\u200d~<mask>~ <mask>~\uff1cmask\uff1e~\uff1cs\uff1e"
                            + "~\u00bd~\u3000~\ufdfa~\u0e33~\uff76\uff9e~\u0915\u094d\u0937~<s>~</s>~<0x41>~the~\uff54he~\u0958\u0301")
                    .split("~"));

    private CompareUnigram() {}

    public static void main(String[] args) throws IOException {
        List<String> corpus = new ArrayList<>(CompareTokenizers.corpus(Path.of(args[1])));
        corpus.addAll(names());
        for (Path folder : UnigramFiles.write(Path.of(args[0]))) {
            Tokenizer tokenizer = Tokenizers.load(folder);
            EncoderTokenizer encoder = Tokenizers.loadEncoder(folder);
            try (HuggingFaceTokenizer crate = HuggingFaceTokenizer.builder()
                    .optTokenizerPath(folder.resolve("tokenizer.json"))
                    .optPadding(false)
                    .optTruncation(false)
                    .build()) {
                Comparison comparison = new Comparison(folder.getFileName().toString(), crate, tokenizer, encoder);
                BitSet others = comparison.codePoints();
                System.out.println(
                        comparison.name + ": code points with other ids: " + CompareTokenizers.ranges(others));
                int tokens = 0;
                for (String text : corpus) {
                    tokens += comparison.check(text);
                }
                System.out.println(comparison.name + ": " + tokens + " tokens of " + corpus.size() + " texts");
                Random random = new Random(42);
                for (int i = 0; i < RANDOM; i++) {
                    comparison.check(text(random, others));
                }
                System.out.println(comparison.name + ": " + RANDOM + " random strings");
                if (!others.isEmpty() && !folder.endsWith("unigram-" + UnigramFiles.BERT)) {
                    throw new AssertionError(comparison.name + ": expected no code points with other ids");
                }
            }
        }
        System.exit(0); // the threads of the crate do not end
    }

    private record Comparison(String name, HuggingFaceTokenizer crate, Tokenizer tokenizer, EncoderTokenizer encoder) {
        int check(String text) {
            long[] expected = crate.encode(text, false, false).getIds();
            int[] actual = tokenizer.encode(PromptText.template(text));
            if (!CompareTokenizers.isEqual(expected, actual)) {
                throw new AssertionError(difference(text, expected, actual));
            }
            if (!CompareTokenizers.isEqual(crate.encode(text, true, false).getIds(), encoder.encode(text))) {
                throw new AssertionError(name + ": " + CompareTokenizers.escaped(text) + ": other tokens around it");
            }
            return actual.length;
        }

        /** Returns the tokens around the first difference. */
        private String difference(String text, long[] expected, int[] actual) {
            int[] theirs = Arrays.stream(expected).mapToInt(Math::toIntExact).toArray();
            int at = Math.max(0, Arrays.mismatch(theirs, actual) - 3);
            List<String> both = new ArrayList<>();
            for (int[] ids : List.of(theirs, actual)) {
                both.add(Arrays.toString(Arrays.stream(ids, Math.min(at, ids.length), Math.min(at + 9, ids.length))
                        .mapToObj(id -> id + " " + CompareTokenizers.escaped(tokenizer.token(id)))
                        .toArray()));
            }
            String shown = CompareTokenizers.escaped(text.substring(0, Math.min(text.length(), 200)));
            return name + ": " + shown + ": the crate has " + both.get(0) + ", and this library " + both.get(1);
        }

        BitSet codePoints() {
            BitSet others = new BitSet();
            for (int first = 0; first <= Character.MAX_CODE_POINT; first += CODE_POINTS) {
                if (!isEqual(contexts(first, first + CODE_POINTS))) {
                    for (int c = first; c < first + CODE_POINTS; c++) {
                        others.set(c, !isEqual(contexts(c, c + 1)));
                    }
                }
            }
            return others;
        }

        private boolean isEqual(String text) {
            return CompareTokenizers.isEqual(
                    crate.encode(text, false, false).getIds(), tokenizer.encode(PromptText.template(text)));
        }

        /**
         * Returns code points in contexts: after a letter with a mark, after a letter with an entry in the map, before
         * and between marks, and in a word.
         */
        private static String contexts(int from, int end) {
            StringBuilder text = new StringBuilder();
            for (int c = from; c < end; c++) {
                if (c < Character.MIN_SURROGATE || c > Character.MAX_SURROGATE) {
                    String each = Character.toString(c);
                    text.append("a" + each + "b " + each + each + " \u00aa" + each + "e\u0301" + each + "\u0301 \u00bd"
                            + each + "\ufb01" + each + "\u0301 \u0600" + each + "\u0301a" + each + " <mask>" + each
                            + "\n");
                }
            }
            return text.toString();
        }
    }

    private static String text(Random random, BitSet others) {
        if (random.nextInt(3) > 0) {
            return CompareTokenizers.text(random, others);
        }
        StringBuilder text = new StringBuilder();
        for (int i = random.nextInt(12); i > 0; i--) {
            text.append(MARKS.get(random.nextInt(MARKS.size())));
            text.append(random.nextBoolean() ? "" : CompareTokenizers.text(random, others));
        }
        return text.toString();
    }

    /** Returns the JDK's names of languages and countries in languages of many scripts. */
    private static List<String> names() {
        List<String> texts = new ArrayList<>();
        String languages =
                "ar am be bg bn bo cs da de el en es fa fi fr gu he hi hr hu hy id it ja ka km kn ko lo ml mr my ne pa pl"
                        + " ps pt ro ru si sv ta te th tr uk ur vi yue zh";
        for (String language : languages.split(" ")) {
            Locale locale = Locale.of(language);
            StringBuilder text = new StringBuilder();
            for (String other : Locale.getISOLanguages()) {
                text.append(Locale.of(other).getDisplayLanguage(locale)).append(", ");
            }
            for (String country : Locale.getISOCountries()) {
                text.append(Locale.of("", country).getDisplayCountry(locale)).append(' ');
            }
            texts.add(text.toString());
        }
        return texts;
    }
}
