package io.multihead.format;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.faults.Named;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Reading of valid safetensors files, and messages for malformed files. */
class SafetensorsTest {
    @TempDir
    Path folder;

    /** A header (with ' instead of "), the number of data bytes after it, and the required part of the message. */
    record Bad(String header, int data, String message) {}

    static Stream<Bad> badJson() {
        return Stream.of(
                new Bad("", 0, "at character 0; expected more, not the end"),
                new Bad("   ", 0, "at character 3; expected more, not the end"),
                new Bad("[]", 0, "at character 0; expected '{'"),
                new Bad("null", 0, "at character 0; expected '{'"),
                new Bad("\ufeff{}", 0, "at character 0; expected '{'"),
                new Bad("{", 0, "at character 1; expected more"),
                new Bad("{'a", 0, "at character 3; expected more"),
                new Bad("{'a'", 0, "at character 4; expected more"),
                new Bad("{'a' {}}", 0, "at character 5; expected ':'"),
                new Bad("{'a':}", 0, "at character 5; expected a non-negative integer"),
                new Bad("{a:1}", 0, "at character 1; expected '\"'"),
                new Bad("{,}", 0, "at character 1; expected '\"'"),
                new Bad("{'a':1,}", 0, "at character 7; expected '\"'"),
                new Bad("{'a':1 'b':2}", 0, "at character 7; expected ','"),
                new Bad("{'a':1]", 0, "at character 6; expected ','"),
                new Bad("{} {}", 0, "at character 3; expected the end of the header"),
                new Bad("{}\0", 0, "at character 2; expected the end of the header"),
                new Bad("{'a':true}", 0, "at character 5; expected a non-negative integer"),
                new Bad("{'a':null}", 0, "at character 5; expected a non-negative integer"),
                new Bad("{'a':NaN}", 0, "at character 5; expected a non-negative integer"),
                new Bad("{'a':+1}", 0, "at character 5; expected a non-negative integer"),
                new Bad("{'a':-1}", 0, "at character 5; expected a non-negative integer"),
                new Bad("{'a':01}", 0, "at character 5; expected a non-negative integer"),
                new Bad("{'a':1.0}", 0, "at character 6; expected ','"),
                new Bad("{'a':1e3}", 0, "at character 6; expected ','"),
                new Bad("{'a':\u0661}", 0, "at character 5; expected a non-negative integer"),
                new Bad("{'a':9223372036854775808}", 0, "at character 5; expected an integer below 2^63"),
                new Bad("{'a':[1,]}", 0, "at character 8; expected a non-negative integer"),
                new Bad("{'a':[1", 0, "at character 7; expected more"),
                new Bad("{'a':[[1]]}", 0, "at character 6; expected a non-negative integer"),
                new Bad("{'a':['1']}", 0, "at character 6; expected a non-negative integer"),
                new Bad("{'a\nb':1}", 0, "at character 3; expected no control character"),
                new Bad("{'a\\x':1}", 0, "at character 4; expected an escape of JSON"),
                new Bad("{'\\u12", 0, "at character 6; expected more"),
                new Bad("{'\\u12g4':1}", 0, "at character 6; expected four hexadecimal digits"),
                new Bad("{'\\u\uff11\uff11\uff11\uff11':1}", 0, "at character 4; expected four hexadecimal digits"),
                new Bad("{'\\ud800':1}", 0, "expected surrogates in pairs"),
                new Bad("{'\\udc00\\ud800':1}", 0, "expected surrogates in pairs"),
                new Bad("{'\\", 0, "at character 3; expected more"),
                new Bad("{'a':{'b':{'c':{}}}}", 0, "expected no deeper nesting"),
                new Bad("{'a':".repeat(1 << 16), 0, "expected no deeper nesting"),
                new Bad("{'a':" + "[".repeat(1 << 16), 0, "expected a non-negative integer"));
    }

