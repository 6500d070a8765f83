package io.multihead.format;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** GGUF files with metadata for tests. */
public final class GgufFixture {
    private GgufFixture() {}

    /**
     * Returns a file without tensors. Values are strings, integers (u32, or i64 for a long), floats (f32), booleans, and lists or arrays of
     * them.
     */
    public static Gguf of(Map<String, ?> metadata) {
        GgufWriter writer = new GgufWriter();
        metadata.forEach((key, value) -> writer.put(key, value(value)));
        try {
            Path file = Files.createTempFile("metadata", ".gguf");
            try {
                writer.write(file);
                return Gguf.parse(MemorySegment.ofArray(Files.readAllBytes(file)));
            } finally {
                Files.delete(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns a value as metadata of a file. */
    public static GgufValue value(Object value) {
        return switch (value) {
            case String text -> GgufValue.ofString(text);
            case Boolean flag -> GgufValue.ofBool(flag);
            case Integer number -> GgufValue.ofInteger(GgufType.U32, number);
            case Long number -> GgufValue.ofInteger(GgufType.I64, number);
            case Float number -> GgufValue.ofF32(number);
            case Double number -> GgufValue.ofF32(number.floatValue());
            case float[] numbers -> GgufValue.ofFloats(numbers);
            case long[] numbers -> GgufValue.ofIntegers(GgufType.I32, numbers);
            case byte[] bytes -> {
                long[] numbers = new long[bytes.length];
                for (int i = 0; i < bytes.length; i++) {
                    numbers[i] = Byte.toUnsignedInt(bytes[i]);
                }
                yield GgufValue.ofIntegers(GgufType.U8, numbers);
            }
            case List<?> texts ->
                GgufValue.ofStrings(texts.stream().map(String.class::cast).toList());
            default -> throw new AssertionError(value);
        };
    }
}
