package io.multihead.cache;

import io.multihead.cache.KeyValueCache.Config;
import io.multihead.format.Safetensors;
import io.multihead.internal.base.Checks;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The metadata of a session file: the caches that it is for, and the sequences with their lengths and blocks. All metadata is checked here,
 * before the file is used.
 *
 * @param sequences in the order in which they were saved
 */
record SessionHeader(List<Entry> sequences) {
    /** The version with {@link SessionChecksums}. */
    private static final String FORMAT = "multihead cache session 4";
    /** The version with scales for blocks of a key, and for caches with such scales. */
    private static final String FORMAT_3 = "multihead cache session 3";
    /** The version that could not describe scales in blocks. */
    private static final String FORMAT_2 = "multihead cache session 2";
    /** The version that described rotary embeddings in another way. */
    private static final String FORMAT_1 = "multihead cache session 1";

    /** The version of a cache with a window, which states for each sequence its first token with a block. */
    private static final String FORMAT_6 = "multihead cache session 6";

    static final String FORMAT_FIELD = "format";
    private static final String WINDOW = "window";
    private static final String KEPT = "kept";
    private static final String SCALES = "keyScales";
    /** Positions stay below 2^53, like the positions of rotary embeddings. */
    static final long POSITIONS = 1L << 53;

    /**
     * One sequence.
     *
     * @param firstKey its first token
     * @param kept its first token with a block, a multiple of 256
     * @param lengths by layer
     * @param blocks numbers of its blocks in the file's tensors, from the first one on; -1 for a block without tokens of the sequence
     */
    @SuppressWarnings("ArrayRecordComponent")
    record Entry(long firstKey, long kept, long[] lengths, int[] blocks) {
        long longest() {
            return Arrays.stream(lengths).max().orElseThrow();
        }
    }

    /** Returns the metadata for sequences of a cache. */
    static Map<String, String> write(Config config, int window, List<Sequence> sequences, SessionBlocks blocks) {
        Map<String, String> metadata = new LinkedHashMap<>();
        metadata.put(FORMAT_FIELD, window == 0 ? FORMAT : FORMAT_6);
        if (window > 0) {
            metadata.put(WINDOW, String.valueOf(window));
        }
        metadata.putAll(geometry(config, config.layers()));
        metadata.put("ropes", SessionRopes.write(config));
        metadata.put("sequences", String.valueOf(sequences.size()));
        for (int i = 0; i < sequences.size(); i++) {
            Sequence sequence = sequences.get(i);
            metadata.put(name(i, "firstKey"), String.valueOf(sequence.firstKey));
            if (window > 0) {
                metadata.put(name(i, KEPT), String.valueOf(blocks.first(sequence) * SessionBlocks.TOKENS));
            }
            metadata.put(
                    name(i, "lengths"),
                    joined(Arrays.stream(sequence.lengths).boxed().toList()));
            metadata.put(
                    name(i, "blocks"),
                    joined(Arrays.stream(blocks.numbers(i)).boxed().toList()));
        }
        return metadata;
    }

    /**
     * Returns whether a file has checksums or must have them: true for files of this version, and for files of any version with checksums.
     */
    static boolean hasChecksums(Safetensors file) {
        return List.of(FORMAT, FORMAT_6).contains(String.valueOf(file.metadata().get(FORMAT_FIELD)))
                || file.contains(SessionChecksums.NAME);
    }

