package io.multihead.format;

import static io.multihead.faults.Named.mentions;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Errors name the fault of a GGUF file. */
class GgufFaultsTest {
    private static final String MULTIPLE = "expected a multiple of the alignment, 32";

    @TempDir
    Path folder;

    /** A file and the required part of the message. */
    record Bad(GgufBytes file, String message) {}

    static Stream<Bad> badHeaders() {
        UnaryOperator<GgufBytes> counts = bytes -> bytes.u64(0).u64(0);
        return Stream.of(
                new Bad(new GgufBytes(), "file: 0 bytes; expected at least the 24 of GGUF's header"),
                new Bad(new GgufBytes().raw("GGUF").zeros(19), "file: 23 bytes"),
                new Bad(counts.apply(new GgufBytes().raw("GGML").u32(3)), "magic: 0x4c4d4747; expected 0x46554747"),
                new Bad(counts.apply(new GgufBytes().raw("GGUF").u32(0)), "version: 0; expected 2 or 3"),
                new Bad(counts.apply(new GgufBytes().raw("GGUF").u32(1)), "version: 1, whose counts have 32 bits"),
                new Bad(counts.apply(new GgufBytes().raw("GGUF").u32(4)), "version: 4; expected 2 or 3"),
                new Bad(
                        counts.apply(new GgufBytes().raw("GGUF").raw(0, 0, 0, 3)),
                        "version: 3 in big-endian order; expected a little-endian file"),
                new Bad(
                        new GgufBytes().raw("GGUF").u32(3).u64(-1).u64(0),
                        "tensor_count: 18446744073709551615 at byte 8; expected at most 0"),
                new Bad(new GgufBytes().raw("GGUF").u32(3).u64(1).u64(0), "tensor_count: 1 at byte 8"),
                new Bad(new GgufBytes().raw("GGUF").u32(3).u64(0).u64(1), "metadata_kv_count: 1 at byte 16"),
                new Bad(
                        new GgufBytes().raw("GGUF").u32(3).u64(0).u64(1L << 60).zeros(100),
                        "metadata_kv_count: 1152921504606846976 at byte 16; expected at most 7"));
    }

    static Stream<Bad> badMetadata() {
        return Stream.of(
                new Bad(pairs(1).u64(1L << 20).zeros(9), "metadata 0 key: 1048576 bytes; expected at most 65535"),
                new Bad(pairs(1).u64(60).zeros(9), "metadata 0 key: 60 bytes at byte 32; expected at most 9"),
                new Bad(pairs(1).u64(1).raw(0xff).zeros(9), "metadata 0 key: byte 255 at index 0 of text"),
                new Bad(pairs(1).key("k", 13).u64(0), "k: type 13; expected 0 to 12"),
                new Bad(pairs(1).key("k", -1).u64(0), "k: type 4294967295; expected 0 to 12"),
                new Bad(pairs(1).key("k", 4).raw(1, 2, 3), "k: 4 bytes at byte 37; expected at most 3"),
                new Bad(pairs(1).key("k", 7).raw(2), "k: truth value 2; expected 0 or 1"),
                new Bad(pairs(1).key("k", 8).u64(1), "k: 1 bytes at byte 45; expected at most 0"),
                new Bad(pairs(1).key("k", 8).u64(-1), "k: 18446744073709551615 bytes"),
                new Bad(pairs(1).key("k", 9).u32(77).u64(0), "k: type 77; expected 0 to 12"),
                new Bad(pairs(1).key("k", 9).u32(4).u64(1L << 62), "k: 4611686018427387904 at byte"),
                new Bad(pairs(1).key("k", 9).u32(4).u64(2).zeros(7), "k: 2 at byte 41; expected at most 1"),
                new Bad(pairs(1).key("k", 9).u32(8).u64(1).u64(50), "k: 50 bytes at byte 57"),
                new Bad(pairs(1).key("k", 9).u32(7).u64(2).raw(1, 3), "k: truth value 3"),
                new Bad(pairs(1).key("k", 9).u32(9).u64(1).u32(9).u64(9), "k: 9 at byte"),
                new Bad(deep(9), "k: arrays more than 8 deep; expected at most 8"),
                new Bad(deep(100_000), "k: arrays more than 8 deep; expected at most 8"),
                new Bad(pairs(2).key("k", 0).raw(1).key("k", 8).text("x"), "k: used twice"));
    }

    static Stream<Bad> badAlignments() {
        String range = "expected a power of two from 8 to 1073741824";
        return Stream.of(
                new Bad(pairs(1).alignment(0), "general.alignment: 0; " + range),
                new Bad(pairs(1).alignment(1), "general.alignment: 1; " + range),
                new Bad(pairs(1).alignment(24), "general.alignment: 24; " + range),
                new Bad(pairs(1).alignment(-32), "general.alignment: 4294967264; " + range),
                new Bad(pairs(1).alignment(1L << 31), "general.alignment: 2147483648; " + range),
                new Bad(pairs(1).key("general.alignment", 5).u32(32), "general.alignment: type I32; expected U32"),
                new Bad(pairs(1).key("general.alignment", 10).u64(32), "type U64; expected U32"),
                new Bad(pairs(1).key("general.alignment", 8).text("32"), "type STRING; expected U32"));
    }

