package io.multihead.internal.attention.backward;

import io.multihead.internal.attention.AttentionEvent;
import io.multihead.internal.attention.AttentionProblem;
import io.multihead.internal.attention.QueryTensors;
import io.multihead.internal.attention.mask.BoundMask;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.exec.LoopBody;
import io.multihead.internal.exec.ScratchKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.tensor.Tensor;
import jdk.jfr.FlightRecorder;
import org.jspecify.annotations.Nullable;

/**
 * One call of backward. It is bound to checked arguments, builds the schedule, and runs its tasks, then the tasks of the bias, then a task
 * for each head's sink.
 */
public final class BackwardCall extends Operation implements LoopBody {
    private static final ScratchKey<BackwardWorker> WORKER = ScratchKey.ofWorker(BackwardWorker::new);

    private final BackwardArguments arguments = new BackwardArguments();
    private final BackwardSchedule schedule = new BackwardSchedule();
    private final BiasGradientSchedule biasSchedule = new BiasGradientSchedule();
    private @Nullable Tensor biasGradient;
    private @Nullable Tensor sinksGradient;
    private Phase phase = Phase.BLOCKS;

    /** The phases of a call, in order. */
    private enum Phase {
        BLOCKS,
        BIAS,
        SINKS
    }

    /** Creates a call that is bound before each use. */
    public BackwardCall() {}

    /** Sets the checked tensors of keys and values and the tensors of their gradients, after the query and its sizes are bound. */
    public void bind(
            Tensor query,
            Tensor key,
            Tensor value,
            @Nullable Tensor keyGradient,
            @Nullable Tensor valueGradient,
            @Nullable Tensor newBiasGradient) {
        arguments.problem.bindQuery(query, null);
        arguments.problem.bindKeys(key.dim(1), key.dim(2), (int) value.dim(3));
        arguments.bindKeyValues(key, value, keyGradient, valueGradient);
        biasGradient = newBiasGradient;
    }

    /** Sets the tensor of the gradient of the sinks, or null. */
    public void bindSinks(@Nullable Tensor newSinksGradient) {
        sinksGradient = newSinksGradient;
    }

    /** Returns the problem of the call, to set its score transforms. */
    public AttentionProblem problem() {
        return arguments.problem;
    }

    /** Returns the mask, to be bound. */
    public BoundMask mask() {
        return arguments.mask;
    }

    /** Returns the tensors that forward read and wrote, to be bound: query, output, log-sum-exp, and optionally weights. */
    public QueryTensors saved() {
        return arguments.saved;
    }

    /** Returns the gradients of output, log-sum-exp and weights and the tensor of the query's gradient, to be bound. */
    public QueryTensors gradients() {
        return arguments.gradients;
    }

    /** Runs the call, and records it if a flight recording is enabled. */
    public void run() {
        AttentionEvent event = FlightRecorder.isInitialized() ? AttentionEvent.start(true) : null;
        long tasks = runTasks();
        if (event != null) {
            event.finish(arguments.problem, arguments.saved.query(), arguments.problem.keys(), tasks);
        }
    }

    private long runTasks() {
        boolean ofKeys = arguments.keyGradient() != null || arguments.valueGradient() != null;
        schedule.build(arguments.problem, ofKeys, arguments.gradients.hasQuery(), parallelism());
        phase = Phase.BLOCKS;
        run(this, schedule.tasks());
        long tasks = schedule.tasks();
        Tensor bias = biasGradient;
        if (bias != null) {
            biasSchedule.build(bias, arguments.problem);
            phase = Phase.BIAS;
            run(this, biasSchedule.tasks());
            tasks += biasSchedule.tasks();
        }
        if (sinksGradient != null) {
            phase = Phase.SINKS;
            run(this, arguments.problem.heads());
            tasks += arguments.problem.heads();
        }
        return tasks;
    }

    @Override
    public void run(long number, Workspace scratch) {
        BackwardWorker worker = scratch.get(WORKER);
        try {
            run(worker, number, scratch);
        } finally {
            worker.release();
        }
    }

    /** Returns one strip per thread for the tasks of heads: threads that took them in order would each read the rows of all heads. */
    @Override
    public int strips() {
        return phase == Phase.BLOCKS ? Math.min(parallelism(), schedule.tasks()) : 1;
    }

    private void run(BackwardWorker worker, long number, Workspace scratch) {
        switch (phase) {
            case BLOCKS -> blocks(worker, (int) number, scratch);
            case BIAS -> {
                Tensor to = Checks.notNull(biasGradient, "bias gradient");
                worker.bias(arguments, biasSchedule, number, to, scratch.packer());
            }
            case SINKS -> {
                Tensor to = Checks.notNull(sinksGradient, "sinks gradient");
                worker.sink(arguments, number, to, scratch.packer());
            }
        }
    }

    private void blocks(BackwardWorker worker, int task, Workspace scratch) {
        int tasksPerThread = Math.ceilDiv(schedule.tasks(), parallelism());
        worker.bind(
                arguments.problem,
                schedule.sequence(task),
                schedule.keyValueHead(task),
                scratch.packer(),
                tasksPerThread);
        switch (schedule.kind(task)) {
            case GROUP -> worker.group(arguments);
            case KEYS -> worker.keyBlock(arguments, schedule.block(task), false);
            case QUERIES -> worker.queryBlock(arguments, schedule.block(task));
        }
    }

    /** Drops every reference to the caller's memory. */
    @Override
    protected void clear() {
        arguments.clear();
        biasGradient = null;
        sinksGradient = null;
    }
}