    static Stream<Bad> badEntries() {
        return Stream.of(
                new Bad("{'a':1}", 0, "tensor \"a\": not an object"),
                new Bad("{'a':'x'}", 0, "tensor \"a\": not an object"),
                new Bad("{'a':[1]}", 0, "tensor \"a\": not an object"),
                new Bad("{'a':{}}", 0, "tensor \"a\": dtype null; expected a string"),
                new Bad(entry("a", "1", "[1]", "[0,4]"), 4, "tensor \"a\": dtype 1; expected a string"),
                new Bad(entry("a", "[1]", "[1]", "[0,4]"), 4, "tensor \"a\": dtype [1]; expected a string"),
                new Bad(entry("a", "{}", "[1]", "[0,4]"), 4, "tensor \"a\": dtype {}; expected a string"),
                new Bad("{'a':{'dtype':'F32','data_offsets':[0,4]}}", 4, "shape null; expected an array of integers"),
                new Bad(entry("a", "'F32'", "1", "[0,4]"), 4, "shape 1; expected an array of integers"),
                new Bad(entry("a", "'F32'", "'1'", "[0,4]"), 4, "shape 1; expected an array of integers"),
                new Bad(entry("a", "'F32'", "{}", "[0,4]"), 4, "shape {}; expected an array of integers"),
                new Bad(entry("a", "'F32'", "[{}]", "[0,4]"), 4, "expected a non-negative integer"),
                new Bad(entry("a", "'F32'", "[-1]", "[0,4]"), 4, "expected a non-negative integer"),
                new Bad(entry("a", "'F32'", "[4294967296,4294967296]", "[0,4]"), 4, "product is below 2^63"),
                new Bad(entry("a", "'F32'", "[0,4611686018427387904,3]", "[0,0]"), 0, "product is below 2^63"),
                new Bad(entry("a", "'F32'", "[4611686018427387904,3,0]", "[0,0]"), 0, "product is below 2^63"),
                new Bad(entry("a", "'F32'", "[9223372036854775807]", "[0,4]"), 4, "4 bytes; expected shape"),
                new Bad(entry("a", "'F32'", "[4611686018427387905]", "[0,4]"), 4, "4 bytes; expected shape"),
                new Bad("{'a':{'dtype':'F32','shape':[1]}}", 4, "data_offsets null; expected an array of integers"),
                new Bad(entry("a", "'F32'", "[1]", "4"), 4, "data_offsets 4; expected an array of integers"),
                new Bad(entry("a", "'F32'", "[1]", "{}"), 4, "data_offsets {}; expected an array"),
                new Bad(entry("a", "'F32'", "[1]", "[]"), 4, "data_offsets []; expected a range within 4"),
                new Bad(entry("a", "'F32'", "[1]", "[0]"), 4, "data_offsets [0]; expected a range within 4"),
                new Bad(entry("a", "'F32'", "[1]", "[0,4,4]"), 4, "data_offsets [0, 4, 4]; expected a range"),
                new Bad(entry("a", "'F32'", "[1]", "[4,0]"), 4, "data_offsets [4, 0]; expected a range"),
                new Bad(entry("a", "'F32'", "[1]", "[0,8]"), 4, "data_offsets [0, 8]; expected a range within 4"),
                new Bad(entry("a", "'F32'", "[1]", "[9223372036854775803,9223372036854775807]"), 4, "within 4"),
                new Bad(entry("a", "'F32'", "[2]", "[0,4]"), 4, "4 bytes; expected shape [2] of F32, 4 bytes each"),
                new Bad(entry("a", "'F32'", "[]", "[0,0]"), 0, "0 bytes; expected shape [] of F32"),
                new Bad(entry("a", "'F32'", "[0]", "[0,4]"), 4, "4 bytes; expected shape [0] of F32"));
    }

