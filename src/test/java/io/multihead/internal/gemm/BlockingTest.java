package io.multihead.internal.gemm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.internal.base.CacheSizes;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.MicroKernel;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BlockingTest {
    @ParameterizedTest
    @CsvSource({
        "0,       false, 96",
        "1048576, false, 96",
        "2097152, false, 192",
        "0,       true,  80",
        "2097152, true,  80",
    })
    void blocksFollowL2(long l2, boolean fewRegisters, int rows) {
        assertEquals(rows, Blocking.rows(l2, fewRegisters));
        assertEquals(0, rows % (fewRegisters ? 5 : 6), "whole tiles");
        assertEquals(0, rows % Lanes.ROW_STEP);
    }

    @ParameterizedTest
    @CsvSource({
        "0,      0,       16, 512",
        "49152,  0,       16, 512",
        "49152,  1048576, 16, 512",
        "32768,  2097152, 16, 512",
        "49152,  2097152, 16, 256",
        "65536,  2097152, 16, 256",
        "131072, 2097152, 16, 512",
        "49152,  2097152, 8,  512",
        "65536,  2097152, 4,  512",
    })
    void walksFollowTheCaches(long l1, long l2, int lanes, int rows) {
        assertEquals(rows, Blocking.walk(new CacheSizes(l1, l2, 0), lanes));
        assertEquals(0, rows % MicroKernel.MAX_CHAIN, "whole chains");
    }

    @Test
    void tasksAreWholeTilesAndHoldABlock() {
        assertEquals(0, Blocking.TASK_ROWS % Blocking.MR);
        assertTrue(Blocking.MC <= Blocking.TASK_ROWS);
        assertTrue(Blocking.MC_NARROW <= Blocking.TASK_ROWS);
    }
}
