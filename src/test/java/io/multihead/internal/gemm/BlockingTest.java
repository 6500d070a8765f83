package io.multihead.internal.gemm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.internal.kernel.Lanes;
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

    @Test
    void tasksAreWholeTilesAndHoldABlock() {
        assertEquals(0, Blocking.TASK_ROWS % Blocking.MR);
        assertTrue(Blocking.MC <= Blocking.TASK_ROWS);
        assertTrue(Blocking.MC_NARROW <= Blocking.TASK_ROWS);
    }
}
