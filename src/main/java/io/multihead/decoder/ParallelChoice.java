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
 * Chooses the next tokens of several texts at the same time, a task each. A choice depends on nothing but the text, so that it is the one that is
 * made text by text. Listeners are told of it afterwards, one after the other.
 */
final class ParallelChoice extends Operation implements LoopBody {
    /** Fewer texts are not worth waking threads. */
    static final int LEAST_TEXTS = 4;

    private static final ScratchKey<ParallelChoice> CALL = ScratchKey.of(ParallelChoice::new);

    private final List<SessionTask> texts = new ArrayList<>();
    private @Nullable SamplerPool samplers;

    /** Chooses for those of the tasks that can choose before they are asked; the others choose when they are. */
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
