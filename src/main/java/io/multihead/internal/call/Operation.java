package io.multihead.internal.call;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.exec.ComputeAccess;
import io.multihead.internal.exec.Execution;
import io.multihead.internal.exec.LoopBody;
import io.multihead.internal.exec.ScratchKey;
import io.multihead.internal.exec.Workspace;
import org.jspecify.annotations.Nullable;

/**
 * A running call: an object that the calling thread's workspace keeps from call to call, so that a warm call allocates nothing. It is
 * opened, bound to the caller's tensors, run and closed in one try statement:
 *
 * <pre>{@code
 * try (GemmCall call = Operation.open(cpu, KEY)) {
 *     call.bind(a, b, c);
 *     call.run();
 * }
 * }</pre>
 */
public abstract class Operation implements AutoCloseable {
    private @Nullable Execution execution;
    private @Nullable Workspace scratch;

    /** Creates a closed operation. */
    protected Operation() {}

    /**
     * Returns the calling thread's operation of this kind, open. A nested call from one of its tasks has another operation.
     *
     * @throws IllegalStateException if the Compute is closed
     */
    public static <C extends Operation> C open(Compute cpu, ScratchKey<C> key) {
        Execution on = execution(cpu);
        Workspace workspace = on.take();
        C call = null;
        try {
            call = workspace.get(key);
        } finally {
            if (call == null) {
                on.giveBack(workspace);
            }
        }
        Operation opened = call;
        opened.execution = on;
        opened.scratch = workspace;
        return call;
    }

    /** Returns the {@link Execution} that implements a Compute. */
    public static Execution execution(Compute cpu) {
        return ComputeAccess.execution(Checks.notNull(cpu, "cpu"));
    }

    /** Runs all tasks of a loop on the Compute's threads, and returns when they are done. */
    protected final void run(LoopBody body, long tasks) {
        Checks.notNull(execution, "execution").run(body, tasks, scratch());
    }

    /** Returns the number of threads that work on this call. */
    protected final int parallelism() {
        return Checks.notNull(execution, "execution").parallelism();
    }

    /** Returns the calling thread's scratch memory. */
    protected final Workspace scratch() {
        return Checks.notNull(scratch, "scratch");
    }

    /** Drops every reference to the caller's memory. */
    protected abstract void clear();

    /** Ends the call and gives the scratch memory back. */
    @Override
    public final void close() {
        Execution on = Checks.notNull(execution, "execution");
        Workspace workspace = scratch();
        execution = null;
        scratch = null;
        try {
            clear();
        } finally {
            on.giveBack(workspace);
        }
    }
}