    /**
     * Reads and checks the metadata of a file for a cache.
     *
     * @param layers the layers of the file that the cache has: a subset if the file was written when one cache had all layers
     * @param ofFile the number of layers of the file
     */
    static SessionHeader read(Map<String, String> metadata, KeyValueCache cache, int[] layers, int ofFile) {
        Config config = cache.config();
        String format = String.valueOf(metadata.get(FORMAT_FIELD));
        boolean isVersionOne = FORMAT_1.equals(format);
        boolean namesScales = !isVersionOne && !FORMAT_2.equals(format);
        if (!List.of(FORMAT_1, FORMAT_2, FORMAT_3, FORMAT, FORMAT_6).contains(format)) {
            throw Checks.fail(FORMAT_FIELD, format, "expected " + FORMAT + " or an earlier one, or " + FORMAT_6);
        }
        boolean isWindowed = FORMAT_6.equals(format);
        if (isWindowed && number(metadata, WINDOW, 1, Integer.MAX_VALUE) != cache.window()) {
            throw Checks.fail(
                    WINDOW,
                    String.valueOf(metadata.get(WINDOW)),
                    "expected " + cache.window() + ", as the cache has, 0 for all");
        }
        geometry(config, ofFile).forEach((name, expected) -> {
            // if a file does not describe its scales, a key has one scale, or none
            String actual = name.equals(SCALES) && !namesScales ? scales(1) : metadata.get(name);
            if (!expected.equals(actual)) {
                throw Checks.fail(name, String.valueOf(actual), "expected " + expected + ", as the cache has");
            }
        });
        SessionRopes.require(String.valueOf(metadata.get("ropes")), config, isVersionOne);
        long count = number(metadata, "sequences", 0, Integer.MAX_VALUE);
        List<Entry> entries = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            entries.add(entry(metadata, i, layers, ofFile, isWindowed ? cache.window() : 0));
        }
        return new SessionHeader(entries);
    }

    private static Entry entry(Map<String, String> metadata, int index, int[] layers, int ofFile, int window) {
        long firstKey = number(metadata, name(index, "firstKey"), 0, POSITIONS);
        long[] lengths = numbers(metadata, name(index, "lengths"), 0, POSITIONS);
        Checks.length(lengths.length, ofFile, name(index, "lengths"), "one per layer");
        for (long length : lengths) {
            if (length < firstKey) {
                throw Checks.fail(
                        name(index, "lengths"), Arrays.toString(lengths), "expected at least firstKey " + firstKey);
            }
        }
        long kept = window == 0
                ? SessionBlocks.first(firstKey) * SessionBlocks.TOKENS
                : number(metadata, name(index, KEPT), 0, POSITIONS);
        long seen = Math.max(firstKey, Arrays.stream(lengths).min().orElseThrow() - window + 1);
        if (window > 0 && (kept % Sequences.SLIDE_STEP != 0 || kept > seen)) {
            throw Checks.fail(
                    name(index, KEPT),
                    String.valueOf(kept),
                    "expected a multiple of " + Sequences.SLIDE_STEP + ", at most " + seen);
        }
        long[] blocks = numbers(metadata, name(index, "blocks"), -1, Integer.MAX_VALUE);
        long longest = Arrays.stream(lengths).max().orElseThrow();
        long least = Math.ceilDiv(longest, (long) SessionBlocks.TOKENS) - kept / SessionBlocks.TOKENS;
        if (blocks.length < least) {
            throw Checks.fail(
                    name(index, "blocks"),
                    blocks.length + " of them",
                    "expected at least " + least + " for tokens " + Math.max(firstKey, kept) + " to " + longest);
        }
        return new Entry(
                firstKey,
                kept,
                Arrays.stream(layers).mapToLong(layer -> lengths[layer]).toArray(),
                Arrays.stream(blocks).mapToInt(Math::toIntExact).toArray());
    }

    /** Fails if a sequence has a block that the file does not contain. */
    void requireBlocks(long blocks) {
        for (int i = 0; i < sequences.size(); i++) {
            for (int block : sequences.get(i).blocks) {
                if (block >= blocks) {
                    throw Checks.fail(name(i, "blocks"), String.valueOf(block), "expected -1 to " + (blocks - 1));
                }
            }
        }
    }

    /** Returns the settings that a file and a cache must share, by name, except rotary embeddings. */
    private static Map<String, String> geometry(Config config, int layers) {
        Map<String, String> fields = new LinkedHashMap<>();
        fields.put("layers", String.valueOf(layers));
        fields.put("heads", String.valueOf(config.heads()));
        fields.put("headDim", String.valueOf(config.headDim()));
        fields.put("valueDim", String.valueOf(config.valueDim()));
        fields.put("dtype", config.format().dtype().toString());
        fields.put(SCALES, scales(config.keyScales()));
        return fields;
    }

    private static String scales(int ofKey) {
        return ofKey > 1 ? ofKey + " a key" : "at most one a key";
    }

    static String name(int sequence, String field) {
        return "sequence " + sequence + " " + field;
    }

    static String joined(List<?> numbers) {
        return numbers.stream().map(Objects::toString).collect(Collectors.joining(" "));
    }

    static long number(Map<String, String> metadata, String name, long least, long limit) {
        return number(metadata.get(name), name, least, limit);
    }

    static long[] numbers(Map<String, String> metadata, String name, long least, long limit) {
        String text = metadata.get(name);
        if (text == null) {
            throw Checks.fail(name, "not in the file", "expected numbers");
        }
        return text.isEmpty()
                ? new long[0]
                : Arrays.stream(text.split(" ", -1))
                        .mapToLong(word -> number(word, name, least, limit))
                        .toArray();
    }

    private static long number(@Nullable String text, String name, long least, long limit) {
        try {
            long number = Long.parseLong(String.valueOf(text));
            if (number >= least && number < limit) {
                return number;
            }
        } catch (NumberFormatException wrong) {
            // continues to the message for numbers out of range
        }
        throw Checks.fail(name, String.valueOf(text), "expected a number from " + least + " to " + (limit - 1));
    }
}
