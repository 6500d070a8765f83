package io.multihead.format;

import static io.multihead.faults.Named.mentions;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.support.TestTensors;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Written GGUF files are compared with expected bytes and read by the reader. */
class GgufWriterTest {
    @TempDir
    Path folder;

    /** The file is compared with bytes that are composed according to the specification. */
    @Test
    void theBytesAreThoseOfTheSpecification() throws IOException {
        Path file = folder.resolve("a.gguf");
        new GgufWriter()
                .put("general.architecture", GgufValue.ofString("x"))
                .put("n", GgufValue.ofInteger(GgufType.I16, -2))
                .put("l", GgufValue.ofStrings(List.of("\u00e9", "")))
                .tensor("t", Tensor.of(new float[] {1, 2, 3, 4, 5, 6}, 2, 3))
                .tensor("h", Tensor.of(new float[] {7}))
                .write(file);
        byte[] expected = GgufBytes.header(2, 3)
                .key("general.architecture", 8)
                .text("x")
                .key("n", 3)
                .u16(65534)
                .key("l", 9)
                .u32(8)
                .u64(2)
                .text("\u00e9")
                .text("")
                .tensor("t", 0, 0, 3, 2)
                .tensor("h", 0, 32, 1)
                .align(32)
                .f32(1)
                .f32(2)
                .f32(3)
                .f32(4)
                .f32(5)
                .f32(6)
                .zeros(8)
                .f32(7)
                .zeros(28)
                .toArray();
        assertArrayEquals(expected, Files.readAllBytes(file));
    }

