package io.multihead.format;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Downloads;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The part of a GGUF file before its data, read and checked completely. */
record GgufHeader(int version, Map<String, GgufValue> metadata, Map<String, GgufTensor> tensors) {
    static final String ALIGNMENT_KEY = "general.alignment";
    static final long DEFAULT_ALIGNMENT = 32;
    static final long LEAST_ALIGNMENT = 8;
    /** The largest page size of any machine. A larger alignment is a sign of a damaged file. */
    static final long MOST_ALIGNMENT = 1 << 30;

    static final long MAGIC = 0x46554747; // "GGUF" in little-endian order
    private static final int BYTES = 24;

    /** The bytes of the smallest pair of key, type and value: an empty key with a value of one byte. */
    private static final int LEAST_PAIR = 13;

    /** The bytes of the smallest description of a tensor: name, number of sizes, one size, type and offset. */
    private static final int LEAST_TENSOR = 32;

    static GgufHeader read(MemorySegment file) {
        if (file.byteSize() < Integer.BYTES || file.get(GgufCursor.INT, 0) != MAGIC) {
            Downloads.requireBinary(file, "GGUF");
        }
        if (file.byteSize() < BYTES) {
            throw Checks.fail(
                    "file", file.byteSize() + " bytes", "expected at least the " + BYTES + " of GGUF's header");
        }
        GgufCursor cursor = new GgufCursor(file);
        long magic = cursor.read32("magic");
        if (magic != MAGIC) {
            throw Checks.fail(
                    "magic", String.format("0x%08x", magic), String.format("expected 0x%08x, \"GGUF\"", MAGIC));
        }
        int version = version(cursor.read32("version"));
        long tensorCount = cursor.readCount(LEAST_TENSOR, "tensor_count");
        long pairs = cursor.readCount(LEAST_PAIR, "metadata_kv_count");
        Map<String, GgufValue> metadata = metadata(cursor, pairs);
        List<GgufTensor.Described> described = new ArrayList<>();
        for (long i = 0; i < tensorCount; i++) {
            described.add(GgufTensor.read(cursor, i));
        }
        return new GgufHeader(version, metadata, tensors(described, cursor.at(), file.byteSize(), alignment(metadata)));
    }

    private static int version(long version) {
        if (version == 1) {
            throw Checks.fail("version", "1, whose counts have 32 bits", "expected 2 or 3");
        }
        if ((version & 0xffff) == 0 && version != 0) {
            throw Checks.fail(
                    "version",
                    Integer.reverseBytes((int) version) + " in big-endian order",
                    "expected a little-endian file");
        }
        if (version != 2 && version != 3) {
            throw Checks.fail("version", String.valueOf(version), "expected 2 or 3");
        }
        return (int) version;
    }

    private static Map<String, GgufValue> metadata(GgufCursor cursor, long count) {
        Map<String, GgufValue> metadata = new LinkedHashMap<>();
        for (long i = 0; i < count; i++) {
            String key = cursor.readName("metadata " + i + " key");
            String what = GgufValue.what(key);
            GgufType type = GgufType.of(cursor.read32(what), what);
            if (metadata.put(key, new GgufValue(what, type, cursor.readValue(type, what))) != null) {
                throw Checks.fail(what, "used twice", "expected every key once");
            }
        }
        return metadata;
    }

    private static long alignment(Map<String, GgufValue> metadata) {
        GgufValue value = metadata.get(ALIGNMENT_KEY);
        return value == null ? DEFAULT_ALIGNMENT : requireAlignment(value, GgufValue.what(ALIGNMENT_KEY));
    }

    /** Returns an alignment, or fails unless it is a U32 that is a power of two within the limits of pages and the format. */
    static long requireAlignment(GgufValue value, String what) {
        if (value.type() != GgufType.U32) {
            throw Checks.fail(what, "type " + value.type(), "expected " + GgufType.U32);
        }
        long alignment = value.integer();
        if (alignment < LEAST_ALIGNMENT || alignment > MOST_ALIGNMENT || Long.bitCount(alignment) != 1) {
            throw Checks.fail(
                    what,
                    String.valueOf(alignment),
                    "expected a power of two from " + LEAST_ALIGNMENT + " to " + MOST_ALIGNMENT);
        }
        return alignment;
    }

    private static Map<String, GgufTensor> tensors(
            List<GgufTensor.Described> described, long headerEnd, long fileSize, long alignment) {
        long dataStart = Math.ceilDiv(headerEnd, alignment) * alignment;
        Map<String, GgufTensor> tensors = new LinkedHashMap<>();
        for (GgufTensor.Described each : described) {
            GgufTensor tensor = GgufTensor.place(each, dataStart, fileSize, alignment);
            if (tensors.put(tensor.name(), tensor) != null) {
                throw Checks.fail(tensor.what(), "used twice", "expected every name once");
            }
        }
        requireDisjoint(tensors);
        return tensors;
    }

    private static void requireDisjoint(Map<String, GgufTensor> tensors) {
        List<GgufTensor> sorted = tensors.values().stream()
                .sorted(Comparator.comparingLong(GgufTensor::from))
                .toList();
        for (int i = 1; i < sorted.size(); i++) {
            GgufTensor before = sorted.get(i - 1);
            if (sorted.get(i).from() < before.end()) {
                throw Checks.fail(
                        sorted.get(i).what(),
                        "begins at byte " + sorted.get(i).from(),
                        "expected at least " + before.end() + ", where " + before.what() + " ends");
            }
        }
    }
}
