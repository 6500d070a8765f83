package io.multihead.it.tokenizers;

import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import io.multihead.text.PromptText;
import io.multihead.text.Tokenizer;
import io.multihead.text.Tokenizers;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.text.Normalizer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Compares ids of published {@code tokenizer.json} files with HuggingFace's crate, for every code point, random
 * strings, and a corpus. The arguments are a folder with a folder per model, and a folder with the Markdown and Java
 * files of the corpus.
 */
public final class CompareTokenizers {
    private static final int RANDOM = 100_000;
    private static final int CODE_POINTS = 32;

    /** Parts of texts that pre-tokenizers, normalizers and added tokens handle differently. */
    private static final List<String> PARTS = List.of(
            (" ~ ~  ~   ~\t~\n~\r\n~\n\n\n~\u00a0~\u3000~\u2003~\u0085~a~the~ing~ Hello~WORLD~camelCase~'s~'LL~'\u017f~'~1~23~4567~\u0663~\u2160~\u00bd~!~...~/~//\n"
                            + "~=====~\u3002~\u4f60\u597d~\u65e5\u672c~\uac00\ub098~\u0e01\u0e33~\u0645\u0631\u062d\u0628\u0627~\u0928\u092e\u0938\u094d\u0924\u0947~\u00e9~e\u0301~\u1e9b\u0323~\u212b~\ufb01~\u01c5"
                            + "~\ud83d\ude42~\ud83d\udc69\u200d\ud83d\udcbb~\ud835\udc00~\u20ac~\u200d~\u2581~\u2581\u2581~\ufffd~\u0000~\u001f"
                            + "~<|im_start|>~<|im_end|>~<|endoftext|>~<|begin_of_text|>~<|eot_id|>~<think>~</think>~<start_of_turn>~<bos>~<eos>~<unk>~<table>~<unused7>~[multimodal]~<|im_~_end|>~<0x41>")
                    .split("~"));

    /**
     * Characters for which the JDK's Unicode (16 in JDK 25) composes or orders marks in another way than the crate's.
     */
    private static final Map<String, String> OTHERS =
            Map.of("llama3", "", "qwen3", "1df6 113c2 1611e 16d67 1e4ec-1e4ed", "gemma3", "");

    private CompareTokenizers() {}

    public static void main(String[] args) throws IOException {
        List<String> corpus = corpus(Path.of(args[1]));
        for (String name : List.of("llama3", "qwen3", "gemma3")) {
            Path folder = Path.of(args[0]).resolve(name);
            Tokenizer tokenizer = Tokenizers.load(folder);
            try (HuggingFaceTokenizer crate = HuggingFaceTokenizer.builder()
                    .optTokenizerPath(folder.resolve("tokenizer.json"))
                    .optPadding(false)
                    .optTruncation(false)
                    .build()) {
                Comparison comparison = new Comparison(name, crate, tokenizer);
                BitSet others = comparison.codePoints();
                System.out.println(name + ": code points that are normalized in another way: " + ranges(others));
                if (!ranges(others).equals(OTHERS.get(name))) {
                    throw new AssertionError(name + ": expected these: " + OTHERS.get(name));
                }
                int tokens = 0;
                for (String text : corpus) {
                    tokens += comparison.check(text);
                }
                System.out.println(name + ": " + tokens + " tokens of " + corpus.size() + " files");
                Random random = new Random(42);
                for (int i = 0; i < RANDOM; i++) {
                    comparison.check(text(random, others));
                }
                System.out.println(name + ": " + RANDOM + " random strings");
            }
        }
        System.exit(0); // the threads of the crate do not end
    }