    @Test
    void metadataOfAllTypesComesBack() throws IOException {
        List<GgufValue> values = new ArrayList<>();
        for (GgufType type : GgufType.values()) {
            if (type.isInteger()) {
                boolean signed = type.toString().startsWith("I");
                int bits = 8 * type.bytes();
                long most = bits == 64 ? Long.MAX_VALUE : (1L << (signed ? bits - 1 : bits)) - 1;
                long least = signed ? -most - 1 : 0;
                values.add(GgufValue.ofInteger(type, most));
                values.add(GgufValue.ofInteger(type, least));
                values.add(GgufValue.ofIntegers(type, least, 7, most));
                if (type != GgufType.I64) {
                    mentions(() -> GgufValue.ofInteger(type, least - 1), "expected " + least + " to " + most);
                }
                if (most < Long.MAX_VALUE) {
                    mentions(
                            () -> GgufValue.ofIntegers(type, 0, most + 1), "values[1]: " + (most + 1), type + " holds");
                }
            } else {
                mentions(() -> GgufValue.ofInteger(type, 0), "type: " + type + "; expected a type of integers");
            }
        }
        GgufValue nested = GgufValue.ofValues(
                GgufType.ARRAY, List.of(GgufValue.ofFloats(1.5f, Float.NaN), GgufValue.ofStrings(List.of())));
        values.addAll(List.of(
                GgufValue.ofF32(-0f),
                GgufValue.ofF64(0.1),
                GgufValue.ofBool(true),
                GgufValue.ofString("\u2581\ud83d\ude00"),
                GgufValue.ofValues(GgufType.BOOL, List.of(GgufValue.ofBool(false), GgufValue.ofBool(true))),
                GgufValue.ofValues(GgufType.F64, List.of(GgufValue.ofF64(2))),
                nested));
        GgufWriter writer = new GgufWriter();
        for (int i = 0; i < values.size(); i++) {
            writer.put("k" + i, values.get(i));
        }
        Path file = folder.resolve("m.gguf");
        writer.write(file);
        try (Arena arena = Arena.ofConfined()) {
            Gguf read = Gguf.map(arena, file);
            GgufWriter again = new GgufWriter();
            for (int i = 0; i < values.size(); i++) {
                GgufValue value = read.value("k" + i);
                assertEquals(values.get(i).type(), value.type());
                assertEquals(-1, values.get(i).bytes().mismatch(value.bytes()), "value " + i + ": " + value);
                again.put("k" + i, value);
            }
            assertEquals(Long.MAX_VALUE, read.integer("k18"));
            assertEquals(
                    1.5f, read.value("k" + (values.size() - 1)).values().get(0).floats()[0]);
            Path copy = folder.resolve("copy.gguf");
            again.write(copy);
            assertEquals(-1, Files.mismatch(file, copy));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {8, 32, 256, 4096})
    void tensorsOfAllTypesComeBack(int alignment) throws IOException {
        Path file = folder.resolve("t.gguf");
        SplittableRandom random = new SplittableRandom(alignment);
        try (Arena arena = Arena.ofConfined()) {
            GgufWriter writer = new GgufWriter().put("general.alignment", GgufValue.ofInteger(GgufType.U32, alignment));
            List<Tensor> tensors = new ArrayList<>();
            for (DType dtype : DType.values()) {
                Tensor tensor = Tensor.allocate(arena, dtype, Shape.of(3, 5, 7));
                TestTensors.fill(tensor, random::nextGaussian);
                tensors.add(tensor.transpose(0, 2));
                tensors.add(tensor.select(0, 1).slice(1, 2, 5));
            }
            for (int i = 0; i < tensors.size(); i++) {
                writer.tensor("t" + i, tensors.get(i));
            }
            List<BlockTensor> blocks = new ArrayList<>();
            Tensor weights = Tensor.allocate(arena, DType.F32, Shape.of(3, 512));
            TestTensors.fill(weights, random::nextGaussian);
            for (BlockType type : BlockType.values()) {
                blocks.add(BlockTensor.quantize(arena, weights, type));
                writer.blocks("b" + type, blocks.getLast().slice(1, 3));
                writer.blocks("lazy" + type, type, weights.shape(), own -> BlockTensor.quantize(own, weights, type));
            }
            writer.write(file);
            Gguf read = Gguf.map(arena, file);
            for (int i = 0; i < tensors.size(); i++) {
                Tensor tensor = read.tensor("t" + i);
                assertEquals(tensors.get(i).dtype(), tensor.dtype());
                assertEquals(tensors.get(i).shape(), tensor.shape());
                assertArrayEquals(tensors.get(i).toArray(), tensor.toArray());
                assertEquals(0, (tensor.memory().address() - firstByte(read)) % alignment);
            }
            for (BlockTensor made : blocks) {
                assertArrayEquals(bytes(made.slice(1, 3)), bytes(read.blocks("b" + made.type())));
                assertArrayEquals(bytes(made), bytes(read.blocks("lazy" + made.type())));
            }
            assertEquals(0, Files.size(file) % alignment);
        }
    }

    /**
     * Returns the address of the file in memory. Mapped files begin on a page, and pages are multiples of every alignment in these tests.
     */
    private static long firstByte(Gguf file) {
        return file.tensor("t0").memory().address() & -4096;
    }

    private static byte[] bytes(BlockTensor blocks) {
        return blocks.memory().asSlice(blocks.offset(), blocks.bytes()).toArray(ValueLayout.JAVA_BYTE);
    }

    /** The file has 300 MB, and 1 MB at a time is in memory. */
    @Test
    void aFileMayBeLargerThanWhatIsInMemory() throws IOException {
        Path file = folder.resolve("large.gguf");
        GgufWriter writer = new GgufWriter();
        List<Integer> alive = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            int number = i;
            writer.tensor("t" + i, new LazyTensor(DType.F32, Shape.of(1 << 18), arena -> {
                alive.add(number);
                assertEquals(number + 1, alive.size(), "one after the other");
                Tensor made = Tensor.allocate(arena, DType.F32, Shape.of(1 << 18));
                made.set(number, 17);
                return made;
            }));
        }
        writer.write(file);
        try (Arena arena = Arena.ofConfined()) {
            Gguf read = Gguf.map(arena, file);
            assertEquals(299, read.tensor("t299").get(17));
            assertEquals(123, read.tensor("t123").get(17));
        }
    }