    static Stream<Bad> badTensors() {
        return Stream.of(
                new Bad(data(tensors(1).tensor("t", 0, 0), 64), "tensor \"t\": 0 dimensions; expected 1 to 4"),
                new Bad(data(tensors(1).tensor("t", 0, 0, 1, 1, 1, 1, 1), 64), "tensor \"t\": 5 dimensions"),
                new Bad(data(tensors(1).text("t").u32(-1), 64), "tensor \"t\": 4294967295 dimensions"),
                new Bad(
                        data(tensors(1).tensor("t", 0, 0, 4, 0), 64),
                        "tensor \"t\": sizes [0, 4]; expected at least 1"),
                new Bad(data(tensors(1).tensor("t", 0, 0, -1), 64), "tensor \"t\": sizes [18446744073709551615]"),
                new Bad(data(tensors(1).tensor("t", 0, 0, 1L << 32, 1L << 32), 64), "a product below 2^63"),
                new Bad(data(tensors(1).tensor("t", 0, 0, 1L << 62), 64), "F32 [4611686018427387904] at offset 0"),
                new Bad(data(tensors(1).tensor("t", 0, 0, 17), 64), "F32 [17] at offset 0; expected at most 64 bytes"),
                new Bad(data(tensors(1).tensor("t", 0, 32, 9), 64), "F32 [9] at offset 32; expected at most 32 bytes"),
                new Bad(data(tensors(1).tensor("t", 0, 4, 1), 64), "tensor \"t\": offset 4; " + MULTIPLE),
                new Bad(data(tensors(1).tensor("t", 0, 64, 1), 64), "tensor \"t\": offset 64; expected less than 64"),
                new Bad(data(tensors(1).tensor("t", 99, 64, 1), 64), "tensor \"t\": offset 64; expected less than 64"),
                new Bad(data(tensors(1).tensor("t", 0, -32, 1), 64), "tensor \"t\": offset 18446744073709551584"),
                new Bad(data(tensors(1).tensor("t", 0, Long.MIN_VALUE, 1), 64), "offset 9223372036854775808"),
                new Bad(tensors(1).tensor("t", 0, 0, 1), "tensor \"t\": offset 0; expected less than 0"),
                new Bad(data(tensors(1).tensor("t", 8, 0, 33), 64), "shape [33]; expected rows of a multiple of 32"),
                new Bad(data(tensors(1).tensor("t", 8, 0, 16, 2), 64), "shape [2, 16]; expected rows of a multiple"),
                new Bad(data(tensors(1).tensor("t", 8, 0, 64), 64), "Q8_0 [64] at offset 0; expected at most 64 bytes"),
                new Bad(
                        data(tensors(2).tensor("t", 0, 0, 1).tensor("t", 0, 32, 1), 64),
                        "tensor \"t\": used twice; expected every name once"),
                new Bad(
                        data(tensors(2).tensor("a", 0, 0, 9).tensor("b", 0, 32, 1), 64),
                        "tensor \"b\": begins at byte 128; expected at least 132, where tensor \"a\" ends"),
                new Bad(
                        data(tensors(2).tensor("a", 0, 32, 1).tensor("b", 0, 0, 9), 64),
                        "tensor \"a\": begins at byte 128; expected at least 132, where tensor \"b\" ends"),
                new Bad(
                        data(tensors(2).tensor("a", 99, 0, 1).tensor("b", 99, 0, 1), 64),
                        "tensor \"b\": begins at byte 96; expected at least 97"),
                new Bad(tensors(1).u64(1L << 40).zeros(64), "tensor 0 name: 1099511627776 bytes"));
    }

    @ParameterizedTest
    @MethodSource({"badHeaders", "badMetadata", "badAlignments", "badTensors"})
    void aMalformedFileIsNamed(Bad bad) {
        mentions(bad.file::parse, bad.message);
    }

    @ParameterizedTest
    @MethodSource({"badHeaders", "badTensors"})
    void theFileIsNamedToo(Bad bad) throws IOException {
        Path path = folder.resolve("bad.gguf");
        Files.write(path, bad.file.toArray());
        try (Arena arena = Arena.ofConfined()) {
            mentions(() -> Gguf.map(arena, path), path + ": ", bad.message);
        }
    }

    /** Every prefix of a file is refused with an error that names the file. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void truncationAnywhereIsNamed(boolean metadataAlone) {
        GgufBytes bytes = GgufBytes.header(metadataAlone ? 0 : 2, 3)
                .key("a", 8)
                .text("text")
                .key("b", 9)
                .u32(9)
                .u64(1)
                .u32(8)
                .u64(2)
                .text("x")
                .text("y")
                .alignment(64);
        if (!metadataAlone) {
            bytes.tensor("t", 0, 0, 3, 2).tensor("u", 12, 64, 256).align(64).zeros(64 + 144);
        }
        byte[] whole = bytes.toArray();
        Gguf.parse(MemorySegment.ofArray(whole));
        for (int length = 0; length < whole.length; length++) {
            MemorySegment cut = MemorySegment.ofArray(Arrays.copyOf(whole, length));
            String message = assertThrows(IllegalArgumentException.class, () -> Gguf.parse(cut), "length " + length)
                    .getMessage();
            assertTrue(message.matches("(?s)[^:;]+: .+; expected .+"), message);
        }
    }

    @Test
    void aFolderIsNamed() {
        try (Arena arena = Arena.ofConfined()) {
            mentions(() -> Gguf.map(arena, folder), folder + ": a folder; expected a file");
        }
    }

    private static GgufBytes pairs(int count) {
        return GgufBytes.header(0, count);
    }

    private static GgufBytes tensors(int count) {
        return GgufBytes.header(count, 0);
    }

    private static GgufBytes data(GgufBytes header, int bytes) {
        return header.align(32).zeros(bytes);
    }

    /** Returns arrays that are nested in arrays, with this number of levels. */
    private static GgufBytes deep(int levels) {
        GgufBytes bytes = pairs(1).key("k", 9);
        for (int level = 1; level < levels; level++) {
            bytes.u32(9).u64(1);
        }
        return bytes.u32(0).u64(0);
    }
}