    private record Comparison(String name, HuggingFaceTokenizer crate, Tokenizer tokenizer) {
        /**
         * Returns the number of tokens of a text. Requires that they equal the crate's tokens and decode to the text.
         */
        int check(String text) {
            long[] expected = crate.encode(text, false, false).getIds();
            int[] actual = tokenizer.encode(PromptText.template(text));
            if (!isEqual(expected, actual)) {
                throw new AssertionError(name + ": " + escaped(text) + ": the crate has " + Arrays.toString(expected)
                        + ", and this library " + Arrays.toString(actual));
            }
            // the crate adds a second token before a text that begins with this token
            boolean begun =
                    actual.length > 0 && actual[0] == tokenizer.specialIds().begin();
            if (!begun && !isEqual(crate.encode(text, true, false).getIds(), tokenizer.withSpecialTokens(actual))) {
                throw new AssertionError(name + ": " + escaped(text) + ": other tokens around it");
            }
            String plain = tokenizer.decode(tokenizer.encode(text));
            if (!plain.equals(comesBackAs(text))) {
                throw new AssertionError(name + ": " + escaped(text) + " comes back as " + escaped(plain));
            }
            return actual.length;
        }

        private String comesBackAs(String text) {
            return switch (name) {
                case "qwen3" -> Normalizer.normalize(text, Normalizer.Form.NFC);
                case "gemma3" -> text.replace('\u2581', ' ');
                default -> text;
            };
        }

        BitSet codePoints() {
            BitSet others = new BitSet();
            for (int first = 0; first <= Character.MAX_CODE_POINT; first += CODE_POINTS) {
                String all = contexts(first, first + CODE_POINTS);
                if (!isEqual(crate.encode(all, false, false).getIds(), tokenizer.encode(PromptText.template(all)))) {
                    for (int c = first; c < first + CODE_POINTS; c++) {
                        String one = contexts(c, c + 1);
                        boolean equal = isEqual(
                                crate.encode(one, false, false).getIds(), tokenizer.encode(PromptText.template(one)));
                        others.set(c, !equal);
                    }
                }
            }
            return others;
        }

        private static String contexts(int from, int end) {
            StringBuilder text = new StringBuilder();
            for (int c = from; c < end; c++) {
                if (c < Character.MIN_SURROGATE || c > Character.MAX_SURROGATE) {
                    String each = Character.toString(c);
                    text.append("a" + each + "b " + each + each + "1" + each + " '" + each + "\n" + each + "! " + each
                            + "\u0301");
                }
            }
            return text.toString();
        }
    }

    static boolean isEqual(long[] expected, int[] actual) {
        return Arrays.equals(expected, Arrays.stream(actual).asLongStream().toArray());
    }

    static String text(Random random, BitSet others) {
        StringBuilder text = new StringBuilder();
        for (int i = random.nextInt(24); i > 0; i--) {
            if (random.nextInt(6) > 0) {
                text.append(PARTS.get(random.nextInt(PARTS.size())));
                continue;
            }
            int c = random.nextInt(random.nextBoolean() ? 0x3000 : 0x110000);
            boolean surrogate = c >= Character.MIN_SURROGATE && c <= Character.MAX_SURROGATE;
            text.append(others.get(c) || surrogate ? "x" : Character.toString(c));
        }
        return text.toString();
    }

    static List<String> corpus(Path folder) throws IOException {
        List<String> texts = new ArrayList<>();
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.filter(f -> f.toString().matches(".*[.](md|java|inp)"))
                    .filter(f -> !f.toString().contains("target"))
                    .sorted()
                    .toList()) {
                texts.add(Files.readString(file));
            }
        }
        return texts;
    }

    static String ranges(BitSet set) {
        List<String> ranges = new ArrayList<>();
        for (int from = set.nextSetBit(0); from >= 0; from = set.nextSetBit(set.nextClearBit(from))) {
            int last = set.nextClearBit(from) - 1;
            ranges.add(Integer.toHexString(from) + (last > from ? "-" + Integer.toHexString(last) : ""));
        }
        return String.join(" ", ranges);
    }

    static String escaped(String text) {
        return text.codePoints()
                .mapToObj(c -> c >= ' ' && c < 0x7f ? Character.toString(c) : String.format("\\u{%x}", c))
                .collect(Collectors.joining("", "\"", "\""));
    }
}
