package io.multihead.format;

import static io.multihead.faults.Named.mentions;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.multihead.support.SharedModels;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Reading of valid GGUF files. */
class GgufTest {
    @TempDir
    Path folder;

    @Test
    void allTypesOfMetadataAreRead() {
        Gguf file = GgufBytes.header(0, 13)
                .key("u8", 0)
                .raw(255)
                .key("i8", 1)
                .raw(255)
                .key("u16", 2)
                .u16(65535)
                .key("i16", 3)
                .u16(65535)
                .key("u32", 4)
                .u32(-1)
                .key("i32", 5)
                .u32(-1)
                .key("f32", 6)
                .f32(0.1f)
                .key("bool", 7)
                .raw(1)
                .key("string", 8)
                .text("h\u00e9\ud83d\ude00")
                .key("array", 9)
                .u32(5)
                .u64(2)
                .u32(-7)
                .u32(8)
                .key("u64", 10)
                .u64(Long.MAX_VALUE)
                .key("i64", 11)
                .u64(-3)
                .key("f64", 12)
                .f64(0.1)
                .parse();
        assertEquals(3, file.version());
        assertEquals(
                List.of("u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64", "f64"),
                List.copyOf(file.keys()));
        assertEquals(255, file.integer("u8"));
        assertEquals(-1, file.integer("i8"));
        assertEquals(65535, file.integer("u16"));
        assertEquals(-1, file.integer("i16"));
        assertEquals(0xffffffffL, file.integer("u32"));
        assertEquals(-1, file.integer("i32"));
        assertEquals(Long.MAX_VALUE, file.integer("u64"));
        assertEquals(-3, file.integer("i64"));
        assertEquals(0.1f, file.real("f32"));
        assertEquals(0.1, file.real("f64"));
        assertTrue(file.bool("bool"));
        assertEquals("h\u00e9\ud83d\ude00", file.string("string"));
        assertArrayEquals(new long[] {-7, 8}, file.integers("array"));
        assertEquals(GgufType.ARRAY, file.value("array").type());
        assertEquals(GgufType.I32, file.value("array").elementType());
        assertEquals(Set.of(), file.names());
    }

    @Test
    void arraysOfEveryKindAreRead() {
        Gguf file = GgufBytes.header(0, 6)
                .key("texts", 9)
                .u32(8)
                .u64(3)
                .text("a")
                .text("")
                .text("\u2581b")
                .key("floats", 9)
                .u32(6)
                .u64(2)
                .f32(1.5f)
                .f32(-0f)
                .key("doubles", 9)
                .u32(12)
                .u64(1)
                .f64(0.1)
                .key("bools", 9)
                .u32(7)
                .u64(2)
                .raw(0, 1)
                .key("nested", 9)
                .u32(9)
                .u64(2)
                .u32(0)
                .u64(3)
                .raw(1, 2, 200)
                .u32(8)
                .u64(1)
                .text("deep")
                .key("none", 9)
                .u32(8)
                .u64(0)
                .parse();
        List<String> texts = file.strings("texts");
        assertEquals(List.of("a", "", "\u2581b"), texts);
        assertThrows(UnsupportedOperationException.class, () -> texts.set(0, "x"));
        assertArrayEquals(new float[] {1.5f, -0f}, file.floats("floats"));
        assertArrayEquals(new double[] {0.1}, file.value("doubles").reals());
        assertArrayEquals(new double[] {1.5, -0.0}, file.value("floats").reals());
        assertEquals(
                List.of(false, true),
                file.value("bools").values().stream().map(GgufValue::bool).toList());
        List<GgufValue> nested = file.value("nested").values();
        assertArrayEquals(new long[] {1, 2, 200}, nested.get(0).integers());
        assertEquals(List.of("deep"), nested.get(1).strings());
        assertEquals(List.of(), file.strings("none"));
        assertEquals("ARRAY of 2 ARRAY", file.value("nested").toString());
    }

