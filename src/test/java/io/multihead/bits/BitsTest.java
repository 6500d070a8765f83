package io.multihead.bits;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.compute.Compute;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Hashes of the results of a few hundred calls with every feature, element type and layout, forward and backward. A change of code that
 * should not change results must not change a hash, at any lane width and on any number of threads.
 *
 * <p>The commit of an intended change of results names the change and contains the new hashes. {@code target/bits} has a line per call.
 * Comparing it with the files of a build before the change shows the calls whose results differ.
 */
@Tag("lanes")
@Tag("bits")
class BitsTest {
    private static final Path CALLS = Path.of("target", "bits");

    @Test
    void gemm() throws IOException {
        check("gemm", "0a12566f0882b97e", GemmBits::run);
    }

    @Test
    void attention() throws IOException {
        check("attention", "188bf1caf7ff1398", AttentionBits::run);
    }

    @Test
    void scores() throws IOException {
        check("scores", "10c13500c4f1c756", ScoreBits::run);
    }

    @Test
    void backward() throws IOException {
        check("backward", "a148db9f1750fd80", BackwardBits::run);
    }

    @Test
    void cache() throws IOException {
        check("cache", "cee525cdd8a5fe61", CacheBits::run);
    }

    @Test
    void cacheOfBlocks() throws IOException {
        check("cacheOfBlocks", "d6848fef6707641b", CacheBits::runBlocks);
    }

    @Test
    void position() throws IOException {
        check("position", "07d34ef3d6a8f38f", PositionBits::run);
    }

    @Test
    void layers() throws IOException {
        check("layers", "b4b7d02f01d33682", LayerBits::run);
    }

    @Test
    void multiHead() throws IOException {
        check("multiHead", "8b6734c2481fba6d", MultiHeadBits::run);
    }

    /** Makes the calls on three threads. At the preferred lane width it also makes them on one thread, which doubles the time. */
    private static void check(String group, String expected, Consumer<Bits> calls) throws IOException {
        String lanes = System.getProperty("io.multihead.lanes");
        Bits threaded;
        try (Compute cpu = Compute.threads(3)) {
            threaded = new Bits(cpu);
            calls.accept(threaded);
        }
        Files.createDirectories(CALLS);
        Path written = Files.write(
                CALLS.resolve(group + "-" + (lanes == null ? "preferred" : lanes) + ".txt"), threaded.calls());
        if (lanes == null) {
            Bits serial = new Bits(Compute.serial());
            calls.accept(serial);
            assertEquals(String.join("\n", serial.calls()), String.join("\n", threaded.calls()), group + ": 3 threads");
        }
        assertEquals(expected, threaded.hash(), group + ": bits changed; the hash of each call is in " + written);
    }
}
