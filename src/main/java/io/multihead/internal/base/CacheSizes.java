package io.multihead.internal.base;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * The sizes of a core's data caches in bytes, which determine the block sizes of products; results do not depend on them. Linux reports
 * them in {@code sysfs}. A size that the system does not report is 0.
 *
 * @param l1 the first level
 * @param l2 the second level
 * @param l3 the third level, shared with other cores
 */
public record CacheSizes(long l1, long l2, long l3) {
    /**
     * The property with the bytes of a core's L1 data cache, for a machine that does not report them, and for measurements with other
     * block sizes.
     */
    public static final String L1 = "io.multihead.l1";

    /** The property with the bytes of a core's L2 cache. */
    public static final String L2 = "io.multihead.l2";

    private static final Path LINUX = Path.of("/sys/devices/system/cpu/cpu0/cache");

    public static CacheSizes ofThisMachine() {
        CacheSizes told = read(LINUX);
        return new CacheSizes(
                property(L1, System.getProperty(L1), told.l1), property(L2, System.getProperty(L2), told.l2), told.l3);
    }

    /** Returns the size that a property sets, or else the size of the machine. */
    static long property(String name, @Nullable String size, long told) {
        if (size == null) {
            return told;
        }
        if (!size.matches("[0-9]{1,9}[KMG]?")) { // a number of 9 digits and a unit fits a long
            throw Checks.fail(name, size, "expected bytes, such as 49152 or 48K");
        }
        return bytes(size);
    }

    /** Reads a folder that has a folder {@code index*} for each cache, with files {@code level}, {@code type} and {@code size}. */
    static CacheSizes read(Path folder) {
        long[] sizes = new long[4];
        try (DirectoryStream<Path> caches = Files.newDirectoryStream(folder, "index*")) {
            for (Path cache : caches) {
                int level = Integer.parseInt(text(cache, "level"));
                if (level >= 1 && level <= 3 && !text(cache, "type").equals("Instruction")) {
                    sizes[level] = bytes(text(cache, "size"));
                }
            }
        } catch (IOException | NumberFormatException e) {
            return new CacheSizes(
                    0, 0, 0); // another system, or a container that hides the sizes, which only affect speed
        }
        return new CacheSizes(sizes[1], sizes[2], sizes[3]);
    }

    private static String text(Path cache, String name) throws IOException {
        return Files.readString(cache.resolve(name)).strip();
    }

    /** Returns the bytes of a size such as {@code 48K} or {@code 2M}. */
    private static long bytes(String size) {
        int digits = size.length() - 1;
        return switch (size.isEmpty() ? ' ' : size.charAt(digits)) {
            case 'K' -> Long.parseLong(size.substring(0, digits)) << 10;
            case 'M' -> Long.parseLong(size.substring(0, digits)) << 20;
            case 'G' -> Long.parseLong(size.substring(0, digits)) << 30;
            default -> Long.parseLong(size);
        };
    }
}