    @Test
    void whatIsMissingOrOfAnotherTypeIsNamed() throws IOException {
        Path path = folder.resolve("m.gguf");
        Files.write(
                path,
                GgufBytes.header(0, 3)
                        .key("n", 4)
                        .u32(7)
                        .key("s", 8)
                        .text("x")
                        .key("u", 10)
                        .u64(-1)
                        .toArray());
        try (Arena arena = Arena.ofConfined()) {
            Gguf file = Gguf.map(arena, path);
            String at = path + ": ";
            mentions(() -> file.string("no"), at + "no: not in the file; expected a value");
            mentions(() -> file.string("n"), at + "n: U32 7; expected a string");
            mentions(() -> file.integer("s"), at + "s: STRING \"x\"; expected an integer");
            mentions(() -> file.real("n"), at + "n: U32 7; expected an f32 or f64");
            mentions(() -> file.bool("n"), at + "n: U32 7; expected a bool");
            mentions(() -> file.strings("s"), at + "s: STRING \"x\"; expected an array of strings");
            mentions(() -> file.integers("n"), at + "n: U32 7; expected an array of integers");
            mentions(() -> file.floats("n"), at + "n: U32 7; expected an array of f32");
            mentions(() -> file.integer("u"), at + "u: U64 18446744073709551615; expected at most 2^63 - 1");
            mentions(() -> file.tensor("t"), path + ": tensor \"t\": not in the file; expected one of []");
            assertEquals(Optional.empty(), file.findString("no"));
            assertEquals(OptionalLong.empty(), file.findInteger("no"));
            assertEquals(OptionalDouble.empty(), file.findReal("no"));
            assertEquals(Optional.empty(), file.findBool("no"));
            assertEquals(OptionalLong.of(7), file.findInteger("n"));
            mentions(() -> file.findString("n"), at + "n: U32 7; expected a string");
        }
    }

    /** Sizes are innermost first in the file and outermost first in a tensor. */
    @ParameterizedTest
    @ValueSource(ints = {8, 32, 64})
    void tensorsAreViewsInRowMajorOrder(int alignment) {
        GgufBytes bytes = GgufBytes.header(3, 1)
                .alignment(alignment)
                .tensor("b", 0, alignment, 3, 2)
                .tensor("q", 8, alignment + Math.ceilDiv(24, alignment) * alignment, 32)
                .tensor("h", 1, 0, 2)
                .align(alignment)
                .u16(0x3c00)
                .u16(0x4000)
                .align(alignment);
        for (int i = 0; i < 6; i++) {
            bytes.f32(i);
        }
        Gguf file = bytes.align(alignment).u16(0x3c00).raw(5).zeros(31).parse();
        assertEquals(Set.of("b", "q", "h"), file.names());
        assertEquals(Shape.of(2, 3), file.tensor("b").shape());
        assertEquals(5, file.tensor("b").get(1, 2));
        assertEquals(1, file.tensor("b").get(0, 1));
        assertEquals(DType.F16, file.tensor("h").dtype());
        assertEquals(2, file.tensor("h").get(1));
        assertEquals("Q8_0", file.type("q"));
        assertEquals(Optional.of(BlockType.Q8_0), file.blockType("q"));
        assertEquals(Optional.empty(), file.blockType("h"));
        float[] row = new float[32];
        file.blocks("q").dequantizeRow(0, row, 0);
        assertEquals(5, row[0]);
        mentions(() -> file.tensor("q"), "tensor \"q\": Q8_0 [32]; expected F32, F16");
        mentions(() -> file.blocks("h"), "tensor \"h\": F16 [2]; expected [Q8_0");
    }

    @Test
    void otherTypesAreNamedWhenTheyAreAskedFor() {
        Gguf file = GgufBytes.header(3, 0)
                .tensor("a", 16, 0, 256)
                .tensor("b", 99, 128, 7)
                .tensor("c", 26, 160, 2)
                .align(32)
                .zeros(168)
                .parse();
        assertEquals("IQ2_XXS", file.type("a"));
        assertEquals("ggml type 99", file.type("b"));
        assertEquals(Shape.of(7), file.shape("b"));
        mentions(
                () -> file.blocks("a"),
                "tensor \"a\": IQ2_XXS [256]; expected [Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K, Q3_K, Q2_K, MXFP4, IQ4_NL, IQ4_XS]");
        mentions(() -> file.tensor("b"), "tensor \"b\": ggml type 99 [7]; expected F32, F16, BF16, I8 or F64");
        mentions(() -> file.tensor("c"), "tensor \"c\": I32 [2]; expected F32");
    }

    @Test
    void versionTwoIsTheSame() {
        byte[] bytes = GgufBytes.header(0, 1).key("k", 8).text("v").toArray();
        bytes[4] = 2;
        Gguf file = Gguf.parse(MemorySegment.ofArray(bytes));
        assertEquals(2, file.version());
        assertEquals("v", file.string("k"));
    }

