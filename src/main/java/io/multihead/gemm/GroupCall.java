package io.multihead.gemm;

import io.multihead.internal.call.Operation;
import io.multihead.internal.exec.LoopBody;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.gemm.GemmProblem;
import io.multihead.internal.gemm.TaskGrid;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import jdk.jfr.FlightRecorder;

/**
 * Several multiplications with one A, or with rows of one A, in one parallel loop: the tasks of the first multiplication, then the tasks of
 * the second, and so on.
 */
final class GroupCall extends Operation implements LoopBody {
    /** One multiplication, its division into tasks, and the number of its first task. */
    private static final class Part {
        private final GemmProblem problem = new GemmProblem();
        private final TaskGrid grid = new TaskGrid();
        private long firstTask;
    }

    /** The parts of this call, followed by unused parts of earlier calls. */
    private final List<Part> parts = new ArrayList<>();

    private int count;

    /** Takes checked operands, with A already transposed according to the options. */
    void add(Tensor a, PackedWeights b, Tensor c, GemmOptions options) {
        GemmProblem problem = bind(a, b, c, options);
        problem.joinCall(parts.get(0).problem);
    }

    /** Takes checked operands; only some rows of C are computed. */
    void addRows(int first, int rows, Tensor a, PackedWeights b, Tensor c, GemmOptions options) {
        GemmProblem problem = bind(a, b, c, options);
        problem.bindRows(first, rows);
        if (count > 1) {
            problem.joinCall(parts.get(count - 2).problem);
        }
    }

    private GemmProblem bind(Tensor a, PackedWeights b, Tensor c, GemmOptions options) {
        if (count == parts.size()) {
            parts.add(new Part());
        }
        GemmProblem problem = parts.get(count).problem;
        problem.bind(a, null, b.matrix(), c);
        problem.bindFactors(options.alpha(), options.beta(), options.bias(), options.activation().function);
        count++;
        return problem;
    }

    /** Runs all multiplications, and records the call if a recording is enabled. */
    void run() {
        GemmEvent event = FlightRecorder.isInitialized() ? GemmEvent.start() : null;
        long tasks = 0;
        for (int i = 0; i < count; i++) {
            Part part = parts.get(i);
            part.firstTask = tasks;
            tasks += part.grid.divide(part.problem, parallelism());
        }
        run(this, tasks);
        if (event != null) {
            finish(event, tasks);
        }
    }

    /** Records the columns of all results, and the rows of all groups. */
    private void finish(GemmEvent event, long tasks) {
        GemmProblem first = parts.get(0).problem;
        long rows = 0;
        long columns = 0;
        for (int i = 0; i < count; i++) {
            GemmProblem problem = parts.get(i).problem;
            rows += problem.writesTo(first) ? problem.m() : 0;
            columns += problem.hasRowsOf(first) ? problem.n() : 0;
        }
        event.finish(first, rows, columns, tasks);
    }

    /** Computes one block of one C. */
    @Override
    public void run(long task, Workspace scratch) {
        int last = count - 1;
        while (parts.get(last).firstTask > task) {
            last--;
        }
        Part part = parts.get(last);
        scratch.get(GemmCall.LOOPS).run(part.problem, part.grid, scratch.packer(), task - part.firstTask);
    }

    /** Releases the caller's tensors. */
    @Override
    protected void clear() {
        for (int i = 0; i < count; i++) {
            parts.get(i).problem.release();
        }
        count = 0;
    }
}
