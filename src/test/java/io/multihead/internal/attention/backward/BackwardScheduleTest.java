package io.multihead.internal.attention.backward;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.internal.attention.AttentionProblem;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import org.junit.jupiter.api.Test;

/**
 * The table of backward's tasks. A task is a head group if there are enough head groups, otherwise a key block or a
 * query block.
 */
class BackwardScheduleTest {
    private final BackwardSchedule schedule = new BackwardSchedule();

    @Test
    void enoughHeadGroupsAreTasksOfTheirOwn() {
        build(true, true, 2);
        assertEquals("""
                task kind sequence keyValueHead block
                0 GROUP 0 0 0
                1 GROUP 0 1 0
                """, schedule.toString());
    }

    @Test
    void tooFewHeadGroupsAreDividedIntoBlocks() {
        build(true, true, 4);
        assertEquals("""
                task kind sequence keyValueHead block
                0 KEYS 0 0 0
                1 KEYS 0 0 1
                2 KEYS 0 1 0
                3 KEYS 0 1 1
                4 QUERIES 0 0 0
                5 QUERIES 0 0 1
                6 QUERIES 0 0 2
                7 QUERIES 0 1 0
                8 QUERIES 0 1 1
                9 QUERIES 0 1 2
                """, schedule.toString());
    }

    @Test
    void gradientsThatNobodyWantsHaveNoTasks() {
        build(true, false, 1);
        assertEquals(4, schedule.tasks());
        build(false, true, 1);
        assertEquals(6, schedule.tasks());
        build(false, false, 1);
        assertEquals(0, schedule.tasks());
    }

    /**
     * Builds the table for two groups of two query heads. 300 queries are three blocks of a group's rows, and 200 keys
     * are two blocks.
     */
    private void build(boolean ofKeys, boolean ofQueries, int threads) {
        AttentionProblem problem = new AttentionProblem();
        problem.bindQuery(Tensor.allocate(Arena.ofAuto(), DType.F32, Shape.of(1, 4, 300, 1)), null);
        problem.bindKeys(2, 200, 1);
        schedule.build(problem, ofKeys, ofQueries, threads);
    }
}
