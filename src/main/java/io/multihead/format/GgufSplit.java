package io.multihead.format;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.FileMemory;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The files of a model that is split, {@code NAME-00001-of-0000N.gguf}: the first file has the metadata, all files have tensors, and {@code
 * split.no}, {@code split.count} and {@code split.tensors.count} state the number of a file, the number of files and the number of all tensors.
 */
final class GgufSplit {
    private static final Pattern NAME = Pattern.compile("(.*)-([0-9]{5})-of-([0-9]{5})\\.gguf");
    private static final String NUMBER = "split.no";
    private static final String COUNT = "split.count";
    private static final String TENSORS = "split.tensors.count";

    private GgufSplit() {}

    /** A tensor and the memory of its file. */
    record Part(MemorySegment file, GgufTensor tensor) {}

    /** Returns the tensors of one file. */
    static Map<String, Part> of(MemorySegment file, GgufHeader header) {
        Map<String, Part> parts = new LinkedHashMap<>();
        header.tensors().forEach((name, tensor) -> parts.put(name, new Part(file, tensor)));
        return parts;
    }

    /** Returns the tensors of a file and, if it is the first of several, the tensors of all files. */
    static Map<String, Part> of(Path path, MemorySegment file, GgufHeader header, Arena arena) throws IOException {
        Map<String, Part> parts = of(file, header);
        long count = Checks.in(path, () -> integer(header, COUNT).orElse(1));
        if (count == 1) {
            return parts;
        }
        Matcher name = Checks.in(path, () -> requireFirst(path, header, count));
        for (long number = 1; number < count; number++) {
            Path next = path.resolveSibling(
                    String.format(Locale.ROOT, "%s-%05d-of-%05d.gguf", name.group(1), number + 1, count));
            MemorySegment memory = FileMemory.of(next, arena);
            long expected = number;
            Checks.in(next, () -> {
                GgufHeader more = GgufHeader.read(memory);
                requireInteger(more, NUMBER, expected);
                requireInteger(more, COUNT, count);
                more.tensors().forEach((key, tensor) -> {
                    if (parts.putIfAbsent(key, new Part(memory, tensor)) != null) {
                        throw Checks.fail(tensor.what(), "in an earlier file too", "expected every name once");
                    }
                });
                return more;
            });
        }
        Checks.in(path, () -> requireInteger(header, TENSORS, parts.size()));
        return parts;
    }

    /** Fails unless a file is the first of the number of files that its name states. */
    private static Matcher requireFirst(Path path, GgufHeader header, long count) {
        Matcher name = NAME.matcher(String.valueOf(path.getFileName()));
        if (count < 1 || !name.matches() || Long.parseLong(name.group(3)) != count) {
            throw Checks.fail(
                    GgufValue.what(COUNT),
                    String.valueOf(count),
                    "expected the number of files in a name such as model-00001-of-00003.gguf");
        }
        requireInteger(header, NUMBER, Long.parseLong(name.group(2)) - 1);
        if (!name.group(2).equals("00001")) {
            throw Checks.fail(
                    GgufValue.what(NUMBER),
                    String.valueOf(Long.parseLong(name.group(2)) - 1),
                    "expected the first of the files, " + name.group(1) + "-00001-of-" + name.group(3) + ".gguf");
        }
        return name;
    }

    private static long requireInteger(GgufHeader header, String key, long expected) {
        OptionalLong found = integer(header, key);
        if (found.isEmpty() || found.getAsLong() != expected) {
            String actual = found.isEmpty() ? "not in the file" : String.valueOf(found.getAsLong());
            throw Checks.fail(GgufValue.what(key), actual, "expected " + expected);
        }
        return expected;
    }

    private static OptionalLong integer(GgufHeader header, String key) {
        GgufValue value = header.metadata().get(key);
        return value == null ? OptionalLong.empty() : OptionalLong.of(value.integer());
    }
}