    @Test
    void textThatIsNoUtf8IsNamedWhenItIsAskedFor() {
        Gguf file = GgufBytes.header(0, 2)
                .key("s", 8)
                .u64(3)
                .raw('a', 0xc0, 0xaf)
                .key("l", 9)
                .u32(8)
                .u64(1)
                .u64(3)
                .raw(0xed, 0xa0, 0x80)
                .parse();
        mentions(() -> file.string("s"), "s: byte 192 at index 1 of text; expected UTF-8");
        mentions(() -> file.strings("l"), "l: byte 237 at index 0 of text; expected UTF-8");
    }

    /** Parsing a vocabulary of 256,000 tokens and reading its strings allocates a few bytes per token. */
    @Test
    void aLargeVocabularyIsSmall() {
        int tokens = 256_000;
        GgufBytes bytes = GgufBytes.header(0, 2).key("tokens", 9).u32(8).u64(tokens);
        for (int i = 0; i < tokens; i++) {
            bytes.text("\u2581token" + i);
        }
        bytes.key("scores", 9).u32(6).u64(tokens).zeros(4 * tokens);
        MemorySegment memory = MemorySegment.ofArray(bytes.toArray());
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long before = threads.getCurrentThreadAllocatedBytes();
        List<String> texts = Gguf.parse(memory).strings("tokens");
        long garbage = threads.getCurrentThreadAllocatedBytes() - before;
        assertEquals("\u2581token255999", texts.get(tokens - 1));
        assertTrue(garbage < 8L * tokens + (1 << 20), garbage + " bytes");
    }

    @ParameterizedTest
    @ValueSource(strings = {"gpt-2", "llama-spm", "bert-bge", "deepseek-llm"})
    void realVocabulariesAreRead(String name) throws IOException {
        Path path = SharedModels.file("vocab/ggml-vocab-" + name + ".gguf");
        try (Arena arena = Arena.ofConfined()) {
            Gguf file = Gguf.map(arena, path);
            List<String> tokens = file.strings("tokenizer.ggml.tokens");
            assertTrue(tokens.size() > 30_000);
            assertEquals(tokens.size(), file.value("tokenizer.ggml.token_type").length());
            assertFalse(tokens.contains(null));
            assertEquals(Set.of(), file.names());
        }
    }

    /** The files contain the same trained weights in four formats, written by an independent program. */
    @Test
    void aRealModelHasTheSameWeightsInEveryFormat() throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            Gguf exact = Gguf.map(arena, SharedModels.file("stories260K/stories260K.f32.gguf"));
            assertEquals("llama", exact.string("general.architecture"));
            assertEquals(Shape.of(512, 64), exact.shape("token_embd.weight"));
            assertEquals(Shape.of(172, 64), exact.shape("blk.0.ffn_up.weight"));
            for (String format : List.of("f16", "q8_0", "q4_0")) {
                Gguf file = Gguf.map(arena, SharedModels.file("stories260K/stories260K." + format + ".gguf"));
                assertEquals(exact.names(), file.names());
                for (String name : file.names()) {
                    assertClose(exact.tensor(name).toArray(), values(file, name), stepOf(file.type(name)));
                }
            }
        }
    }

    private static float[] values(Gguf file, String name) {
        if (file.blockType(name).isEmpty()) {
            return file.tensor(name).toArray();
        }
        Tensor values = Tensor.of(
                new float[(int) file.shape(name).elements()], file.shape(name).toArray());
        file.blocks(name).dequantize(values);
        return values.toArray();
    }

    /**
     * Returns the rounding error of a format relative to the largest number of a block, which is half a step and the rounding of an f16
     * scale.
     */
    private static double stepOf(String type) {
        return switch (type) {
            case "F32" -> 0;
            case "F16" -> 0x1p-11;
            case "Q8_0" -> 0.5 / 127 + 0x1p-11;
            // the largest number has the quant -8; a number of the opposite sign may have an error of a whole step
            case "Q4_0" -> 1.0 / 8 + 0x1p-11;
            default -> throw new IllegalArgumentException(type);
        };
    }

    private static void assertClose(float[] exact, float[] rounded, double step) {
        assertEquals(exact.length, rounded.length);
        for (int from = 0; from < exact.length; from += 32) {
            int to = Math.min(from + 32, exact.length);
            float most = 0;
            for (float value : Arrays.copyOfRange(exact, from, to)) {
                most = Math.max(most, Math.abs(value));
            }
            for (int i = from; i < to; i++) {
                assertEquals(exact[i], rounded[i], step * most * 1.001 + 0x1p-25, "element " + i);
            }
        }
    }
}