    /** Shapes and offsets are checked for unknown element types, too. */
    static Stream<Bad> badEntriesOfUnknownTypes() {
        String a = "'a':{'dtype':'F4','shape':[2],'data_offsets':[0,1]}";
        return Stream.of(
                new Bad(entry("a", "'F4'", "{}", "[0,4]"), 4, "shape {}; expected an array of integers"),
                new Bad(entry("a", "'F4'", "[4294967296,4294967296]", "[0,4]"), 4, "product is below 2^63"),
                new Bad(entry("a", "'F4'", "[2]", "[0,8]"), 4, "data_offsets [0, 8]; expected a range within 4"),
                new Bad(entry("a", "'F4'", "[2]", "[4,0]"), 4, "data_offsets [4, 0]; expected a range within 4"),
                new Bad(entry("a", "'F4'", "[2]", "[0,9223372036854775807]"), 4, "expected a range within 4"),
                new Bad(entry("a", "'F4'", "[0]", "[0,4]"), 4, "tensor \"a\": 4 bytes; expected shape [0] of F4"),
                new Bad(entry("a", "'F4'", "[]", "[0,0]"), 0, "tensor \"a\": 0 bytes; expected shape [] of F4"),
                new Bad("{" + a + "," + part("b", 0, 4) + "}", 4, "tensor \"b\": starts at byte 0; expected 1"),
                new Bad("{" + a + "," + part("b", 2, 6) + "}", 6, "tensor \"b\": starts at byte 2; expected 1"),
                new Bad("{" + a + "}", 4, "file: 4 bytes of data; expected the 1"));
    }

    static Stream<Bad> badFiles() {
        String a = "'a':{'dtype':'F32','shape':[2],'data_offsets':[0,8]}";
        return Stream.of(
                new Bad("{" + a + "," + a + "}", 8, "\"a\" used twice; expected unique names"),
                new Bad("{" + a + "," + a.replace("'a'", "'\\u0061'") + "}", 8, "\"a\" used twice"),
                new Bad("{'a':{'dtype':'F32','dtype':'F32'}}", 8, "\"dtype\" used twice"),
                new Bad("{'__metadata__':{'k':'1','k':'2'}}", 0, "\"k\" used twice"),
                new Bad("{" + a + "," + a.replace("'a'", "'b'") + "}", 8, "tensor \"b\": starts at byte 0; expected 8"),
                new Bad("{" + a + "," + part("b", 4, 8) + "}", 8, "tensor \"b\": starts at byte 4; expected 8"),
                new Bad("{" + a + "," + part("b", 12, 16) + "}", 16, "tensor \"b\": starts at byte 12; expected 8"),
                new Bad("{" + part("b", 4, 8) + "}", 8, "tensor \"b\": starts at byte 4; expected 0"),
                new Bad("{" + a + "," + part("b", 4, 4) + "}", 8, "tensor \"b\": starts at byte 4; expected 8"),
                new Bad("{" + a + "}", 9, "file: 9 bytes of data; expected the 8"),
                new Bad("{}", 1, "file: 1 bytes of data; expected the 0"),
                new Bad("{'__metadata__':1}", 0, "__metadata__ is not an object"),
                new Bad("{'__metadata__':[]}", 0, "__metadata__ is not an object"),
                new Bad("{'__metadata__':{'k':1}}", 0, "__metadata__ \"k\" is not a string"),
                new Bad("{'__metadata__':{'k':{}}}", 0, "__metadata__ \"k\" is not a string"));
    }

