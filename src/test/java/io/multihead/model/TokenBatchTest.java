package io.multihead.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

class TokenBatchTest {
    @Test
    void capacityIsALimitAndTakesNoMemory() {
        TokenBatch batch = TokenBatch.of(Integer.MAX_VALUE - 8);
        batch.begin();
        batch.add(7);
        assertEquals(Integer.MAX_VALUE - 8, batch.capacity());
        assertEquals(7, batch.id(0));
    }

    @Test
    void keepsTokensAndPositionsBeyondItsFirstMemory() {
        TokenBatch batch = TokenBatch.of(1500);
        for (int token = 0; token < 1500; token++) {
            if (token % 700 == 0) {
                batch.begin();
            }
            batch.add(3 * token);
        }
        batch.locate(0);
        for (int token = 0; token < 1500; token++) {
            assertEquals(3 * token, batch.id(token));
            assertEquals(token % 700, batch.position(token));
        }
        assertEquals(
                "batch: full; expected at most 1500 tokens",
                assertThrows(IllegalStateException.class, () -> batch.add(1)).getMessage());
    }
}
