package io.multihead.format;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.lifecycle.AfterProperty;
import net.jqwik.api.lifecycle.BeforeProperty;

/** Files of random tensors are read with equal values. Damaged files are read or refused, and reads never leave the file. */
class SafetensorsProperties {
    /** Bytes that have a meaning in a header, so that a damaged header is often almost valid. */
    private static final byte[] TELLING =
            "{}[]\":,\\/u0123456789-+.eE tfn\n\0FIBU\u00e9".getBytes(StandardCharsets.UTF_8);

    private static final List<String> FRAGMENTS = List.of(
            "null",
            "true",
            "-1",
            "{}",
            "[]",
            "[[",
            "{\"a\":",
            "\"\"",
            "\\u0000",
            "\\ud800",
            "1e9",
            "__metadata__",
            "9223372036854775807",
            "18446744073709551616",
            "\"shape\":[0,4611686018427387904,3],",
            "\"I64\"",
            "0,");

    /** A tensor to write, with its type and sizes. Its axes may be reversed, and its memory may be a Java array. */
    record Part(DType dtype, List<Integer> dims, boolean transposed, boolean heap) {}

    record Content(Map<String, Part> parts, Map<String, String> metadata, long seed) {}

    private Path folder;

    @BeforeProperty
    void makeFolder() throws IOException {
        folder = Files.createTempDirectory("safetensors");
    }

    @AfterProperty
    void removeFolder() throws IOException {
        Files.deleteIfExists(folder.resolve("file"));
        Files.delete(folder);
    }

    @Provide
    Arbitrary<Content> contents() {
        Arbitrary<String> text = Arbitraries.oneOf(
                        Arbitraries.strings().ofMaxLength(6),
                        Arbitraries.strings()
                                .withChars("\"\\/\n\0\u001f\u007f{}\u00e9\u2028")
                                .ofMaxLength(6))
                .filter(t -> encodable(t) && !t.equals("__metadata__"));
        Arbitrary<Boolean> flag = Arbitraries.of(true, false);
        Arbitrary<Part> part = Combinators.combine(
                        Arbitraries.of(DType.class),
                        Arbitraries.integers().between(0, 5).list().ofMaxSize(4),
                        flag,
                        flag)
                .as(Part::new);
        return Combinators.combine(
                        Arbitraries.maps(text, part).ofMaxSize(5),
                        Arbitraries.maps(text, text).ofMaxSize(3),
                        Arbitraries.longs())
                .as(Content::new);
    }

    @Property(tries = 300)
    void whatIsWrittenIsRead(@ForAll("contents") Content content) throws IOException {
        Path path = folder.resolve("file");
        try (Arena arena = Arena.ofConfined()) {
            Map<String, Tensor> tensors = tensors(content, arena);
            Safetensors.write(path, tensors, content.metadata);
            Safetensors file = Safetensors.map(arena, path);
            assertEquals(content.metadata, file.metadata());
            assertEquals(List.copyOf(tensors.keySet()), List.copyOf(file.names()));
            tensors.forEach((name, tensor) -> {
                Tensor read = file.get(name);
                assertEquals(tensor.dtype(), read.dtype());
                assertEquals(tensor.shape(), read.shape());
                assertTrue(read.isDense());
                assertArrayEquals(tensor.toArray(), read.toArray());
            });
        }
    }

    @Property(tries = 500)
    void aDamagedFileIsReadOrRefused(@ForAll("contents") Content content, @ForAll long damage) throws IOException {
        Path path = folder.resolve("file");
        try (Arena arena = Arena.ofConfined()) {
            Safetensors.write(path, tensors(content, arena), content.metadata);
        }
        byte[] whole = Files.readAllBytes(path);
        SplittableRandom random = new SplittableRandom(damage);
        for (int i = 0; i < 40; i++) {
            byte[] broken = whole;
            for (int hits = random.nextInt(1, 4); hits > 0; hits--) {
                broken = damaged(broken, random);
            }
            // in half of the tries the length of the header is corrected, so that the parser reads the damage
            if (random.nextBoolean()) {
                fitLength(broken, whole, random.nextBoolean());
            }
            readOrRefuse(broken);
        }
    }

    @Property(tries = 50)
    void everyTruncatedFileIsRefused(@ForAll("contents") Content content) throws IOException {
        Path path = folder.resolve("file");
        try (Arena arena = Arena.ofConfined()) {
            Safetensors.write(path, tensors(content, arena), content.metadata);
        }
        byte[] whole = Files.readAllBytes(path);
        for (int length = 0; length < whole.length; length++) {
            MemorySegment part = MemorySegment.ofArray(Arrays.copyOf(whole, length));
            assertThrows(IllegalArgumentException.class, () -> Safetensors.parse(part));
        }
    }

