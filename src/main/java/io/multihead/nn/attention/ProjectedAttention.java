package io.multihead.nn.attention;

import io.multihead.attention.AttentionDropout;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.attention.AttentionPass;
import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.call.TensorChecks;
import io.multihead.internal.exec.Execution;
import io.multihead.internal.nn.TensorArena;
import io.multihead.internal.nn.TensorMath;
import io.multihead.internal.nn.Views;
import io.multihead.nn.Gradients;
import io.multihead.nn.Layer;
import io.multihead.nn.Pass;
import io.multihead.nn.Sequence;
import io.multihead.nn.Sequence.Part;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Self-attention whose projections are layers of the caller, such as frozen layers with adapters ({@link io.multihead.nn.LoraLinear}):
 * {@code o_proj(attention(q_proj(x), k_proj(x), v_proj(x)))}, with the heads, rotary positions, masks and dropout of a configuration. Inputs and
 * outputs are {@code [batch, tokens, features]}. Its parameters are the layers' parameters, with Llama's names as prefixes ({@code q_proj.*},
 * {@code k_proj.*}, {@code v_proj.*}, {@code o_proj.*}).
 *
 * <p>It is thread-safe if its layers are.
 */
public final class ProjectedAttention implements Layer {
    private static final String QUERY = "q_proj.";
    private static final String KEY = "k_proj.";
    private static final String VALUE = "v_proj.";
    private static final String OUTPUT = "o_proj.";

    private final MultiHeadConfig config;
    private final Layer query;
    private final Layer key;
    private final Layer value;
    private final Layer output;
    private final LayerParameters none;
    private final Map<String, Tensor> parameters;

    private ProjectedAttention(MultiHeadConfig config, Layer query, Layer key, Layer value, Layer output) {
        this.config = config;
        this.query = query;
        this.key = key;
        this.value = value;
        this.output = output;
        none = new LayerParameters(config, Map.of());
        parameters = Sequence.of(
                        new Part(QUERY, query), new Part(KEY, key), new Part(VALUE, value), new Part(OUTPUT, output))
                .parameters();
    }

    /**
     * {@return attention between layers}
     *
     * @param config heads, their sizes, positions and options; biases, and sizes of inputs and of the output, come from the layers instead
     * @param query gives queryHeads x headDim features
     * @param key gives keyValueHeads x headDim features
     * @param value gives keyValueHeads x valueDim features
     * @param output takes queryHeads x valueDim features
     * @throws IllegalArgumentException if the configuration has unsupported options: biases of keys and values, a key of zeros, norms of heads,
     *     other axes, scores without a derivative; or two tensors of the layers have the same name
     */
    public static ProjectedAttention of(MultiHeadConfig config, Layer query, Layer key, Layer value, Layer output) {
        Checks.notNull(config, "config");
        if (config.keyValueBias()
                || config.zeroKey()
                || config.headNorm().isPresent()
                || !config.batchFirst()
                || !config.attentionAxes().isEmpty()) {
            throw Checks.fail(
                    "config", config.toString(), "expected no extra keys, no norms of heads and no attention axes");
        }
        BackwardChecks.requireDerivative(config);
        return new ProjectedAttention(
                config,
                Checks.notNull(query, "query"),
                Checks.notNull(key, "key"),
                Checks.notNull(value, "value"),
                Checks.notNull(output, "output"));
    }

    @Override
    public Map<String, Tensor> parameters() {
        return parameters;
    }

    @Override
    public List<Tensor> buffers() {
        return config.options().mask().tensors();
    }

    @Override
    public Shape outputShape(Shape input) {
        if (Checks.notNull(input, "input").rank() != 3) {
            throw Checks.fail("x", "shape " + input, "expected [batch, tokens, features]");
        }
        require(query, "query", input, Projection.QUERY);
        require(key, "key", input, Projection.KEY);
        require(value, "value", input, Projection.VALUE);
        return output.outputShape(Shape.of(input.dim(0), input.dim(1), (long) config.queryHeads() * config.valueDim()));
    }

    private void require(Layer layer, String name, Shape input, Projection projection) {
        Shape expected = Shape.of(input.dim(0), input.dim(1), projection.outputs(config));
        Shape own = layer.outputShape(input);
        if (!own.equals(expected)) {
            throw Checks.fail(name, "output " + own, "expected " + expected);
        }
    }

    @Override
    public int independentAxes(Shape input) {
        Checks.notNull(input, "input");
        return config.options().mask().isSharedByBatch() ? 1 : 0;
    }

    private TensorChecks checked(Compute cpu, Tensor x) {
        return new TensorChecks(cpu).reads("x", x, x.shape()).reads(parameters).readsBuffers(buffers());
    }

    @Override
    public void forward(Compute cpu, Tensor x, Tensor y) {
        Shape result = outputShape(Checks.notNull(x, "x").shape());
        checked(cpu, x).writes("y", y, result);
        try (TensorArena arena = TensorArena.ofCall(cpu)) {
            Tensor q = projected(arena, x, Projection.QUERY);
            Tensor k = projected(arena, x, Projection.KEY);
            Tensor v = projected(arena, x, Projection.VALUE);
            query.forward(cpu, x, q);
            key.forward(cpu, x, k);
            value.forward(cpu, x, v);
            ProjectedHeads heads =
                    new HeadStages(cpu, none, null).forward(arena, ProjectedHeads.ofSeparate(config, q, k, v));
            Tensor attended = attended(arena, x);
            AttentionOutputs to = AttentionOutputs.of(Views.splitHeads(attended, config.queryHeads()));
            AttentionOptions options = config.options().withDropout(AttentionDropout.NONE);
            SequenceAttention.forward(cpu, heads, null, to, options, false);
            output.forward(cpu, attended, y);
        }
    }

