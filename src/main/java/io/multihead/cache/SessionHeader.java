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
 * The metadata of a session file: for which caches it is, and the sequences with their lengths and blocks. Whatever a file says is
 * checked here, before anything is taken from it.
 *
 * @param sequences in the order in which they were saved
 */
record SessionHeader(List<Entry> sequences) {
    /** Has {@link SessionChecksums}. */
    private static final String FORMAT = "multihead cache session 4";
    /** Had the scales of each key in blocks, and was written for caches that have them. */
    private static final String FORMAT_3 = "multihead cache session 3";
    /** Could not name scales in blocks. */
    private static final String FORMAT_2 = "multihead cache session 2";
    /** Named rotary embeddings in another way. */
    private static final String FORMAT_1 = "multihead cache session 1";

    static final String FORMAT_FIELD = "format";
    private static final String SCALES = "keyScales";
    /** Positions stay below 2^53, as those of rotary embeddings do. */
    static final long POSITIONS = 1L << 53;

    /**
     * One sequence.
     *
     * @param firstKey its first token
     * @param lengths by layer
     * @param blocks numbers of its blocks in the file's tensors, from {@link SessionBlocks#first} on; -1 where it has no token
     */
    @SuppressWarnings("ArrayRecordComponent")
    record Entry(long firstKey, long[] lengths, int[] blocks) {
        long longest() {
            return Arrays.stream(lengths).max().orElseThrow();
        }
    }

    /** Returns the metadata for sequences of a cache. */
    static Map<String, String> write(Config config, List<Sequence> sequences, SessionBlocks blocks) {
        Map<String, String> metadata = new LinkedHashMap<>();
        metadata.put(FORMAT_FIELD, FORMAT);
        metadata.putAll(geometry(config));
        metadata.put("ropes", SessionRopes.write(config));
        metadata.put("sequences", String.valueOf(sequences.size()));
        for (int i = 0; i < sequences.size(); i++) {
            Sequence sequence = sequences.get(i);
            metadata.put(name(i, "firstKey"), String.valueOf(sequence.firstKey));
            metadata.put(
                    name(i, "lengths"),
                    joined(Arrays.stream(sequence.lengths).boxed().toList()));
            metadata.put(
                    name(i, "blocks"),
                    joined(Arrays.stream(blocks.numbers(i)).boxed().toList()));
        }
        return metadata;
    }

    /** Returns whether a file must have checksums: one of this version, and any that has some, whatever version it names. */
    static boolean hasChecksums(Safetensors file) {
        return FORMAT.equals(file.metadata().get(FORMAT_FIELD)) || file.contains(SessionChecksums.NAME);
    }

    /** Reads and checks the metadata of a file for a cache. */
    static SessionHeader read(Map<String, String> metadata, Config config) {
        String format = String.valueOf(metadata.get(FORMAT_FIELD));
        boolean isVersionOne = FORMAT_1.equals(format);
        boolean namesScales = !isVersionOne && !FORMAT_2.equals(format);
        if (!List.of(FORMAT_1, FORMAT_2, FORMAT_3, FORMAT).contains(format)) {
            throw Checks.fail(FORMAT_FIELD, format, "expected " + FORMAT + " or an earlier one");
        }
        geometry(config).forEach((name, expected) -> {
            // where a file does not name its scales, a key has one, or none
            String actual = name.equals(SCALES) && !namesScales ? scales(1) : metadata.get(name);
            if (!expected.equals(actual)) {
                throw Checks.fail(name, String.valueOf(actual), "expected " + expected + ", as the cache has");
            }
        });
        SessionRopes.require(String.valueOf(metadata.get("ropes")), config, isVersionOne);
        long count = number(metadata, "sequences", 0, Integer.MAX_VALUE);
        List<Entry> entries = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            entries.add(entry(metadata, i, config.layers()));
        }
        return new SessionHeader(entries);
    }

    private static Entry entry(Map<String, String> metadata, int index, int layers) {
        long firstKey = number(metadata, name(index, "firstKey"), 0, POSITIONS);
        long[] lengths = numbers(metadata, name(index, "lengths"), 0, POSITIONS);
        Checks.length(lengths.length, layers, name(index, "lengths"), "one per layer");
        for (long length : lengths) {
            if (length < firstKey) {
                throw Checks.fail(
                        name(index, "lengths"), Arrays.toString(lengths), "expected at least firstKey " + firstKey);
            }
        }
        long[] blocks = numbers(metadata, name(index, "blocks"), -1, Integer.MAX_VALUE);
        long longest = Arrays.stream(lengths).max().orElseThrow();
        long least = Math.ceilDiv(longest, (long) SessionBlocks.TOKENS) - SessionBlocks.first(firstKey);
        if (blocks.length < least) {
            throw Checks.fail(
                    name(index, "blocks"),
                    blocks.length + " of them",
                    "expected at least " + least + " for tokens " + firstKey + " to " + longest);
        }
        return new Entry(
                firstKey,
                lengths,
                Arrays.stream(blocks).mapToInt(Math::toIntExact).toArray());
    }

    /** Fails if a block is not one of the file's. */
    void requireBlocks(long blocks) {
        for (int i = 0; i < sequences.size(); i++) {
            for (int block : sequences.get(i).blocks) {
                if (block >= blocks) {
                    throw Checks.fail(name(i, "blocks"), String.valueOf(block), "expected -1 to " + (blocks - 1));
                }
            }
        }
    }

    /** Returns what a file and a cache must have in common, by name, but for rotary embeddings. */
    private static Map<String, String> geometry(Config config) {
        Map<String, String> fields = new LinkedHashMap<>();
        fields.put("layers", String.valueOf(config.layers()));
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
            // falls through to the message for numbers out of range
        }
        throw Checks.fail(name, String.valueOf(text), "expected a number from " + least + " to " + (limit - 1));
    }
}