    /** Reads a file or expects an IllegalArgumentException. Any other exception fails the property. */
    private static void readOrRefuse(byte[] bytes) {
        Safetensors file;
        try {
            file = Safetensors.parse(MemorySegment.ofArray(bytes));
        } catch (IllegalArgumentException refused) {
            assertTrue(refused.getMessage().contains("; expected"), refused.getMessage());
            return;
        }
        for (String name : file.names()) {
            try {
                Tensor tensor = file.get(name);
                assertEquals(tensor.shape().elements(), tensor.toArray().length);
            } catch (IllegalArgumentException refused) {
                assertTrue(refused.getMessage().startsWith("tensor \"" + name), refused.getMessage());
            }
            try {
                file.longs(name);
            } catch (IllegalArgumentException refused) {
                assertTrue(refused.getMessage().startsWith("tensor \"" + name), refused.getMessage());
            }
        }
    }

    private static byte[] damaged(byte[] whole, SplittableRandom random) {
        // most changes are in the header, where they have the most effects
        int header = whole.length < 8 ? 0 : MemorySegment.ofArray(whole).get(ValueLayout.JAVA_INT_UNALIGNED, 0);
        boolean anywhere = random.nextInt(4) == 0 || header <= 0 || header > whole.length - 8;
        int at = anywhere ? random.nextInt(whole.length + 1) : 8 + random.nextInt(header);
        int kind = random.nextInt(6);
        if (kind == 0) {
            return Arrays.copyOf(whole, at);
        }
        int removed = kind <= 2 ? 0 : Math.min(kind == 5 ? random.nextInt(1, 9) : 1, whole.length - at);
        byte[] added = {};
        if (kind == 1) {
            added = FRAGMENTS.get(random.nextInt(FRAGMENTS.size())).getBytes(StandardCharsets.UTF_8);
        } else if (kind == 2 || kind == 3) {
            added = new byte[] {TELLING[random.nextInt(TELLING.length)]};
        } else if (kind == 4 && removed == 1) {
            added = new byte[] {(byte) (whole[at] ^ 1 << random.nextInt(8))};
        }
        byte[] result = new byte[whole.length - removed + added.length];
        System.arraycopy(whole, 0, result, 0, at);
        System.arraycopy(added, 0, result, at, added.length);
        System.arraycopy(whole, at + removed, result, at + added.length, whole.length - at - removed);
        return result;
    }

    /** Sets the length of the header so that the header contains all damage, or fills the file. */
    private static void fitLength(byte[] broken, byte[] whole, boolean headerOnly) {
        if (broken.length >= 8) {
            long old = MemorySegment.ofArray(whole).get(ValueLayout.JAVA_LONG_UNALIGNED, 0);
            long length = headerOnly ? broken.length - 8 : Math.max(0, old + broken.length - whole.length);
            MemorySegment.ofArray(broken).set(ValueLayout.JAVA_LONG_UNALIGNED, 0, length);
        }
    }

    private static Map<String, Tensor> tensors(Content content, Arena arena) {
        SplittableRandom random = new SplittableRandom(content.seed);
        Map<String, Tensor> tensors = new LinkedHashMap<>();
        content.parts.forEach((name, part) -> {
            Shape shape = Shape.of(part.dims.stream().mapToLong(size -> size).toArray());
            int bytes = Math.toIntExact(shape.elements()) * part.dtype.bytes();
            MemorySegment memory = part.heap ? MemorySegment.ofArray(new double[bytes / 8 + 1]) : arena.allocate(bytes);
            Tensor flat = Tensor.view(memory, part.dtype, Shape.of(shape.elements()));
            for (long i = 0; i < shape.elements(); i++) {
                flat.set(random.nextInt(-100, 100), i);
            }
            Tensor tensor = Tensor.view(memory, part.dtype, shape);
            int rank = shape.rank();
            int[] reversed =
                    IntStream.range(0, rank).map(axis -> rank - 1 - axis).toArray();
            tensors.put(name, part.transposed ? tensor.permute(reversed) : tensor);
        });
        return tensors;
    }

    private static boolean encodable(String text) {
        return StandardCharsets.UTF_8.newEncoder().canEncode(text);
    }
}