    private Tensor projected(TensorArena arena, Tensor x, Projection projection) {
        return arena.f32(x.dim(0), x.dim(1), projection.outputs(config));
    }

    private Tensor attended(TensorArena arena, Tensor x) {
        return arena.f32(x.dim(0), x.dim(1), (long) config.queryHeads() * config.valueDim());
    }

    @Override
    @SuppressWarnings("try") // the call ends with the block
    public Pass record(Compute cpu, Tensor x, Tensor y, long seed) {
        Shape result = outputShape(Checks.notNull(x, "x").shape());
        checked(cpu, x).writes("y", y, result);
        try (Execution.Running call = Operation.execution(cpu).begin()) {
            return new Recorded(cpu, x, y, seed);
        }
    }

    @Override
    public void parametersChanged() {
        query.parametersChanged();
        key.parametersChanged();
        value.parametersChanged();
        output.parametersChanged();
    }

    /** A recorded call. */
    private final class Recorded implements Pass {
        private final Compute cpu;
        private final Tensor x;
        private final Tensor y;
        private final TensorArena arena;
        private final Pass queryPass;
        private final Pass keyPass;
        private final Pass valuePass;
        private final Pass outputPass;
        private final ProjectedHeads heads;
        private final HeadStages stages;
        private final AttentionOutputs kept;
        private final AttentionOptions options;
        private boolean open = true;

        Recorded(Compute cpu, Tensor x, Tensor y, long seed) {
            this.cpu = cpu;
            this.x = x;
            this.y = y;
            arena = new TensorArena(cpu);
            Tensor q = projected(arena, x, Projection.QUERY);
            Tensor k = projected(arena, x, Projection.KEY);
            Tensor v = projected(arena, x, Projection.VALUE);
            queryPass = query.record(cpu, x, q, seed);
            keyPass = key.record(cpu, x, k, seed);
            valuePass = value.record(cpu, x, v, seed);
            stages = new HeadStages(cpu, none, null);
            heads = stages.forward(arena, ProjectedHeads.ofSeparate(config, q, k, v));
            Tensor attended = attended(arena, x);
            Tensor split = Views.splitHeads(attended, config.queryHeads());
            kept = AttentionOutputs.of(split).withLogSumExp(arena.f64(split.dim(0), split.dim(1), split.dim(2)));
            double rate = config.options().dropout().rate();
            options = config.options().withDropout(new AttentionDropout(rate, seed));
            SequenceAttention.forward(cpu, heads, null, kept, options, true);
            outputPass = output.record(cpu, attended, y, seed);
        }

        @Override
        @SuppressWarnings("try") // the call ends with the block
        public void backward(Tensor outputGradient, @Nullable Tensor inputGradient, Map<String, Tensor> gradients) {
            if (!open) {
                throw new IllegalStateException("pass: closed; expected an open pass");
            }
            TensorChecks checks =
                    checked(cpu, x).reads("y", y, y.shape()).reads("outputGradient", outputGradient, y.shape());
            if (inputGradient != null) {
                checks.writes("inputGradient", inputGradient, x.shape());
            }
            checks.writesGradients(parameters, gradients);
            try (TensorArena scratch = TensorArena.ofCall(cpu)) {
                back(scratch, outputGradient, inputGradient, gradients);
            }
        }

        private void back(TensorArena scratch, Tensor dy, @Nullable Tensor dx, Map<String, Tensor> gradients) {
            Tensor upstream = attended(scratch, x);
            outputPass.backward(dy, upstream, Gradients.under(OUTPUT, gradients));
            Tensor q = projected(scratch, x, Projection.QUERY);
            Tensor k = projected(scratch, x, Projection.KEY);
            Tensor v = projected(scratch, x, Projection.VALUE);
            ProjectedHeads into = ProjectedHeads.ofSeparate(config, q, k, v);
            AttentionPass pass = new AttentionPass(heads.query(), heads.key(), heads.value(), kept, options);
            AttentionOutputs from = AttentionOutputs.of(Views.splitHeads(upstream, config.queryHeads()));
            SequenceAttention.backward(cpu, pass, null, from, into, MultiHeadGradients.of((Tensor) null));
            stages.backward(heads, into, Map.of());
            Tensor sum = dx == null ? null : scratch.f32(x.shape().toArray());
            Tensor addend = dx == null ? null : scratch.f32(x.shape().toArray());
            keyPass.backward(k, sum, Gradients.under(KEY, gradients));
            valuePass.backward(v, addend, Gradients.under(VALUE, gradients));
            if (sum != null && addend != null) {
                TensorMath.add(cpu, sum, addend, sum);
            }
            queryPass.backward(q, addend, Gradients.under(QUERY, gradients));
            if (dx != null && sum != null && addend != null) {
                TensorMath.add(cpu, sum, addend, dx);
            }
        }

        @Override
        public void close() {
            if (open) {
                open = false;
                queryPass.close();
                keyPass.close();
                valuePass.close();
                outputPass.close();
                arena.close();
            }
        }
    }
}
