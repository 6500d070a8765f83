package io.multihead.internal.base;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class DownloadsTest {
    private static String refused(String text) {
        MemorySegment file = MemorySegment.ofArray(text.getBytes(StandardCharsets.UTF_8));
        return assertThrows(IllegalArgumentException.class, () -> Downloads.requireBinary(file, "a model"))
                .getMessage();
    }

    /** The bytes that are read may end within a character. */
    @Test
    void textOfAnyLanguageIsNamed() {
        assertEquals("file: begins with the text \"Entry not found\"; expected a model", refused("Entry not found\n"));
        assertEquals(
                "file: begins with the text \"Datei fehlt: größe\"; expected a model", refused("Datei fehlt: größe"));
        assertEquals(
                "file: begins with the text \"a" + "\u6587".repeat(7) + "\"; expected a model",
                refused("a" + "\u6587".repeat(9)));
    }

    @Test
    void bytesThatNoTextHasAreBinary() {
        for (int binary : new int[] {0, 1, 0x7f, 0xc0, 0xc1, 0xf5, 0xff}) {
            Downloads.requireBinary(MemorySegment.ofArray(new byte[] {'a', (byte) binary}), "a model");
        }
        Downloads.requireBinary(MemorySegment.ofArray(new byte[0]), "a model");
    }

    @Test
    void pointersWithTheLineEndsOfWindowsSayTheSize() {
        String pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0f\nsize 90868376\n";
        for (String text : new String[] {pointer, pointer.replace("\n", "\r\n")}) {
            byte[] head = text.getBytes(StandardCharsets.UTF_8);
            String message = assertThrows(
                            IllegalArgumentException.class, () -> Downloads.requireFile(Path.of("model"), head))
                    .getMessage();
            assertEquals(
                    "model: a pointer of Git LFS; expected the file itself, 90868376 bytes; get it by: git lfs pull, or hf download",
                    message);
        }
    }
}
