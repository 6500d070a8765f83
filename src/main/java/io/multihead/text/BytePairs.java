package io.multihead.text;

import io.multihead.format.GgufType;
import io.multihead.format.GgufValue;
import io.multihead.format.GgufWriter;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.JsonWriter;
import io.multihead.text.SpecialIds.AddedSpecialTokens;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/**
 * A vocabulary of byte-level BPE, learned from a text (Sennrich et al. 2016; Radford et al. 2019). The first pieces are the bytes. Repeatedly, the
 * most frequent pair of adjacent pieces within a word becomes a new piece. Text is divided into words as in GPT-2. The token {@value #END} ends a
 * text. The class is meant for texts of a few megabytes and vocabularies of a few thousand tokens: each piece costs a pass over the distinct
 * words.
 *
 * <p>Immutable and thread-safe.
 */
public final class BytePairs {
    /** The token that ends a text; its id is 256. */
    public static final String END = "<|endoftext|>";

    /** GPT-2's rule for words. */
    private static final Pattern WORD =
            Pattern.compile("'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+");

    private static final int BYTES = 256;
    private static final long NORMAL = 1;
    private static final long CONTROL = 3;

    private final List<String> tokens = new ArrayList<>();
    private final List<String> merges = new ArrayList<>();

    private BytePairs() {
        for (int value = 0; value < BYTES; value++) {
            tokens.add(character(value));
        }
        tokens.add(END);
    }

    /**
     * Learns pieces from a text.
     *
     * @param text any text
     * @param vocabulary the number of tokens, at least 257: one for each byte, and the end. The result has fewer tokens if no pair occurs
     *     twice
     * @return the pieces, always the same for the same text
     * @throws IllegalArgumentException if the vocabulary is below 257
     */
    public static BytePairs learn(String text, int vocabulary) {
        Checks.notNull(text, "text");
        Checks.atLeast(vocabulary, BYTES + 1, "vocabulary");
        BytePairs pairs = new BytePairs();
        Map<String, Integer> words = words(text);
        while (pairs.tokens.size() < vocabulary) {
            String pair = mostFrequent(words);
            if (pair.isEmpty()) {
                break;
            }
            String piece = pair.replace(" ", "");
            pairs.merges.add(pair);
            pairs.tokens.add(piece);
            Map<String, Integer> merged = new LinkedHashMap<>();
            words.forEach((word, count) -> merged.merge(merge(word, pair, piece), count, Integer::sum));
            words = merged;
        }
        return pairs;
    }

    /** Returns words as pieces with spaces between and around them, and their numbers of occurrences. */
    private static Map<String, Integer> words(String text) {
        Map<String, Integer> words = new LinkedHashMap<>();
        WORD.matcher(text).results().map(MatchResult::group).forEach(word -> {
            StringBuilder bytes = new StringBuilder(" ");
            for (byte value : word.getBytes(StandardCharsets.UTF_8)) {
                bytes.append(character(value & 0xff)).append(' ');
            }
            words.merge(bytes.toString(), 1, Integer::sum);
        });
        return words;
    }

    /** Returns the most frequent pair, or the first of several equally frequent pairs; an empty text if no pair occurs twice. */
    private static String mostFrequent(Map<String, Integer> words) {
        Map<String, Integer> pairs = new LinkedHashMap<>();
        words.forEach((word, count) -> {
            String[] pieces = word.strip().split(" ");
            for (int i = 1; i < pieces.length; i++) {
                pairs.merge(pieces[i - 1] + " " + pieces[i], count, Integer::sum);
            }
        });
        String best = "";
        int most = 1;
        for (Map.Entry<String, Integer> pair : pairs.entrySet()) {
            if (pair.getValue() > most) {
                most = pair.getValue();
                best = pair.getKey();
            }
        }
        return best;
    }

    /** Joins all occurrences of a pair, from the left. */
    private static String merge(String word, String pair, String piece) {
        String apart = " " + pair + " ";
        StringBuilder merged = new StringBuilder(word);
        // the space after one pair may be the space before the next pair
        for (int at = merged.indexOf(apart); at >= 0; at = merged.indexOf(apart, at + 1)) {
            merged.replace(at, at + apart.length(), " " + piece + " ");
        }
        return merged.toString();
    }

