package io.multihead.internal.attention.forward;

import io.multihead.internal.attention.AttentionEvent;
import io.multihead.internal.attention.AttentionProblem;
import io.multihead.internal.attention.QueryTensors;
import io.multihead.internal.attention.Stage;
import io.multihead.internal.attention.keyvalue.KeyValueSource;
import io.multihead.internal.attention.keyvalue.TensorKeyValues;
import io.multihead.internal.attention.mask.BoundMask;
import io.multihead.internal.call.Operation;
import io.multihead.internal.exec.LoopBody;
import io.multihead.internal.exec.ScratchKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.Scratch;
import io.multihead.tensor.Tensor;
import jdk.jfr.FlightRecorder;
import org.jspecify.annotations.Nullable;

/**
 * One call of forward. It is bound to checked arguments, builds the schedule, and runs its tasks. If keys are split, the states of the
 * splits are merged in a second round, unless the caller requests the states. Not final, so that the API can add references to the caller's
 * objects.
 */
public class ForwardCall extends Operation implements LoopBody {
    private static final ScratchKey<ForwardWorker> WORKER = ScratchKey.ofWorker(ForwardWorker::new);

    private final Scratch memory;
    private final ForwardArguments arguments = new ForwardArguments();
    private final TensorKeyValues tensors = new TensorKeyValues();
    private final ForwardSchedule schedule = new ForwardSchedule();
    private boolean merging;
    /** The saved states of the splits, one per task. */
    private float[] states = {};

    private int stateFloats;

    /** Creates a call that is bound before each use. */
    public ForwardCall(Scratch memory) {
        this.memory = memory;
    }

    /** Sets checked tensors of queries, keys and values. */
    public void bind(Tensor query, Tensor key, Tensor value) {
        tensors.bind(key, value);
        bind(query, tensors, null);
    }

    /** Sets a checked query, packed if there are offsets, and the source of keys and values that it fits. */
    public void bind(Tensor query, KeyValueSource source, long @Nullable [] offsets) {
        arguments.bindSource(source);
        arguments.problem.bindQuery(query, offsets);
        arguments.problem.bindKeys(source.heads(), source.maxKeys(), source.valueDim());
        arguments.tensors.bind(query, null, null, null);
    }

    /** Sets the tensors to write, after the query. */
    public void bindOutputs(Tensor output, @Nullable Tensor logSumExp, @Nullable Tensor weights) {
        QueryTensors to = arguments.tensors;
        to.bind(to.query(), output, logSumExp, weights);
    }

    /** Sets the tensor that receives the states of the splits, instead of outputs. */
    public void bindStates(Tensor states) {
        arguments.bindStates(states);
    }

    /** Sets the tensor that receives scores, and the stage at which they are read; null for none. */
    public void bindScores(@Nullable Tensor scores, Stage stage) {
        arguments.tensors.bindScores(scores, stage);
    }

    /** Returns the problem of the call, to set its score transforms. */
    public AttentionProblem problem() {
        return arguments.problem;
    }

    /** Returns the mask, to be bound. */
    public BoundMask mask() {
        return arguments.mask;
    }

    /** Returns the tensors whose rows are queries. */
    public QueryTensors tensors() {
        return arguments.tensors;
    }

    /** Returns the storage of keys and values. */
    public KeyValueSource source() {
        return arguments.source();
    }

    /** Runs the call, and records it if a flight recording is enabled. */
    public void run() {
        AttentionEvent event = FlightRecorder.isInitialized() ? AttentionEvent.start(false) : null;
        runTasks();
        if (event != null) {
            event.finish(arguments.problem, arguments.tensors.query(), schedule.longest(), schedule.tasks());
        }
    }

    private void runTasks() {
        boolean materialized = arguments.materializes();
        boolean saving = arguments.savesStates();
        schedule.build(arguments, parallelism());
        if (materialized) {
            String argument = arguments.tensors.weights() != null ? "weights" : "scores";
            MaterializedForward.requireScoresFit(schedule, arguments.source(), argument);
        }
        merging = false;
        if (schedule.isSplit() && !saving) {
            stateFloats = (int) schedule.mostRows() * OnlineSoftmax.stateFloats(arguments.problem.valueDim());
            // the product is an int, since otherwise the schedule does not split the keys
            states = memory.atLeast(states, Math.multiplyExact(schedule.tasks(), stateFloats));
            run(this, schedule.tasks());
            merging = true;
        }
        run(this, schedule.tasks());
    }

    @Override
    public void run(long number, Workspace scratch) {
        int task = (int) number;
        if (merging && schedule.split(task) > 0) {
            return;
        }
        ForwardWorker worker = scratch.get(WORKER);
        try {
            attend(worker, task, scratch.packer());
        } finally {
            worker.release();
        }
    }

    /** Returns one strip per thread: if threads took tasks in order, each would pack the keys of every head group. */
    @Override
    public int strips() {
        return Math.min(parallelism(), schedule.tasks());
    }

    private void attend(ForwardWorker worker, int task, Packer packer) {
        worker.bind(
                arguments,
                schedule.sequence(task),
                schedule.keyValueHead(task),
                schedule.firstRow(task),
                schedule.rows(task),
                schedule.keepsPacked(),
                Math.ceilDiv(schedule.tasks(), parallelism()));
        int state = task * stateFloats;
        long split = schedule.splitNumber(task);
        if (arguments.savesStates()) {
            worker.writeSplit(arguments, packer, split);
        } else if (merging) {
            worker.mergeSplits(arguments, packer, schedule.splits(task), states, state, stateFloats);
        } else if (schedule.isSplit()) {
            worker.saveSplit(arguments, packer, split, states, state);
        } else {
            worker.attend(arguments, packer);
        }
    }

    /** Drops every reference to the caller's memory. */
    @Override
    protected void clear() {
        arguments.clear();
        tensors.bind(null, null);
    }
}
