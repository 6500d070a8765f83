package io.multihead.internal.kernel;

import io.multihead.internal.base.VectorApiCheck;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorShape;
import jdk.incubator.vector.VectorSpecies;

/** The only vector width of this JVM, and the sizes of rows and panels that all kernels share. */
public final class Lanes {
    static final VectorSpecies<Float> FLOATS = species();
    static final VectorSpecies<Integer> INTS = FLOATS.withLanes(int.class);
    /** Vectors of doubles with half as many lanes. */
    static final VectorSpecies<Double> DOUBLES = FLOATS.withLanes(double.class);

    /** f32 lanes in one vector. */
    public static final int COUNT = FLOATS.length();

    /** Columns of one panel: two vectors of 16 lanes, four of 8, eight of 4. */
    public static final int PANEL = 32;

    /** Columns of half a panel: the distance between the two vectors of a tile that come from one vector of 16-bit elements. */
    public static final int HALF = PANEL / 2;

    /**
     * Floats from one row of the left operand to the next (LDA). It is a constant, so that C2 addresses all rows of a tile from one
     * register. It is more than {@link MicroKernel#MAX_DEPTH}, so that the rows do not fall into the same cache sets.
     */
    public static final int ROW = 544;

    /** The number of rows of scratch matrices is rounded up to a multiple of this number, so that the last tile may overrun. */
    public static final int ROW_STEP = 8;

    /**
     * Whether the processor has only 16 vector registers, like x86 without AVX-512: a tile of six rows then keeps one of its 12
     * accumulators in memory, which halves the speed. On Zen 3 it reaches 43 GFLOP/s, and a tile of five rows 88, of a peak of 103. On
     * AVX-512 the JVM prefers vectors of 16 lanes; if an option sets narrower vectors, tiles have five rows, too.
     */
    public static final boolean FEW_REGISTERS = COUNT < 16 && isX86();

    private static final int LEAST_BITS = 128;
    private static final int MOST_BITS = 512;

    private Lanes() {}

    /** Returns the smallest multiple of {@code step}, a power of two or not, that is at least {@code size}. */
    public static int roundUp(int size, int step) {
        return (size + step - 1) / step * step;
    }

    /**
     * Returns the first column of the tile after the one at {@code column}; a tile covers two vectors, {@code vectorStride} columns apart.
     */
    public static int nextTile(int column, int vectorStride) {
        int next = column + COUNT;
        return next % vectorStride == 0 ? next + vectorStride : next;
    }

    /** Returns {@code vectorStride}, the columns from a tile's first vector to its second, as a constant if only one value is possible. */
    static int second(int vectorStride) {
        return COUNT == HALF ? HALF : vectorStride;
    }

    /** Returns whether the processor is x86. Linux and Windows report amd64, and macOS reports x86_64. */
    private static boolean isX86() {
        String processor = System.getProperty("os.arch");
        return processor.equals("amd64") || processor.equals("x86_64");
    }

    private static VectorSpecies<Float> species() {
        VectorApiCheck.requireVectorModule();
        String bits = System.getProperty(VectorApiCheck.LANES);
        int width = bits == null ? FloatVector.SPECIES_PREFERRED.vectorBitSize() : Integer.parseInt(bits);
        // a JVM may prefer 64 bits (-XX:MaxVectorSize=8), but no tile has two lanes; C2 computes 128 bits without
        // vectors
        return VectorSpecies.of(float.class, VectorShape.forBitSize(Math.clamp(width, LEAST_BITS, MOST_BITS)));
    }
}
