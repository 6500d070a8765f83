package io.multihead.internal.load;

import io.multihead.compute.Compute;
import io.multihead.gemm.WeightFormat;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.SlabArena;
import io.multihead.internal.call.SingleCall;
import io.multihead.internal.exec.LoopBody;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.Callable;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import org.jspecify.annotations.Nullable;

/**
 * A model that is being loaded: the packing threads, the changes of its weights, and their memory.
 *
 * @param cpu the threads that pack weights
 * @param arena owns all memory of the model's weights, mapped and packed, until the model closes it
 * @param format the format of matrices and of the word embedding table; null for the stored format
 * @param eightBitInputs whether products with weights of 4 bits round their inputs
 * @param adapter the adapter that is merged into matrices; null for none
 */
public record Loading(
        Compute cpu,
        SlabArena arena,
        @Nullable WeightFormat format,
        boolean eightBitInputs,
        @Nullable PeftAdapter adapter) {
    /** Begins with a new arena, for weights in their stored format. */
    public static Loading of(Compute cpu) {
        return of(cpu, null);
    }

    /** Begins with a new arena, for weights in a format or in their stored format, with or without adapters of a folder. */
    public static Loading of(Compute cpu, @Nullable WeightFormat format, @Nullable Path adapter) throws IOException {
        PeftAdapter read = adapter == null ? null : PeftAdapter.read(adapter);
        return new Loading(cpu, new SlabArena(), format, false, read);
    }

    /** Begins with a new arena, for weights that are rounded to a format. */
    public static Loading of(Compute cpu, @Nullable WeightFormat format) {
        return new Loading(cpu, new SlabArena(), format, false, null);
    }

    /** Returns this loading with or without rounding of the inputs of 4-bit weights to 8 bits. */
    public Loading withEightBitInputs(boolean rounded) {
        return new Loading(cpu, arena, format, rounded, adapter);
    }

    /** Returns a model's stored weights, with the adapters added. */
    public WeightSource adapted(WeightSource weights) {
        return adapter == null ? weights : adapter.into(cpu, weights);
    }

    /** Fails if there are adapters, which a model of this kind cannot have. */
    public void requireNoAdapter(Path model, String kind) {
        if (adapter != null) {
            throw Checks.fail(
                    "adapter",
                    "one for " + model + ", " + kind,
                    "expected none; adapters are added to folders with a transformer");
        }
    }

    /**
     * Reads something on the calling thread, while another thread of the Compute allocates memory for weights.
     *
     * @param source the source of the weights, which will all be packed, except for a word embedding table
     */
    public <T> T besideMemory(WeightSource source, Callable<T> read) throws IOException {
        long[] bytes = source.names().stream().mapToLong(source::bytes).toArray();
        long all = Arrays.stream(bytes).sum() - Arrays.stream(bytes).max().orElse(0);
        FutureTask<T> task = new FutureTask<>(read);
        Thread caller = Thread.currentThread();
        LoopBody body = (index, scratch) -> {
            if (Thread.currentThread() == caller) {
                task.run();
            } else {
                arena.prepare(all, task::isDone);
            }
        };
        SingleCall.run(cpu, body, 2);
        task.run(); // has an effect only if another thread took both tasks before this thread arrived
        return Loading.<T, IOException>result(task);
    }

    /** Returns a result, or throws the exception, which may be an undeclared checked exception from another JVM language. */
    @SuppressWarnings("unchecked") // nothing is cast at run time
    public static <T, E extends Throwable> T result(Future<T> task) throws E {
        if (task.state() == Future.State.FAILED) {
            throw (E) task.exceptionNow();
        }
        return task.resultNow();
    }

    /** Frees all memory of the weights. A second call has no effect. */
    public void close() {
        synchronized (arena) { // other records of this class may share the arena
            if (arena.scope().isAlive()) {
                arena.close();
            }
        }
    }
}
