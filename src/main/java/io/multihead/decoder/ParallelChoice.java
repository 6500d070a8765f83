package io.multihead.decoder;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.exec.LoopBody;
import io.multihead.internal.exec.ScratchKey;
import io.multihead.internal.exec.Workspace;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Chooses the next tokens of several texts at the same time, with one task for each text. A choice depends only on the text, so the result
 * is the same as with sequential choices. Listeners are called afterwards, sequentially.
 */
final class ParallelChoice extends Operation implements LoopBody {
    /** The smallest number of texts with parallel choices. With fewer texts, waking threads costs more time than it saves. */
    static final int LEAST_TEXTS = 4;

    private static final ScratchKey<ParallelChoice> CALL = ScratchKey.of(ParallelChoice::new);

    private final List<SessionTask> texts = new ArrayList<>();
    private @Nullable SamplerPool samplers;

    /** Chooses the tokens of the tasks that allow a choice in advance; the other tasks choose when they accept the step. */
    static void run(Compute cpu, SamplerPool samplers, List<SessionTask> tasks) {
        if (tasks.size() < LEAST_TEXTS || cpu.parallelism() == 1) {
            return;
        }
        try (ParallelChoice call = open(cpu, CALL)) {
            call.samplers = samplers;
            for (int i = 0; i < tasks.size(); i++) {
                if (tasks.get(i).choosesAhead()) {
                    call.texts.add(tasks.get(i));
                }
            }
            if (call.texts.size() >= LEAST_TEXTS) {
                call.run(call, call.texts.size());
            }
        }
    }

    @Override
    public void run(long task, Workspace scratch) {
        SamplerPool pool = Checks.notNull(samplers, "samplers");
        Sampler sampler = pool.take();
        try {
            texts.get((int) task).chooseAhead(sampler);
        } finally {
            pool.giveBack(sampler);
        }
    }

    @Override
    protected void clear() {
        texts.clear();
        samplers = null;
    }
}