    @Test
    void whatCannotBeWrittenIsNamed() {
        GgufWriter writer = new GgufWriter().put("k", GgufValue.ofF32(1)).tensor("t", Tensor.of(new float[1]));
        mentions(() -> writer.put("k", GgufValue.ofF32(1)), "k: added twice; expected every name once");
        mentions(() -> writer.put("", GgufValue.ofF32(1)), "key \"\": 0 bytes; expected 1 to 65535");
        mentions(() -> writer.put("\u00e9".repeat(32768), GgufValue.ofF32(1)), "65536 bytes; expected 1 to 65535");
        mentions(() -> writer.put("\ud800", GgufValue.ofF32(1)), "an unpaired surrogate");
        mentions(
                () -> writer.put("general.alignment", GgufValue.ofInteger(GgufType.U32, 48)),
                "general.alignment: 48; expected a power of two");
        mentions(
                () -> writer.put("general.alignment", GgufValue.ofInteger(GgufType.U64, 32)),
                "general.alignment: type U64; expected U32");
        mentions(() -> GgufValue.ofString("\udc00"), "text: an unpaired surrogate");
        mentions(() -> GgufValue.ofStrings(List.of("a", "\udc00")), "texts[1]: an unpaired surrogate");
        mentions(
                () -> GgufValue.ofValues(GgufType.F32, List.of(GgufValue.ofF32(1), GgufValue.ofF64(1))),
                "values[1]: F64 1.0; expected F32");
        Tensor one = Tensor.of(new float[1]);
        mentions(() -> writer.tensor("t", one), "tensor \"t\": added twice");
        mentions(() -> writer.tensor("n".repeat(64), one), "64 bytes; expected 1 to 63");
        mentions(() -> writer.tensor("s", one.select(0, 0)), "tensor \"s\": shape []; expected 1 to 4 sizes");
        mentions(() -> writer.tensor("s", one.reshape(1, 1, 1, 1, 1)), "tensor \"s\": shape [1, 1, 1, 1, 1]");
        mentions(() -> writer.tensor("s", one.slice(0, 0, 0)), "tensor \"s\": shape [0]; expected 1 to 4 sizes");
        mentions(
                () -> writer.blocks("s", BlockType.Q4_K, Shape.of(1, 32), arena -> null),
                "shape: [1, 32]; expected rows of a multiple of 256, as Q4_K has blocks");
        Tensor huge = one.broadcast(1L << 61);
        mentions(() -> writer.tensor("s", huge), "tensor \"s\": F32 [2305843009213693952]; expected fewer than 2^63");
    }

    @Test
    void aFileThatFailsIsNotThere() throws IOException {
        Path file = folder.resolve("f.gguf");
        new GgufWriter().put("k", GgufValue.ofF32(1)).write(file);
        byte[] before = Files.readAllBytes(file);
        GgufWriter other = new GgufWriter()
                .tensor("a", Tensor.of(new float[1 << 20]))
                .tensor("b", new LazyTensor(DType.F32, Shape.of(2), arena -> Tensor.of(new float[3])));
        mentions(() -> other.write(file), "tensor \"b\": F32 [3]; expected F32 [2], as announced");
        GgufWriter blocks = new GgufWriter()
                .blocks(
                        "b",
                        BlockType.Q8_0,
                        Shape.of(1, 32),
                        arena -> BlockTensor.view(
                                MemorySegment.ofArray(new byte[18]), BlockType.Q4_0, Shape.of(1, 32), 0));
        mentions(() -> blocks.write(file), "tensor \"b\": Q4_0 [1, 32]; expected Q8_0 [1, 32], as announced");
        assertThrows(IOException.class, () -> other.write(folder.resolve("none/f.gguf")));
        assertArrayEquals(before, Files.readAllBytes(file));
        try (Stream<Path> files = Files.list(folder)) {
            assertTrue(files.allMatch(file::equals), "a temporary file is left");
        }
    }
}
