package io.multihead.internal.base;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CacheSizesTest {
    @TempDir
    private Path folder;

    private void cache(int index, String level, String type, String size) throws IOException {
        Path cache = Files.createDirectories(folder.resolve("index" + index));
        Files.writeString(cache.resolve("level"), level + "\n");
        Files.writeString(cache.resolve("type"), type + "\n");
        Files.writeString(cache.resolve("size"), size + "\n");
    }

    @Test
    void dataCachesAreRead() throws IOException {
        cache(0, "1", "Data", "48K");
        cache(1, "1", "Instruction", "64K");
        cache(2, "2", "Unified", "2048K");
        cache(3, "3", "Unified", "32M");
        cache(4, "4", "Unified", "1G");
        assertEquals(new CacheSizes(48 << 10, 2 << 20, 32 << 20), CacheSizes.read(folder));
    }

    @Test
    void propertiesAreSizesOrRefused() {
        assertEquals(7, CacheSizes.property("l1", null, 7));
        assertEquals(49152, CacheSizes.property("l1", "49152", 7));
        assertEquals(49152, CacheSizes.property("l1", "48K", 7));
        for (String wrong : new String[] {"", "K", "48k", "-1", "48KB", "9".repeat(10), "\u0664"}) {
            assertEquals(
                    "l1: " + (wrong.isEmpty() ? "\"\"" : wrong) + "; expected bytes, such as 49152 or 48K",
                    assertThrows(IllegalArgumentException.class, () -> CacheSizes.property("l1", wrong, 7))
                            .getMessage());
        }
    }

    @Test
    void whatTheSystemDoesNotTellIsZero() throws IOException {
        assertEquals(new CacheSizes(0, 0, 0), CacheSizes.read(folder.resolve("none")));
        assertEquals(new CacheSizes(0, 0, 0), CacheSizes.read(folder));
        cache(2, "2", "Unified", "1024K");
        assertEquals(new CacheSizes(0, 1 << 20, 0), CacheSizes.read(folder));
        cache(3, "3", "Unified", "");
        assertEquals(new CacheSizes(0, 0, 0), CacheSizes.read(folder), "a size that is no number");
        cache(3, "three", "Unified", "32M");
        assertEquals(new CacheSizes(0, 0, 0), CacheSizes.read(folder), "a level that is no number");
    }
}