    /**
     * Returns the character for a byte in vocabularies of this kind: a printable byte is the same character; the other bytes are characters from
     * U+0100 on, in order.
     */
    static String character(int value) {
        if (isPrintable(value)) {
            return String.valueOf((char) value);
        }
        int before = 0;
        for (int other = 0; other < value; other++) {
            before += isPrintable(other) ? 0 : 1;
        }
        return String.valueOf((char) (0x100 + before));
    }

    private static boolean isPrintable(int value) {
        return value >= '!' && value <= '~' || value >= 0xa1 && value <= 0xac || value >= 0xae && value <= 0xff;
    }

    /** Returns the learned pieces, in the order of learning. */
    List<String> learned() {
        return tokens.subList(BYTES + 1, tokens.size());
    }

    /** {@return the number of tokens} */
    public int vocabulary() {
        return tokens.size();
    }

    /** {@return the tokenizer of these pieces, with the end token {@value #END}} */
    public Tokenizer tokenizer() {
        List<TokenType> types = new ArrayList<>(Collections.nCopies(tokens.size(), TokenType.NORMAL));
        types.set(BYTES, TokenType.CONTROL);
        int none = SpecialIds.NONE;
        SpecialIds special = new SpecialIds(none, BYTES, none, none, Set.of(BYTES), AddedSpecialTokens.NEITHER);
        return BytePairTokenizer.of(Vocabulary.of(tokens, types), merges, WordPattern.GPT_2, false, special);
    }

    /**
     * Writes the tokenizer to the metadata of a GGUF file, like converters of GPT-2.
     *
     * @param to the writer of the file
     * @return the writer
     */
    public GgufWriter putTo(GgufWriter to) {
        Checks.notNull(to, "to");
        long[] types = new long[tokens.size()];
        Arrays.fill(types, NORMAL);
        types[BYTES] = CONTROL;
        return to.put("tokenizer.ggml.model", GgufValue.ofString("gpt2"))
                .put("tokenizer.ggml.pre", GgufValue.ofString("gpt-2"))
                .put("tokenizer.ggml.tokens", GgufValue.ofStrings(tokens))
                .put("tokenizer.ggml.token_type", GgufValue.ofIntegers(GgufType.I32, types))
                .put("tokenizer.ggml.merges", GgufValue.ofStrings(merges))
                .put("tokenizer.ggml.eos_token_id", GgufValue.ofInteger(GgufType.U32, BYTES));
    }

    /**
     * Writes {@code tokenizer.json} and {@code tokenizer_config.json}, which {@link Tokenizers#load} and transformers read.
     *
     * @param folder created if it does not exist
     * @throws IOException if writing fails
     */
    public void writeTo(Path folder) throws IOException {
        Files.createDirectories(Checks.notNull(folder, "folder"));
        Map<String, Integer> ids = new LinkedHashMap<>();
        tokens.forEach(token -> ids.put(token, ids.size()));
        // the map is sorted, so that the file has the same bytes in every JVM
        Map<String, Object> bytes =
                new TreeMap<>(Map.of("type", "ByteLevel", "add_prefix_space", false, "use_regex", true));
        Map<String, Object> end =
                new TreeMap<>(Map.of("id", BYTES, "content", END, "special", true, "normalized", false));
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("version", "1.0");
        json.put("added_tokens", List.of(end));
        json.put("pre_tokenizer", bytes);
        json.put("decoder", bytes);
        json.put("model", new TreeMap<>(Map.of("type", "BPE", "vocab", ids, "merges", merges)));
        JsonWriter.write(folder.resolve("tokenizer.json"), json);
        JsonWriter.write(
                folder.resolve("tokenizer_config.json"),
                new TreeMap<>(Map.of("tokenizer_class", "PreTrainedTokenizerFast", "eos_token", END)));
    }
}
