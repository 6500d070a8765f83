package io.multihead.gemm;

import io.multihead.internal.call.Operation;
import io.multihead.internal.exec.LoopBody;
import io.multihead.internal.exec.ScratchKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.gemm.GemmProblem;
import io.multihead.internal.gemm.LoopNest;
import io.multihead.internal.gemm.TaskGrid;
import io.multihead.tensor.Tensor;
import jdk.jfr.FlightRecorder;
import org.jspecify.annotations.Nullable;

/** One multiplication: binds its operands, divides it among threads, and records it in a flight recording. */
final class GemmCall extends Operation implements LoopBody {
    /** The loop nest of a thread, which {@link GemmCall} and {@link GroupCall} share. */
    static final ScratchKey<LoopNest> LOOPS = ScratchKey.ofWorker(LoopNest::new);

    private final GemmProblem problem = new GemmProblem();
    private final TaskGrid grid = new TaskGrid();

    /** Takes checked operands; {@code a} and {@code b}, unless packed, are already transposed according to the options. */
    void bind(Tensor a, @Nullable Tensor b, @Nullable PackedWeights packed, Tensor c, GemmOptions options) {
        if (packed != null && options.transposeB()) {
            problem.bindTransposed(a, packed.matrix(), c);
        } else {
            problem.bind(a, b, packed == null ? null : packed.matrix(), c);
        }
        problem.bindFactors(options.alpha(), options.beta(), options.bias(), options.activation().function);
    }

    /** Runs the multiplication, and records it if a recording is enabled. */
    void run() {
        GemmEvent event = FlightRecorder.isInitialized() ? GemmEvent.start() : null;
        long tasks = grid.divide(problem, parallelism());
        run(this, tasks);
        if (event != null) {
            event.finish(problem, tasks);
        }
    }

    /** Computes one block of C. */
    @Override
    public void run(long task, Workspace scratch) {
        scratch.get(LOOPS).run(problem, grid, scratch.packer(), task);
    }

    @Override
    public int strips() {
        return grid.strips();
    }

    /** Releases the caller's tensors. */
    @Override
    protected void clear() {
        problem.release();
    }
}
