package io.multihead.internal.gemm;

import static io.multihead.support.Floats.bits;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.multihead.internal.kernel.F32Panels;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.MicroKernel;
import io.multihead.internal.layout.PanelFormat;
import io.multihead.internal.layout.PanelMemory;
import io.multihead.internal.layout.Panels;
import io.multihead.internal.layout.Scratch;
import io.multihead.support.Floats;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.SplittableRandom;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Tag;
import net.jqwik.api.constraints.IntRange;

/**
 * Products have the same bits in one walk over a panel and in two walks. The size of L1 determines which one is used.
 */
@Tag("lanes")
class WalkProperties {
    private static final int MOST_COLUMNS = 3 * Lanes.PANEL;
    private static final int LDC = MOST_COLUMNS + Lanes.PANEL;

    @Property(tries = 100)
    void halfPanelsHaveTheBitsOfWholeOnes(
            @ForAll @IntRange(min = 1, max = 200) int m,
            @ForAll @IntRange(min = 1, max = MOST_COLUMNS) int n,
            @ForAll @IntRange(min = 1, max = MicroKernel.MAX_DEPTH) int k,
            @ForAll boolean addToC,
            @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int rows = Lanes.roundUp(m, Lanes.ROW_STEP);
        float[] a = Floats.random(random, rows * Lanes.ROW, Float.POSITIVE_INFINITY, Float.MIN_VALUE);
        float[] elements = Floats.random(random, F32Panels.size(n, k), Float.POSITIVE_INFINITY, Float.MIN_VALUE);
        float[] whole = Floats.random(random, rows * LDC, Float.POSITIVE_INFINITY, Float.MIN_VALUE);
        float[] halves = whole.clone();
        try (Arena arena = Arena.ofConfined()) {
            PanelMemory memory = PanelMemory.allocate(arena, PanelFormat.F32, elements.length);
            MemorySegment.copy(elements, 0, memory.segment(), ValueLayout.JAVA_FLOAT, 0, elements.length);
            multiply(Blocking.KC, a, memory, m, n, k, addToC, whole);
            multiply(MicroKernel.MAX_CHAIN, a, memory, m, n, k, addToC, halves);
        }
        // rows that only pad the last tile are undefined and not compared
        assertArrayEquals(bits(Arrays.copyOf(whole, m * LDC)), bits(Arrays.copyOf(halves, m * LDC)));
    }

    private static void multiply(int walk, float[] a, PanelMemory b, int m, int n, int k, boolean addToC, float[] c) {
        Panels panels = new Panels();
        panels.set(b, 0, PanelFormat.F32.panelSize(k));
        new MacroKernel(new Scratch(), walk)
                .left(a, 0)
                .right(panels)
                .into(c, 0, LDC)
                .multiply(m, n, k, addToC);
    }
}