    @ParameterizedTest
    @MethodSource({"badJson", "badEntries", "badEntriesOfUnknownTypes", "badFiles"})
    void aMalformedHeaderIsNamed(Bad bad) {
        assertFails(file(bad.header, bad.data), bad.message);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 7})
    void aFileWithoutALengthIsTooShort(int bytes) {
        assertFails(new byte[bytes], bytes + " bytes; expected at least the 8 bytes");
    }

    @ParameterizedTest
    @CsvSource({
        "1, 1 bytes; expected at most 0",
        "100000001, 100000001 bytes",
        "9223372036854775807, 9223372036854775807 bytes",
        "-1, 18446744073709551615 bytes",
        "-9223372036854775808, 9223372036854775808 bytes"
    })
    void anAbsurdHeaderLengthIsNamed(long length, String message) {
        byte[] bytes = new byte[8];
        ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).putLong(length);
        assertFails(bytes, "header: " + message);
    }

    @Test
    void theHeaderIsAtMostAsLongAsTheFormatAllows() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment file = arena.allocate(100_000_100);
            file.set(ValueLayout.JAVA_LONG_UNALIGNED, 0, 100_000_001);
            String message = assertThrows(IllegalArgumentException.class, () -> Safetensors.parse(file))
                    .getMessage();
            assertTrue(message.contains("100000001 bytes; expected at most 100000000"), message);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"ff", "c0af", "eda080", "f5808080", "80", "e282"})
    void theHeaderIsUtf8(String hex) {
        byte[] bytes = file("{'????':1}", 0);
        byte[] wrong = HexFormat.of().parseHex(hex);
        System.arraycopy(wrong, 0, bytes, 10, wrong.length);
        assertFails(bytes, "header: not UTF-8");
    }

    @Test
    void everyEscapeIsUnderstood() {
        Safetensors file =
                parse("{'__metadata__':{'\\'\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\u00E9\\ud83d\\ude00':'\u00e9'}}", 0);
        assertEquals(Map.of("\"\\/\b\f\n\r\t\u00e9\u00e9\ud83d\ude00", "\u00e9"), file.metadata());
        assertEquals(0, file.names().size());
    }

    @Test
    void spaceMayStandBetweenTokens() {
        Safetensors file =
                parse(" {\t'a' : { 'dtype' :\r\n'F32' , 'shape' : [ 1 , 1 ] , 'data_offsets' : [ 0 , 4 ] } } \n", 4);
        assertEquals(Shape.of(1, 1), file.get("a").shape());
    }

    @Test
    void unknownFieldsAndAnyOrderAreAllowed() {
        Safetensors file = parse(
                "{'b':{'data_offsets':[4,8],'x':{},'shape':[],'dtype':'F32'},'a':{'y':'','shape':[1],"
                        + "'dtype':'F32','data_offsets':[0,4]}}",
                8);
        assertEquals(List.of("b", "a"), List.copyOf(file.names()));
        assertEquals(Shape.of(), file.get("b").shape());
    }

    @Test
    void mapNamesTheFile() throws IOException {
        Path path = folder.resolve("broken.safetensors");
        for (byte[] bytes : List.of(new byte[0], new byte[8], file("{'a':1}", 0))) {
            Files.write(path, bytes);
            try (Arena arena = Arena.ofConfined()) {
                IllegalArgumentException wrong =
                        assertThrows(IllegalArgumentException.class, () -> Safetensors.map(arena, path));
                assertTrue(wrong.getMessage().startsWith(path + ": "), wrong.getMessage());
            }
        }
        try (Arena arena = Arena.ofConfined()) {
            assertThrows(NoSuchFileException.class, () -> Safetensors.map(arena, folder.resolve("none")));
            IllegalArgumentException wrong =
                    assertThrows(IllegalArgumentException.class, () -> Safetensors.map(arena, folder));
            assertEquals(folder + ": a folder; expected a file", wrong.getMessage());
        }
    }

    @Test
    void aNameThatIsNotThereListsTheNames() {
        Safetensors file = parse("{" + part("one", 0, 4) + "," + part("two", 4, 8) + "}", 8);
        for (IllegalArgumentException wrong : List.of(
                assertThrows(IllegalArgumentException.class, () -> file.get("three")),
                assertThrows(IllegalArgumentException.class, () -> file.longs("three")))) {
            assertEquals("tensor \"three\": not in the file; expected one of [one, two]", wrong.getMessage());
        }
        assertNull(file.find("three"));
        assertNotNull(file.find("two"));
        assertTrue(file.contains("one"));
        assertThrows(UnsupportedOperationException.class, () -> file.names().remove("one"));
        assertThrows(UnsupportedOperationException.class, () -> file.metadata().put("k", "v"));
    }

    @Test
    void longsAreReadAndOtherTypesNamed() {
        byte[] bytes = file(
                "{'n':{'dtype':'I64','shape':[2],'data_offsets':[0,16]}," + part("f", 16, 20)
                        + ",'i':{'dtype':'I32','shape':[2],'data_offsets':[20,28]}}",
                28);
        ByteBuffer data = ByteBuffer.wrap(bytes, bytes.length - 28, 28).order(ByteOrder.LITTLE_ENDIAN);
        data.putLong(Long.MIN_VALUE)
                .putLong(1L << 40)
                .putFloat(1)
                .putInt(Integer.MIN_VALUE)
                .putInt(7);
        Safetensors file = Safetensors.parse(MemorySegment.ofArray(bytes));
        assertArrayEquals(new long[] {Long.MIN_VALUE, 1L << 40}, file.longs("n"));
        assertArrayEquals(new long[] {Integer.MIN_VALUE, 7}, file.longs("i"));
        assertEquals("I64", file.elementType("n"));
        assertEquals("[2]", file.shape("i").toString());
        Named.message("tensor \"x\": not in the file; expected one of [n, f, i]", () -> file.shape("x"));
        assertEquals(
                "tensor \"n\": dtype I64; expected F32, F64, BF16, F16, I8, U8 or BOOL",
                assertThrows(IllegalArgumentException.class, () -> file.get("n"))
                        .getMessage());
        assertEquals(
                "tensor \"f\": dtype F32; expected I64 or I32",
                assertThrows(IllegalArgumentException.class, () -> file.longs("f"))
                        .getMessage());
    }

    /** Some types are not in the format, one may be added to it, and one has several elements per byte. */
    @ParameterizedTest
    @CsvSource({"F31, 4, 1", "f32, 4, 1", "'', 1, 3", "F8_E8M0, 2, 2", "F4, 4, 8", "F4, 0, 0"})
    void aTensorOfAnUnknownTypeIsRefusedWhenItIsAskedFor(String dtype, int bytes, int elements) {
        String unknown = entry("u", "'" + dtype + "'", "[" + elements + "]", "[4," + (4 + bytes) + "]");
        String header = "{" + part("a", 0, 4) + "," + unknown.substring(1, unknown.length() - 1) + ","
                + part("b", 4 + bytes, 8 + bytes) + "}";
        byte[] file = file(header, 8 + bytes);
        ByteBuffer.wrap(file)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putFloat(file.length - 8 - bytes, 5)
                .putFloat(file.length - 4, 6);
        Safetensors tensors = Safetensors.parse(MemorySegment.ofArray(file));
        assertEquals(List.of("a", "u", "b"), List.copyOf(tensors.names()));
        assertTrue(tensors.contains("u"));
        assertArrayEquals(new float[] {5}, tensors.get("a").toArray());
        assertArrayEquals(new float[] {6}, tensors.get("b").toArray());
        String refused = "tensor \"u\": dtype " + dtype + "; expected ";
        Named.message(refused + "F32, F64, BF16, F16, I8, U8 or BOOL", () -> tensors.get("u"));
        Named.message(refused + "F32, F64, BF16, F16, I8, U8 or BOOL", () -> tensors.find("u"));
        Named.message(refused + "I64 or I32", () -> tensors.longs("u"));
    }

    @Test
    void longsAreReadFromWhereTheyBegin() {
        byte[] bytes = file("{" + part("f", 0, 4) + ",'n':{'dtype':'I64','shape':[1],'data_offsets':[4,12]}}", 12);
        ByteBuffer.wrap(bytes, bytes.length - 8, 8)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(77);
        assertArrayEquals(
                new long[] {77}, Safetensors.parse(MemorySegment.ofArray(bytes)).longs("n"));
    }

    @Test
    void aRangeOfAnotherLengthThanTheShapeIsNamed() {
        assertEquals(
                "tensor \"b\": 4 bytes; expected shape [2] of F32, 4 bytes each",
                assertThrows(
                                IllegalArgumentException.class,
                                () -> parse(
                                        "{" + part("a", 0, 4)
                                                + ",'b':{'dtype':'F32','shape':[2],'data_offsets':[4,8]}}",
                                        8))
                        .getMessage());
    }

    @Test
    void moreThanTenNamesAreCounted() {
        assertEquals(
                "tensor \"x\": not in the file; expected one of [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]",
                assertThrows(IllegalArgumentException.class, () -> named(10).get("x"))
                        .getMessage());
        assertEquals(
                "tensor \"x\": not in the file; expected one of 11, such as [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]",
                assertThrows(IllegalArgumentException.class, () -> named(11).get("x"))
                        .getMessage());
    }

    private static Safetensors named(int count) {
        return parse(
                IntStream.range(0, count)
                        .mapToObj(i -> part(String.valueOf(i), 4 * i, 4 * i + 4))
                        .collect(Collectors.joining(",", "{", "}")),
                4 * count);
    }

    @Test
    void longsThatNoArrayHoldsAreRefused() throws IOException {
        Path path = folder.resolve("sparse");
        long bytes = 8L << 31; // the file is sparse: it takes a few blocks on disk
        String header = "{'n':{'dtype':'I64','shape':[2147483648],'data_offsets':[0," + bytes + "]}}";
        byte[] start = file(header, 0);
        try (FileChannel channel = FileChannel.open(
                path, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE, StandardOpenOption.SPARSE)) {
            channel.write(ByteBuffer.wrap(start));
            channel.write(ByteBuffer.allocate(1), start.length + bytes - 1);
        }
        try (Arena arena = Arena.ofConfined()) {
            Safetensors file = Safetensors.map(arena, path);
            assertEquals(
                    "tensor \"n\" elements: 2147483648; expected 0 to 2147483639",
                    assertThrows(IllegalArgumentException.class, () -> file.longs("n"))
                            .getMessage());
        }
    }

    @ParameterizedTest
    @CsvSource({"BOOL, 1", "U8, 1", "I8, 1", "F16, 2", "BF16, 2", "F32, 4", "F64, 8"})
    void everyElementTypeHasItsSize(String dtype, int size) {
        Tensor tensor = parse(entry("a", "'" + dtype + "'", "[3]", "[0," + 3 * size + "]"), 3 * size)
                .get("a");
        assertEquals(size, tensor.dtype().bytes());
        assertEquals(0, tensor.get(2));
    }

    private static String entry(String name, String dtype, String shape, String offsets) {
        return "{'" + name + "':{'dtype':" + dtype + ",'shape':" + shape + ",'data_offsets':" + offsets + "}}";
    }

    private static String part(String name, int from, int to) {
        String shape = "[" + (to - from) / 4 + "]";
        String whole = entry(name, "'F32'", shape, "[" + from + "," + to + "]");
        return whole.substring(1, whole.length() - 1);
    }

    private static Safetensors parse(String header, int data) {
        return Safetensors.parse(MemorySegment.ofArray(file(header, data)));
    }

    private static byte[] file(String header, int data) {
        byte[] json = header.replace('\'', '"').getBytes(StandardCharsets.UTF_8);
        ByteBuffer file = ByteBuffer.allocate(8 + json.length + data).order(ByteOrder.LITTLE_ENDIAN);
        return file.putLong(json.length).put(json).array();
    }

    private static void assertFails(byte[] file, String message) {
        IllegalArgumentException wrong = assertThrows(
                IllegalArgumentException.class,
                () -> Safetensors.parse(MemorySegment.ofArray(file)),
                () -> Arrays.toString(file));
        assertTrue(wrong.getMessage().contains(message), wrong.getMessage() + " does not say " + message);
    }
}
